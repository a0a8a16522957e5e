import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createRelay, type Server } from 'node:net';
import { CERT, CERT_KEY } from '../process/http-certificate.ts';

/** The ports in front of the daemon. A network namespace of its own has them all free. */
export const PORTS = { daemon: 8484, metrics: 9484, relay: 9000, plain: 80, tls: 443, rewriting: 9001, forward: 3128 };

/** Returns a handler that passes requests to the daemon with the target and `Host` that `change` makes of them. */
function passOn(change: (asked: IncomingMessage) => { readonly path: string; readonly host: string }) {
  return (asked: IncomingMessage, answer: ServerResponse) => {
    const { path, host } = change(asked);
    const { method, headers } = asked;
    const sent = request({ port: PORTS.daemon, host: '127.0.0.1', method, path, headers: { ...headers, host } });
    sent.on('response', (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers);
      got.pipe(answer);
    });
    sent.on('error', () => answer.destroy());
    asked.pipe(sent);
  };
}

const keepHost = passOn(({ url = '', headers }) => ({ path: url, host: headers.host ?? '' }));

/**
 * Starts what people put in front of a daemon: a relay of TCP (a published port of a container, `kubectl port-forward`,
 * `ssh -L`), proxies on the default ports that keep `Host`, a proxy that replaces it, and a forward proxy that passes
 * absolute-form on.
 */
export async function startProxies(): Promise<() => void> {
  const relay = createRelay((socket) => {
    const inner = connect(PORTS.daemon, '127.0.0.1');
    for (const [from, to] of [[socket, inner] as const, [inner, socket] as const]) {
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  const rewriting = passOn(({ url = '' }) => ({ path: url, host: `127.0.0.1:${PORTS.daemon}` }));
  const forward = passOn(({ url = '' }) => ({ path: url, host: 'proxy.test' }));
  const servers: readonly (readonly [Server, number])[] = [
    [relay, PORTS.relay],
    [createServer(keepHost), PORTS.plain],
    [createTlsServer({ cert: CERT, key: CERT_KEY }, keepHost), PORTS.tls],
    [createServer(rewriting), PORTS.rewriting],
    [createServer(forward), PORTS.forward],
  ];
  await Promise.all(servers.map(([server, port]) => once(server.listen(port, '::'), 'listening')));
  return () => {
    for (const [server] of servers) server.close();
  };
}
