import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { bareEnvironment, serve } from '../../scripts/run-vault.ts';
import { createClient, type VaultClient } from '../../src/client/create-client.ts';
import { passesLuhn } from '../../src/core/tokens/validate-data.ts';
import { CHROMIUM } from './require-chromium.ts';

export const launch = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }), args: ['--no-sandbox', ...args] });

export interface DevVault {
  readonly url: string;
  /** The link that opens the console. */
  readonly ui: string;
  readonly management_key: string;
  readonly private_key: string;
  /** Clients with the private and the management key. */
  readonly client: VaultClient;
  readonly management: VaultClient;
  readonly folder: string;
  /** Stops the daemon; resolves to its exit code. */
  end(): Promise<unknown>;
}

/** Starts `vault serve --dev` of the built product. */
export async function startDev(args: readonly string[] = []): Promise<DevVault> {
  const folder = await mkdtemp(path.join(tmpdir(), 'vault-console-'));
  const ready = path.join(folder, 'ready.json');
  const daemon = await serve(['--dev', '--ready-file', ready, ...args], bareEnvironment(folder));
  const { url, ui, management_key, private_key } = JSON.parse(await readFile(ready, 'utf8'));
  return {
    ...{ url, ui, management_key, private_key, folder },
    client: createClient({ url, apiKey: private_key }),
    management: createClient({ url, apiKey: management_key }),
    async end() {
      const code = await daemon.end();
      await rm(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** Starts a browser and `vault serve --dev` for all tests of a file. `open` opens the console at an address below /ui/. */
export async function startBoth(args: readonly string[] = []) {
  const [browser, vault] = await Promise.all([launch(), startDev(args)]);
  afterAll(async () => {
    await browser.close();
    await vault.end();
  });
  const open = (address = '', options: BrowserContextOptions = {}) => openConsole(browser, vault, address, options);
  return { browser, vault, open };
}

/** A page with the record of its requests and errors. */
export interface Watched {
  readonly page: Page;
  /** The addresses of its requests. */
  readonly asked: readonly string[];
  /** Errors of the page and violations of its policy. */
  readonly complaints: readonly string[];
}

/** The number of a page's requests without a reply, and the time of its last request or reply. */
const traffic = new WeakMap<Page, { open: number; at: number }>();

function countRequests(page: Page): void {
  const seen = { open: 0, at: performance.now() };
  traffic.set(page, seen);
  const note = (change: 1 | -1) => () => Object.assign(seen, { open: seen.open + change, at: performance.now() });
  page.on('request', note(1)).on('requestfinished', note(-1)).on('requestfailed', note(-1));
}

/** The time without a request after which a page is still, in milliseconds. Its forms send 180 ms after the last key. */
const STILL_MS = 220;

/** Waits until the page shows the replies to all of its requests. */
export async function settle(page: Page): Promise<void> {
  const seen = traffic.get(page) ?? { open: 0, at: 0 };
  while (seen.open > 0 || performance.now() - seen.at < STILL_MS) await delay(20);
  await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null);
}

/** Opens an address in a new profile, which ends with the test that opened it, or with its suite. */
export async function watch(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext(options);
  (TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished)(() => context.close());
  const page = await context.newPage();
  const [asked, complaints]: [string[], string[]] = [[], []];
  countRequests(page);
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(address);
  return { page, asked, complaints };
}

/** Opens the console of a dev vault at an address below /ui/, and waits for its screens. */
export async function openConsole(
  browser: Browser,
  { ui }: Pick<DevVault, 'ui'>,
  address = '',
  options: BrowserContextOptions = {},
) {
  const watched = await watch(browser, ui.replace('#', `${address}#`), options);
  await watched.page.waitForSelector('nav li', { state: 'attached' });
  return watched;
}

const PLACES = ['/pci/high/', '/pci/eu/', '/pci/test/'];

/** Creates `count` tokens of three types. Resolves to their ids. */
export async function fill({ client }: DevVault, count: number): Promise<readonly string[]> {
  const items = Array.from({ length: count }, (_, n) => {
    const metadata = { customer: String(1000 + n), env: n % 3 === 0 ? 'staging' : 'test' };
    const id = `item-${String(n).padStart(4, '0')}`;
    if (n % 10 < 6) {
      const number = [...'0123456789'].map((digit) => `40000000000${id.slice(5)}${digit}`).find(passesLuhn);
      return { id, type: 'card', data: { number, cvc: '123' }, containers: [PLACES[n % 3]], metadata };
    }
    if (n % 10 < 9) return { id, type: 'token', data: `Secret ${n}`, mask: '{{ data | reveal_last: 2 }}', metadata };
    return { id, type: 'social_security_number', data: `123-45-${1000 + n}`, metadata };
  });
  for (let from = 0; from < count; from += 100) await client.tokenize({ body: items.slice(from, from + 100) });
  return items.map(({ id }) => id);
}

export const rule = (priority: number, container: string, transform: string, permissions = ['token:read']) =>
  ({ description: `rule ${priority}`, priority, container, transform, permissions }) as never;

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];

/** The rows of a list after the first ten, which hold every type of token and are made alike. */
const FURTHER_ROWS = '.rows tbody tr:nth-child(n + 11)';

/** Returns the accessibility violations that axe finds in the present colours, by all rules or by one. */
export async function findBarriers(page: Page, rule?: string): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const runOnly = rule === undefined ? { type: 'tag', values: STANDARDS } : { type: 'rule', values: [rule] };
  const asked = { runOnly, resultTypes: ['violations'] };
  return page.evaluate(
    async ([options, exclude]) => {
      const injected = globalThis as typeof globalThis & { readonly axe: typeof axe };
      const { violations } = await injected.axe.run({ exclude }, options as axe.RunOptions);
      return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
    },
    [asked, FURTHER_ROWS] as const,
  );
}

/** Returns by how many pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** Returns the accessibility violations in light, dark and forced colours, and whether 320 pixels are too narrow. */
export async function findFaults(page: Page): Promise<readonly string[]> {
  const light = await findBarriers(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await findBarriers(page, 'color-contrast');
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
  const forced = await findBarriers(page, 'color-contrast');
  await page.emulateMedia({ forcedColors: 'none' });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 640 });
  const wider = await overflow(page);
  await page.setViewportSize(size ?? { width: 1280, height: 720 });
  return [
    ...light,
    ...dark.map((barrier) => `dark: ${barrier}`),
    ...forced.map((barrier) => `forced colours: ${barrier}`),
    ...(wider > 0 ? [`${wider} pixels too wide`] : []),
  ];
}

/** Returns a heap snapshot of the page after a garbage collection. */
export async function heapOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const chunks: string[] = [];
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk));
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  await session.detach();
  return chunks.join('');
}

/** Returns all text of the page that could contain a secret, except its heap. */
export const holdings = (page: Page): Promise<string> =>
  page.evaluate(() =>
    [
      document.documentElement.outerHTML,
      location.href,
      JSON.stringify(history.state),
      JSON.stringify({ ...sessionStorage }),
      JSON.stringify({ ...localStorage }),
      ...[...document.querySelectorAll('input')].map(({ value }) => value),
    ].join('\n'),
  );
