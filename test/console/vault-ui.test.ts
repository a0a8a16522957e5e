import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BIN, bareEnvironment, openUi, run, serve, vault } from '../../scripts/run-vault.ts';
import { startOnTerminal } from '../process/cli-fixture.ts';
import { CERT, CERT_KEY } from '../process/http-certificate.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { launch, watch } from './fixture.ts';

// Design of the console, §10: checks 3, 11 and 12.

const folder = temporaryFolder(afterAll);
const inside = (name: string) => path.join(folder, name);
const env = bareEnvironment(folder);
const FILE = inside('vault.db');
const KEYS = ['--api-key-file', inside('management.key'), '--api-key-file', inside('private.key')];

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
  const { application } = await vault(['init', '--file', FILE], env);
  await writeFile(inside('management.key'), application.key, { mode: 0o600 });
  await writeFile(inside('tls.crt'), CERT);
  await writeFile(inside('tls.key'), CERT_KEY, { mode: 0o600 });
  const rule = 'container=/ transform=reveal permissions=token:create,token:read';
  const app = ['apps', 'create', '--name', 'till', '--type', 'private', '--rule', rule];
  const direct = ['--file', FILE, '--api-key-file'];
  const made = await vault([...app, ...direct, inside('management.key')], env);
  await writeFile(inside('private.key'), made.key, { mode: 0o600 });
  for (const n of [1, 2, 3]) {
    const token = [
      'tokens',
      'create',
      '--type',
      'card',
      '--id',
      `card-${n}`,
      '--data',
      '{"number":"4242424242424242"}',
    ];
    await vault([...token, ...direct, inside('private.key')], env);
  }
});
afterAll(() => browser.close());

async function startUi(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const started = await openUi(args, { ...env, ...more });
  onTestFinished(async () => {
    await started.end();
  });
  return started;
}

/** Returns the rows of the first page, without times. */
async function firstPage(link: string): Promise<readonly string[]> {
  const { page, complaints } = await watch(browser, link);
  await page.waitForSelector('tbody tr');
  const rows = await page.$$eval('tbody tr', (all) =>
    all.map((row) =>
      [...row.querySelectorAll('td, th')]
        .slice(1, 5)
        .map(({ textContent }) => textContent)
        .join(' '),
    ),
  );
  expect(complaints).toEqual([]);
  return rows;
}

describe('vault ui shows the first page', () => {
  const PAGE = ['card-3', 'card-2', 'card-1'].map((id) => `${id} card •••• 4242 /pci/high/`);

  it('of a file, once for each link', async () => {
    const { link, end } = await startUi(['--file', FILE, ...KEYS]);
    expect(await firstPage(link)).toEqual(PAGE);
    const { page } = await watch(browser, link);
    await page.waitForSelector('[role=alert]');
    expect(await page.title()).not.toContain('Tokens');
    expect(await end()).toBe(0);
  });

  it('of a daemon over TLS with another prefix of its headers', async () => {
    const prefix = ['--header-prefix', 'XYZ'];
    const tls = ['--tls-cert', inside('tls.crt'), '--tls-key', inside('tls.key')];
    const daemon = await serve(['--file', FILE, ...tls, ...prefix], env);
    const url = daemon.url.replace('127.0.0.1', 'localhost');
    const { link } = await startUi(['--url', url, ...prefix, ...KEYS], { NODE_EXTRA_CA_CERTS: inside('tls.crt') });
    expect(await firstPage(link)).toEqual(PAGE);
    await daemon.end();
  });

  it('of a daemon on a socket', async () => {
    const socket = inside('vault.sock');
    const child = spawn(process.execPath, [BIN, 'serve', '--no-log', '--file', FILE, '--socket', socket], { env });
    await once(child.stderr, 'data');
    const { link } = await startUi(['--url', `unix:${socket}`, ...KEYS]);
    expect(await firstPage(link)).toEqual(PAGE);
    child.kill('SIGTERM');
    await once(child, 'close');
  });
});

