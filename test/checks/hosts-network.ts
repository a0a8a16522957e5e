import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { ENVIRONMENT, startServe } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { askBrowser } from './hosts-browser.ts';
import { HOST_CASES } from './hosts-cases.ts';
import { PORTS, startProxies } from './hosts-proxies.ts';

const execute = promisify(execFile);

export interface Outcome {
  readonly what: string;
  readonly wanted: string;
  readonly got: string;
}

/** The variables that Kubernetes puts into each pod beside a Service named vault. */
const SERVICE_LINKS = { VAULT_PORT: 'tcp://10.96.0.10:8484', VAULT_SERVICE_HOST: '10.96.0.10' };

/**
 * Starts a `--dev` daemon on all addresses. Resolves to its ready file, its stderr and the names of its own address.
 */
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

/**
 * Runs the cases on the product at `bin`, those of a browser and of 0.0.0.0 with `withBrowser`. Resolves to their
 * outcomes.
 */
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
