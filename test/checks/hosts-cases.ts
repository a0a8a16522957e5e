import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { PORTS } from './hosts-proxies.ts';

const execute = promisify(execFile);

/** An address of the machine besides loopback, as a pod has one. */
export const POD_IP = '10.244.1.7';

interface Shown {
  readonly privateKey: string;
  readonly code: string;
}

interface HostCase {
  readonly what: string;
  readonly wanted: string;
  readonly ask: (shown: Shown) => Promise<string>;
}

async function curl({ privateKey }: Shown, url: string, flags: readonly string[], body: boolean): Promise<string> {
  const words = ['-sk', '--max-time', '5', '-H', `SVC-API-KEY: ${privateKey}`, '-o', body ? '-' : '/dev/null'];
  const { stdout } = await execute('curl', [...words, '-w', '%{stderr}', ...flags, '-w', '\n%{http_code}', url]).catch(
    ({ code }: { readonly code?: unknown }) => ({ stdout: `\ncurl ${code}` }),
  );
  const [text = '', status = ''] = stdout.split(/\n(?=[^\n]*$)/);
  return body ? `${status} ${text}` : status;
}

const byCurl = (what: string, wanted: string, url: string, ...flags: readonly string[]): HostCase => ({
  what,
  wanted,
  ask: (shown) => curl(shown, url, flags, wanted.includes(' ')),
});

/** Sends bytes to the daemon. Resolves to the status, or `closed`. */
function byBytes(what: string, wanted: string, head: string): HostCase {
  const ask = ({ privateKey }: Shown) =>
    new Promise<string>((resolve) => {
      const socket = connect(PORTS.daemon, '127.0.0.1', () => {
        socket.write(`${head}\r\nSVC-API-KEY: ${privateKey}\r\nConnection: close\r\n\r\n`);
      });
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'closed'));
    });
  return { what, wanted, ask };
}

const asPage = (what: string, wanted: string, url: string, origin: string, ...flags: readonly string[]): HostCase => ({
  what: `the console, ${what}`,
  wanted,
  ask: (shown) => {
    const sent = ['-H', `Origin: ${origin}`, '--json', JSON.stringify({ code: shown.code })];
    return curl(shown, `${url}/ui/session`, [...sent, ...flags], false);
  },
});

const at = (port: number, name: string, address = '127.0.0.1') => ['--resolve', `${name}:${port}:${address}`];
const { daemon, metrics, relay, plain, tls, rewriting, forward } = PORTS;
const OWN = '127.0.0.1 localhost [::1]'.split(' ');

/** A request whose host name an attacker resolves to this machine. */
const rebound = (what: string, wanted: string, port: number, path: string, address?: string) =>
  byCurl(what, wanted, `http://evil.test:${port}${path}`, ...at(port, 'evil.test', address));