describe('a link of vault ui', () => {
  it('names the profile of its key, also in commands', async () => {
    const VAULT_API_KEY = await readFile(inside('private.key'), 'utf8');
    await vault(['profile', 'add', 'till', '--file', FILE], { ...env, VAULT_API_KEY });
    const { link } = await startUi(['--profile', 'till']);
    const { page } = await watch(browser, link);
    await page.waitForSelector('.signed:has-text("Signed in as profile till (")');
    expect(await page.textContent('nav ul')).not.toContain('Dev tools');
    const line = (await page.textContent('footer .command pre')) ?? '';
    expect(line).toBe(`vault tokens list --transform mask --file ${FILE} --profile till`);
    expect((await vault(line.split(' ').slice(1), env)).data).toHaveLength(3);
  });

  it('without a key accepts a pasted one', async () => {
    const { link } = await startUi(['--file', FILE]);
    const { page } = await watch(browser, link);
    await page.waitForSelector('text=No API key of the console holds');
    await page.fill('[type=password]', await readFile(inside('private.key'), 'utf8'));
    await page.click('text=Use this key');
    await page.waitForSelector('text=card-1');
  });
});

describe('on a terminal', () => {
  /** Starts `vault ui` with a fake browser that writes the link to a file. */
  async function openOnTerminal(
    name: string,
    answer: string,
  ): Promise<{ page: Page; ended: ReturnType<typeof startOnTerminal> }> {
    const [bin, link] = [inside(name), inside(`${name}.link`)];
    await run(['-e', `require('fs').mkdirSync('${bin}')`], env);
    await writeFile(
      path.join(bin, 'xdg-open'),
      `#!/bin/sh\nprintf %s "$1" > '${link}.new'; mv '${link}.new' '${link}'\n`,
      {
        mode: 0o755,
      },
    );
    const PATH = `${bin}:${process.env['PATH']}`;
    const ended = startOnTerminal(
      `ui --file '${FILE}' ${KEYS.join(' ')} --idle 3s`,
      { cwd: folder, env: { PATH, DISPLAY: ':0' } },
      [
        ['Ctrl-C ends it', 'y\r'],
        ['Allow it?', answer],
      ],
    );
    for (let n = 0; n < 100 && !(await isThere(link)); n += 1) await delay(100);
    const { page } = await watch(browser, await readFile(link, 'utf8'));
    return { page, ended };
  }

  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );

  it('opens the page after a yes', async () => {
    const { page, ended } = await openOnTerminal('yes', 'y\r');
    await page.waitForSelector('tbody tr');
    expect((await ended)?.stdout).toMatch(/A browser shows \d{4}\. Allow it\?/);
  });

  it('prints the link where no browser can show a window', async () => {
    const bin = inside('no-screen');
    await mkdir(bin);
    // Without a screen, it would succeed in the terminal.
    await writeFile(path.join(bin, 'xdg-open'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    const line = `ui --file '${FILE}' ${KEYS.join(' ')} --idle 1s`;
    const env = { PATH: `${bin}:${process.env['PATH']}`, BROWSER: '', DISPLAY: '' };
    const ended = await startOnTerminal(line, { cwd: folder, env }, []);
    expect(ended?.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#code=/m);
    expect(ended?.stdout).not.toContain('is open in your browser');
  });

  it('ends on Ctrl-C at the question', async () => {
    const { ended } = await openOnTerminal('stop', '\u0003');
    const start = performance.now();
    expect((await ended)?.exitCode).toBe(0);
    expect(performance.now() - start).toBeLessThan(2_500);
  });

  it('keeps the page locked after a no, which keys pressed before the question do not change', async () => {
    const { page, ended } = await openOnTerminal('no', '\r');
    await page.waitForSelector('[role=alert]:has-text("did not allow")');
    expect(await page.$('tbody tr')).toBeNull();
    expect((await ended)?.stdout).toMatch(/A browser shows \d{4}/);
  });
});
