import type { IncomingMessage } from 'node:http';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { type HttpTransport, parseAddress, unreachable, VERIFIED } from './http-transport.ts';

/**
 * Creates a transport that sends each request on its own connection, without undici, so commands with a single call
 * start sooner. It follows no redirect, because that would forward the API key. `ca` holds the certificates to trust
 * instead of Node's, as PEM text. Throws the fault `usage` for an invalid URL; `send` rejects with `unreachable`.
 */
export function oneShotTransport(url: string, timeoutMs: number, ca?: string): HttpTransport {
  const { secure, connection, base, hostHeader } = parseAddress(url);
  return {
    async send({ method, path, headers, bodyText }) {
      // `import` would run all lazy getters of the module, and one of them loads undici.
      const { request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http');
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const chunks: Buffer[] = [];
      const sent = request({
        ...connection,
        ca,
        ...VERIFIED,
        agent: false,
        method,
        path: `${base}${path}`,
        headers: { host: hostHeader, ...headers, connection: 'close' },
      });
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        sent.destroy();
      }, timeoutMs);
      try {
        sent.on('response', (response) => {
          sent.off('close', reject);
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject).on('end', () => resolve(response));
        });
        // A switch of protocols ends the request without an error.
        sent.on('error', reject).on('close', reject).end(bodyText);
        const { statusCode = 0, headers: received } = await promise;
        return { status: statusCode, headers: received, body: Buffer.concat(chunks) };
      } catch (error) {
        throw unreachable(url, error, isLate ? timeoutMs : undefined);
      } finally {
        clearTimeout(timer);
        sent.destroy();
      }
    },
    async close() {},
  };
}
