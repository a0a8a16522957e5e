import { request } from 'node:http';
import type { Fetch } from './create-client.ts';

/**
 * Sends a request over `http:` with Node's HTTP client and its persistent connections. Replaces `fetch` where a test
 * may have changed it: jest's environment jsdom has none, and Node's calls the global `queueMicrotask`, which fake
 * timers may hold. Follows no redirect. Rejects with the signal's reason, and with errors of the connection.
 */
export const nodeFetch: Fetch = (url, { method, headers, body = '', signal }) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(url, { method, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: { get: (name) => [response.headers[name.toLowerCase()] ?? []].flat()[0] ?? null },
          text: async () => Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    const abort = (): void => {
      reject(signal.reason);
      sent.destroy();
    };
    signal.addEventListener('abort', abort);
    sent.on('close', () => signal.removeEventListener('abort', abort));
    sent.on('error', reject);
    sent.end(body);
  });
