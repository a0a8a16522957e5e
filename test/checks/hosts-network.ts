import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { CHROMIUM } from '../console/require-chromium.ts';
import { ENVIRONMENT, startServe } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { HOST_CASES } from './hosts-cases.ts';
import { PORTS, startProxies } from './hosts-proxies.ts';

const OTHER_PORT = 9005;
const { relay } = PORTS;

/** Opens the console in Chromium behind other ports, and attacks it from pages of others. */
async function askBrowser(code: string): Promise<readonly Outcome[]> {
  // A form may go to any site, and Chromium lets no page of another site fetch from this machine.
  const page = `<!doctype html><form method="post" enctype="text/plain" action="http://localhost:${relay}/ui/session">
    </form><script>document.forms[0].submit()</script>`;
  const other = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(page));
  await once(other.listen(OTHER_PORT, '127.0.0.1'), 'listening');
  const browser = await chromium.launch({
    ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  /** Resolves to the status and the `Origin` of the request for a session that a page makes. */
  const attack = async (url: string) => {
    const opened = await context.newPage();
    const arrived = opened.waitForResponse((response) => response.url().endsWith('/ui/session'), { timeout: 10_000 });
    await opened.goto(url);
    const response = await arrived;
    const { origin } = await response.request().allHeaders();
    return `${response.status()} ${origin}`;
  };
  const open = (origin: string) => attack(`${origin}/ui/#code=${code}`);
  const [published, behindTls] = [`http://localhost:${relay}`, 'https://vault.test'];
  const [port, site] = [`http://localhost:${OTHER_PORT}`, `http://evil.test:${OTHER_PORT}`];
  try {
    const rebound = await (await context.newPage()).goto(`http://evil.test:${relay}/ui/`);
    return [
      { what: 'Chromium, a published port', wanted: `200 ${published}`, got: await open(published) },
      { what: 'Chromium, a proxy with TLS', wanted: `200 ${behindTls}`, got: await open(behindTls) },
      { what: 'Chromium, a page of another port', wanted: `403 ${port}`, got: await attack(port) },
      { what: 'Chromium, a page of another site', wanted: `403 ${site}`, got: await attack(site) },
      { what: 'Chromium, a rebound name', wanted: '421', got: String(rebound?.status()) },
    ];
  } finally {
    await browser.close();
    other.close();
  }
}

const execute = promisify(execFile);

export interface Outcome {
  readonly what: string;
  readonly wanted: string;
  readonly got: string;
}

/** The variables that Kubernetes puts into each pod beside a Service named vault. */
const SERVICE_LINKS = { VAULT_PORT: 'tcp://10.96.0.10:8484', VAULT_SERVICE_HOST: '10.96.0.10' };

/** Starts a `--dev` daemon on all addresses. Resolves to its ready file and to what it names itself. */
async function startOn(bin: string, folder: string, host: string, port: number, more: readonly string[]) {
  const readyFile = path.join(folder, `${port}.json`);
  const words = ['--dev', '--ui', '--host', host, '--port', String(port), '--insecure-http', '--no-log', ...more];
  const { ready, told, stop } = await startServe({ bin, readyFile, words, env: SERVICE_LINKS });
  const run = (...args: readonly string[]) => execute(process.execPath, [bin, ...args], { env: ENVIRONMENT });
  const [env] = await Promise.all([run('env', '--ready-file', readyFile), run('wait', '--ready-file', readyFile)]);
  const url = `http://127.0.0.1:${port}`;
  const own: readonly Outcome[] = [
    { what: `the ready file of ${host}`, wanted: url, got: ready.url },
    { what: `vault env of ${host}`, wanted: url, got: /VAULT_URL='(.*)'/.exec(env.stdout)?.[1] ?? '' },
    { what: `the link of ${host}`, wanted: `${url}/ui/`, got: String(ready.ui).replace(/#.*/, '') },
    {
      what: `the banner of ${host}`,
      wanted: `vault: listening on ${url} (--host ${host})`,
      got: /^.*listening.*$/m.exec(told())?.[0] ?? '',
    },
    { what: 'a Service named vault', wanted: 'is ignored', got: /VAULT_PORT (is ignored)/.exec(told())?.[1] ?? '' },
  ];
  return { ready, own, stop: () => stop('SIGTERM') };
}

/** Runs the cases on the product at `bin`; those of a browser and of 0.0.0.0 with `withBrowser`. */
async function runCases(bin: string, withBrowser: boolean): Promise<readonly Outcome[]> {
  const { path: folder } = makeFolder();
  const names = ['--host-name', 'vault.test', '*.example.test', '--metrics', `127.0.0.1:${PORTS.metrics}`];
  const [served, other, stopProxies] = await Promise.all([
    startOn(bin, folder, '::', PORTS.daemon, names),
    withBrowser ? startOn(bin, folder, '0.0.0.0', PORTS.daemon + 1, []) : undefined,
    startProxies(),
  ]);
  const { private_key: privateKey = '', ui } = served.ready;
  const shown = { privateKey, code: String(ui).replace(/.*#code=/, '') };
  const [browser, ...asked] = await Promise.all([
    withBrowser ? askBrowser(shown.code) : [],
    ...HOST_CASES.map(async ({ what, wanted, ask }) => ({ what, wanted, got: await ask(shown) })),
  ]);
  await Promise.all([served.stop(), other?.stop()]);
  stopProxies();
  return [...served.own, ...(other?.own ?? []), ...asked, ...browser];
}

if (process.argv[1] === import.meta.filename) {
  const [, , bin = '', browser] = process.argv;
  process.stdout.write(JSON.stringify(await runCases(bin, browser === 'browser')), () => process.exit());
}
