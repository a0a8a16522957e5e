import type { Reply } from '../contract/call.ts';
import type { DEV_PATHS } from '../contract/dev-paths.ts';
import { httpTransport } from './http-transport.ts';
import { headerPrefixOf, type RemoteOptions, replyOf } from './remote.ts';

/** A request for one of the paths that only a `--dev` daemon answers. */
export interface DevRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: (typeof DEV_PATHS)[keyof typeof DEV_PATHS];
  /** Of a management application. */
  readonly apiKey: string;
  readonly body?: object | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Sends one request to a `--dev` daemon. A daemon without it answers `route_not_found`. Throws the faults of a transport. */
export async function sendToDev(options: RemoteOptions, { method, path, apiKey, body }: DevRequest): Promise<Reply> {
  const prefix = headerPrefixOf(options.headerPrefix);
  const transport = httpTransport(options.url, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const bodyText = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    accept: 'application/json, application/problem+json',
    [`${prefix}-api-key`]: apiKey,
    ...(bodyText !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bodyText)),
    }),
  };
  try {
    return replyOf(await transport.send({ method, path, headers, bodyText }), prefix, options.url);
  } finally {
    await transport.close();
  }
}
