import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { BIN, bareEnvironment } from '../../scripts/run-vault.ts';
import { createClient } from '../../src/client/create-client.ts';
import { createRandomApplications, PLAIN } from '../random-applications.ts';
import { startBoth } from './fixture.ts';

// Design of the console, §10, check 21: See as equals the vault for 40 random applications and 240 tokens.

const TOKENS = 240;
const APPLICATIONS = 40;

type Seen = Readonly<Record<string, string>>;

/** The transform of each token for each application, by ids. */
const truth = new Map<string, Seen>();

const { vault, open } = await startBoth();
beforeAll(async () => {
  const random = createRandomApplications('see as');
  const items = Array.from({ length: TOKENS }, (_, n) => random.token(`token-${n}`));
  for (let at = 0; at < TOKENS; at += 100) await vault.client.tokenize({ body: items.slice(at, at + 100) });
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  for (let n = 0; truth.size < APPLICATIONS; n += 1) {
    const parent = await vault.management.createApplication({ body: random.private(`private ${n}`) });
    truth.set(parent.id, await readAll(parent.key));
    const body = random.expiring(`expiring ${n}`, inAnHour);
    // The vault rejects rules that exceed those of the creator.
    const child = await createClient({ url: vault.url, apiKey: parent.key })
      .createApplication({ body })
      .catch(() => undefined);
    if (child !== undefined && truth.size < APPLICATIONS) truth.set(child.id, await readAll(child.key));
  }
});

/** Resolves to what the vault shows a key of each token. */
async function readAll(apiKey: string): Promise<Seen> {
  const client = createClient({ url: vault.url, apiKey });
  const seen = Object.fromEntries(Array.from({ length: TOKENS }, (_, n) => [`token-${n}`, 'nothing']));
  for (let page = 1; page <= Math.ceil(TOKENS / 100); page += 1) {
    const { data } = await client.listTokens({ query: { page, size: 100 } });
    for (const { id, data: shown } of data)
      seen[id] = shown === undefined ? 'redact' : shown === PLAIN ? 'reveal' : 'mask';
  }
  return seen;
}

/** Returns the number of tokens whose transform on the page differs from the vault's. Reads every page of the list. */
async function differences(page: Page, ids: readonly string[]): Promise<number> {
  const told: (readonly [app: string, token: string, sees: string])[] = [];
  for (let first = 1; first <= TOKENS; first += PAGE_SIZE) {
    if (first > 1) await page.keyboard.press(']');
    await page.waitForSelector(`footer:has-text("${first}–")`);
    told.push(...(await readPage(page, ids)));
  }
  expect(told).toHaveLength(TOKENS * ids.length);
  return told.filter(([app, token, sees]) => truth.get(app)?.[token] !== sees).length;
}

const PAGE_SIZE = 50;

/** Reads the page of the list for each application, within the browser: from outside, each choice takes a while. */
const readPage = (page: Page, ids: readonly string[]) =>
  page.evaluate(async (ids) => {
    const told: (readonly [app: string, token: string, sees: string])[] = [];
    const select = document.querySelector<HTMLSelectElement>('header select');
    const textOf = (element: ParentNode, selector: string) => element.querySelector(selector)?.textContent ?? '';
    for (const id of ids) {
      if (select !== null) select.value = id;
      select?.dispatchEvent(new Event('change', { bubbles: true }));
      while (!textOf(document, 'footer .command').includes(id)) await new Promise(requestAnimationFrame);
      for (const row of document.querySelectorAll('tbody tr'))
        told.push([id, textOf(row, 'a.row'), textOf(row, '.sees')]);
    }
    return told;
  }, ids);

async function openSeeAs(): Promise<Page> {
  const { page } = await open('see-as');
  await page.waitForSelector('header select option', { state: 'attached' });
  return page;
}

describe('See as', () => {
  it('equals the vault, also for expiring applications', async () => {
    const page = await openSeeAs();
    const names = await page.$$eval('header select option', (all) => all.map(({ textContent }) => textContent));
    expect(names.filter((name) => name?.includes('expiring')).length).toBeGreaterThan(5);
    expect(await differences(page, [...truth.keys()])).toBe(0);
  });

  it('control: another order of the rules is reported', async () => {
    const page = await openSeeAs();
    await page.route('**/ui/api/applications*', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      for (const { rules } of body.data) for (const rule of rules) rule.priority = 100 - rule.priority;
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await page.waitForSelector('header select option', { state: 'attached' });
    expect(await differences(page, [...truth.keys()].slice(0, 8))).toBeGreaterThan(50);
  });

  it('counts all tokens like vault apps explain and like its own list', async () => {
    const page = await openSeeAs();
    for (const [id, seen] of [...truth].slice(0, 6)) {
      await page.selectOption('header select', id);
      await page.click('text=Count all');
      await page.waitForSelector('.count');
      const told = await page.$$eval('.count', (all) =>
        all.map((each) => [
          each.querySelector('.sees')?.textContent ?? '',
          Number(each.querySelector('b')?.textContent),
        ]),
      );
      const sums: Record<string, number> = {};
      for (const [transform, tokens] of told) sums[String(transform)] = (sums[String(transform)] ?? 0) + Number(tokens);
      const wanted: Record<string, number> = {};
      for (const transform of Object.values(seen)) wanted[transform] = (wanted[transform] ?? 0) + 1;
      expect(Object.fromEntries(Object.entries(sums).filter(([, tokens]) => tokens > 0))).toEqual(wanted);
    }
  });

  it('equals vault apps explain', async () => {
    for (const [id, seen] of [...truth].slice(0, 3)) {
      const args = ['apps', 'explain', id, '--token', 'token-7', '--url', vault.url, '-o', 'json'];
      const env = { ...bareEnvironment(vault.folder), VAULT_API_KEY: vault.management_key };
      const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args], { env });
      const [read] = JSON.parse(stdout).permissions.filter(
        ({ permission }: { permission: string }) => permission === 'token:read',
      );
      expect(read.transform ?? 'nothing').toBe(seen['token-7']);
    }
  });
});
