import { createServer } from 'node:http';
import { createHostCheck, hostOf, isLoopback, urlHost } from './own-hosts.ts';
import { toOriginForm } from './screen-request.ts';
import { listenOnPort } from './server.ts';

/** The path of the metrics; every other path is not found. */
const PATH = '/metrics';
/** Prometheus text, whose version is that of the format. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** How long a client may take to send its request, in milliseconds. */
const REQUEST_MS = 10_000;

/** The address of a listener of metrics. With port 0, the system chooses the port. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Answers `GET /metrics` with the text from `read`, or with 503 when `read` rejects. Needs no key, because metrics
 * name no record. Requests that wait at the same time share one call of `read`. On a loopback address, rejects a `Host`
 * other than loopback names and `hostNames`: a web page may have rebound its own name to the address. Rejects with the
 * faults `address_in_use` and `usage`.
 */
export async function listenForMetrics(
  { host, port }: MetricsAddress,
  hostNames: readonly string[],
  read: () => Promise<string>,
) {
  const isOwnHost = isLoopback(host) ? createHostCheck({ host, hostNames }) : () => true;
  let reading: Promise<string> | undefined;
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const options = { headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 1_000 };
  const server = createServer(options, (request, response) => {
    const answer = (status: number, text: string) => {
      response.writeHead(status, { 'Content-Type': CONTENT_TYPE, 'Cache-Control': 'no-store' });
      response.end(text);
    };
    toOriginForm(request);
    const asked = hostOf(request.headers.host ?? '') ?? '';
    if (!isOwnHost(asked)) answer(421, `wrong host ${asked}: \`vault serve --host-name\` adds a name\n`);
    else if (request.url !== PATH || (request.method !== 'GET' && request.method !== 'HEAD'))
      answer(404, 'not found\n');
    else {
      readOnce().then(
        (text) => answer(200, text),
        () => answer(503, 'no metrics\n'),
      );
    }
  });
  const bound = await listenOnPort(server, host, port, 'choose another address for --metrics');
  return {
    url: `http://${urlHost(host, bound.address)}:${bound.port}${PATH}`,
    stop(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}
