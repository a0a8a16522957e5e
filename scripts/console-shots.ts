/** Takes the screenshots of docs/console.md in Chromium with a vault of its own: npm run console:shots. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { passesLuhn } from '../src/core/tokens/validate-data.ts';
import { ROOT } from './build-output.ts';
import { bareEnvironment, serve } from './run-vault.ts';

const OUTPUT = path.join(ROOT, 'docs/console');
const WIDE = { width: 1360, height: 800 };
const TOKENS = 240;
const PLACES = ['/pci/high/', '/pci/eu/', '/pci/test/'];

const CARD = '{"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030}';

/** A screenshot: its name, its actions, and the selector to wait for. */
interface Picture extends BrowserContextOptions {
  readonly name: string;
  /** The address below /ui/. */
  readonly address: string;
  readonly act?: (page: Page) => Promise<void>;
  readonly wait?: string;
}

const PICTURES: readonly Picture[] = [
  { name: 'tokens', address: 'tokens?token=card-0000235' },
  { name: 'new-token', address: 'tokens?draft=new', act: typeToken, wait: '.state.valid' },
  { name: 'see-as', address: 'see-as?token=card-0000235' },
  { name: 'see-as-dark', address: 'see-as?token=card-0000230', colorScheme: 'dark' },
  { name: 'application', address: 'applications', act: changeRules, wait: '.preview tbody tr' },
  { name: 'audit', address: 'audit?live=off', act: (page) => page.click('.list tbody tr a.row'), wait: '.pane' },
  { name: 'usage', address: 'usage' },
  { name: 'narrow', address: 'tokens', viewport: { width: 320, height: 640 } },
  { name: 'dev-tools', address: 'dev', act: useDevTools, wait: '.clock-line:has-text("ahead")' },
];

async function typeToken(page: Page): Promise<void> {
  await page.selectOption('#field-type', 'card');
  await page.fill('[name=data]', CARD);
  await page.fill('[name=containers]', '/pci/high/');
}

async function changeRules(page: Page): Promise<void> {
  await page.click('a.row:has-text("payments-api")');
  await page.waitForSelector('.pane');
  await page.keyboard.press('e');
  await page.waitForSelector('.draft');
  await page.focus('[name=rule-2-container]');
  await page.keyboard.press('Alt+ArrowUp');
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
}

async function useDevTools(page: Page): Promise<void> {
  await page.click('button:has-text("+1 h")');
}

function tokenOf(n: number) {
  const id = String(n).padStart(7, '0');
  const metadata = { customer: String(1000 + n), env: n % 3 === 0 ? 'staging' : 'live' };
  if (n % 10 < 6) {
    const number = [...'0123456789'].map((digit) => `40000000000${id.slice(3)}${digit}`).find(passesLuhn);
    const data = { number, expiration_month: (n % 12) + 1, expiration_year: 2030, cvc: '123' };
    return { id: `card-${id}`, type: 'card', data, containers: [PLACES[n % 3]], metadata };
  }
  if (n % 10 < 8) {
    return { id: `token-${id}`, type: 'token', data: `Secret ${n}`, mask: '{{ data | reveal_last: 2 }}', metadata };
  }
  const data = { routing_number: '021000021', account_number: `12345678${n}` };
  return { id: `bank-${id}`, type: 'bank', data, metadata };
}

const rule = (
  priority: number,
  container: string,
  transform: string,
  permissions: readonly string[],
  description: string,
) => ({
  description,
  priority,
  container,
  transform,
  permissions,
});

const APPLICATIONS = [
  {
    name: 'payments-api',
    type: 'private',
    rules: [
      rule(1, '/pci/test/', 'redact', ['token:read'], 'no test cards'),
      rule(2, '/pci/', 'reveal', ['token:read', 'token:update'], 'charge cards'),
      rule(3, '/', 'mask', ['token:read'], 'everything else'),
    ],
  },
  { name: 'support-desk', type: 'private', permissions: ['token:read'] },
  { name: 'fraud-analytics', type: 'private', rules: [rule(1, '/pci/', 'redact', ['token:read'], 'count cards')] },
  { name: 'web-checkout', type: 'public', permissions: ['token:create'] },
];

/** The content of a daemon's ready file. */
interface ReadyVault {
  readonly url: string;
  readonly ui: string;
  readonly private_key: string;
  readonly management_key: string;
}

async function fill({ url, private_key, management_key }: ReadyVault): Promise<void> {
  const post = async (where: string, key: string, body: unknown) => {
    const headers = { 'svc-api-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${url}${where}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${where}: ${await response.text()}`);
  };
  for (const application of APPLICATIONS.toReversed()) await post('/applications', management_key, application);
  const tokens = Array.from({ length: TOKENS }, (_, n) => tokenOf(n));
  for (let at = 0; at < TOKENS; at += 100) await post('/tokenize', private_key, tokens.slice(at, at + 100));
  const headers = { 'svc-api-key': private_key };
  for (const { id } of tokens.slice(0, 30)) await fetch(`${url}/tokens/${id}`, { headers });
  await fetch(`${url}/tokens/${tokens[7]?.id}`, { headers: { 'svc-api-key': management_key } });
}

async function shoot(browser: Browser, { url, ui }: ReadyVault, { name, address, act, wait, ...options }: Picture) {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: 'light', ...options });
  const page = await context.newPage();
  await page.goto(ui);
  await page.waitForSelector('nav li', { state: 'attached' });
  await page.goto(`${url}/ui/${address}`);
  await page.waitForSelector('main h1');
  await act?.(page);
  if (wait !== undefined) await page.waitForSelector(wait);
  await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null);
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: path.join(OUTPUT, `${name}.png`) });
  await context.close();
  process.stdout.write(`docs/console/${name}.png\n`);
}

const folder = await mkdtemp(path.join(tmpdir(), 'vault-shots-'));
const ready = path.join(folder, 'ready.json');
const daemon = await serve(['--dev', '--ready-file', ready], bareEnvironment(folder));
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  await mkdir(OUTPUT, { recursive: true });
  const vault: ReadyVault = JSON.parse(await readFile(ready, 'utf8'));
  await fill(vault);
  for (const picture of PICTURES) await shoot(browser, vault, picture);
} finally {
  await browser.close();
  await daemon.end();
  await rm(folder, { recursive: true, force: true });
}