export const HOST_CASES: readonly HostCase[] = [
  ...OWN.map((host) => byCurl(`the daemon itself, ${host}`, '200', `http://${host}:${daemon}/tokens`)),
  ...OWN.map((host) => byCurl(`a published port, ${host}`, '200', `http://${host}:${relay}/tokens`)),
  byCurl('a port-forward from 443', '200', 'https://localhost/tokens'),
  byCurl('a proxy on 443', '200', 'https://vault.test/tokens', ...at(tls, 'vault.test')),
  byCurl('a proxy on 443, by a capital name', '200', 'https://VAULT.test/tokens', '--connect-to', '::127.0.0.1:443'),
  byCurl('a proxy on 80', '200', 'http://vault.test/tokens', ...at(plain, 'vault.test')),
  byCurl('a proxy on 80, by the absolute name', '200', 'http://vault.test./tokens', '--connect-to', '::127.0.0.1:80'),
  byCurl('a proxy that replaces Host', '200', `http://any.test:${rewriting}/tokens`, ...at(rewriting, 'any.test')),
  byCurl('a preview', '200', 'https://me-8484.example.test/t/../tokens', ...at(tls, 'me-8484.example.test')),
  byCurl('the domain of a wildcard', '421', 'https://example.test/tokens', ...at(tls, 'example.test')),
  byCurl('two labels under a wildcard', '421', 'https://a.b.example.test/tokens', ...at(tls, 'a.b.example.test')),
  byCurl('an IP address without --host-name', '421', `http://${POD_IP}:${daemon}/tokens`),
  byCurl('0.0.0.0', '421', `http://0.0.0.0:${daemon}/tokens`),
  ...[daemon, relay].flatMap((port) =>
    ['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', 'vault.test.evil.test'].map((name) =>
      byCurl(`rebinding ${name} to port ${port}`, '421', `http://${name}:${port}/tokens`, ...at(port, name)),
    ),
  ),
  byCurl('rebinding to a proxy on 443', '421', 'https://evil.test/tokens', ...at(tls, 'evil.test')),
  rebound('rebinding to a pod', '421', daemon, '/', POD_IP),
  rebound('rebinding to the document of the API', '421', daemon, '/openapi.json'),
  rebound('rebinding to the console', '421', daemon, '/ui/'),
  rebound('rebinding to the dev controls', '421', daemon, '/dev/clock'),
  byCurl('a liveness probe of a pod', '200 {"status":"live"}', `http://${POD_IP}:${daemon}/livez`),
  byCurl('a readiness probe of a pod', '200 {"status":"ready"}', `http://${POD_IP}:${daemon}/readyz`),
  byCurl('a probe without Host', '200 {"status":"live"}', `http://127.0.0.1:${daemon}/livez`, '-0', '-H', 'Host:'),
  rebound('a rebound probe', '200 {"status":"ready"}', daemon, '/readyz'),
  byCurl('absolute-form', '200', `http://localhost:${daemon}/tokens`, '-x', `http://127.0.0.1:${daemon}`),
  byCurl('absolute-form of any port', '200', 'http://vault.test/tokens', '-x', `http://127.0.0.1:${daemon}`),
  byCurl('absolute-form of a rebound name', '421', 'http://evil.test/tokens', '-x', `http://127.0.0.1:${daemon}`),
  byCurl('a forward proxy', '200', 'http://vault.test/tokens', '-x', `http://127.0.0.1:${forward}`),
  byCurl('a forward proxy to another host', '421', 'http://evil.test/tokens', '-x', `http://127.0.0.1:${forward}`),
  byBytes('absolute-form with a foreign Host', '200', 'GET http://localhost/tokens HTTP/1.1\r\nHost: evil.test'),
  byBytes('foreign absolute-form with our Host', '421', 'GET http://evil.test/tokens HTTP/1.1\r\nHost: localhost'),
  byBytes('userinfo like us', '400', 'GET http://localhost@evil.test/tokens HTTP/1.1\r\nHost: localhost'),
  byBytes('two Hosts', '400', 'GET /tokens HTTP/1.1\r\nHost: localhost\r\nHost: evil.test'),
  byBytes('two Hosts, ours last', '400', 'GET /tokens HTTP/1.1\r\nHost: evil.test\r\nHost: localhost'),
  byBytes('no Host', '400', 'GET /tokens HTTP/1.1'),
  byBytes('no Host, HTTP/1.0', '400', 'GET /tokens HTTP/1.0'),
  byBytes('a Host that is no host', '400', 'GET /tokens HTTP/1.1\r\nHost: localhost@evil.test'),
  byBytes('a zone of an address', '200', 'GET /tokens HTTP/1.1\r\nHost: [::1%25lo]:1'),
  byCurl('metrics behind another port', '200', `http://localhost:${metrics}/metrics`, '-H', 'Host: localhost:1'),
  rebound('rebinding to the metrics', '421', metrics, '/metrics'),
  asPage('behind a published port', '200', `http://localhost:${relay}`, `http://localhost:${relay}`),
  asPage('behind a proxy with TLS', '200', 'https://vault.test', 'https://vault.test', ...at(tls, 'vault.test')),
  asPage('from a page of another port', '403', `http://localhost:${relay}`, `http://localhost:${plain}`),
  asPage('from a page of the default port', '403', `http://localhost:${relay}`, 'http://localhost'),
  asPage('from another site', '403', `http://localhost:${relay}`, 'http://evil.test'),
  asPage('by rebinding', '421', `http://evil.test:${relay}`, `http://evil.test:${relay}`, ...at(relay, 'evil.test')),
];
