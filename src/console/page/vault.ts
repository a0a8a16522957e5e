import { createClient, VaultError } from '../../client/create-client.ts';
import { requestPath } from '../../client/request-path.ts';
import { actingAs, send } from './session.ts';

/** Sends an API request as the chosen identity, or as `as`. `path` is the part after `/ui/api`. */
function call(path: string, init: RequestInit, as = actingAs.value): Promise<Response> {
  const headers = new Headers(init.headers);
  if (as !== undefined) headers.set('x-vault-as', String(as));
  return send(`api${path}`, { ...init, headers });
}

/** Returns a client of the vault's API for the identity with the number `as`. Default: the chosen identity. */
export function clientAs(as?: number) {
  // The daemon adds the API key. No client sends one with spaces.
  const apiKey = 'of the session';
  return createClient({ url: '', apiKey, headerPrefix: 'X-Vault', fetch: (url, init) => call(url, init, as) });
}

/** The client of the vault's API. */
export const vault = clientAs();

/** Resolves to a masked token as JSON text, because `JSON.parse` would round its numbers. */
export const loadMasked = (id: string, signal: AbortSignal): Promise<string> =>
  jsonText(`${tokenPath(id)}?transform=mask`, { signal });

/** Sends a body as JSON text and resolves to the reply's text, so that no number is rounded. */
export function sendText(path: string, body: string, init: RequestInit = {}): Promise<string> {
  return jsonText(path, { method: 'POST', headers: { 'content-type': 'application/json' }, ...init, body });
}

export const tokenPath = (id: string): string => requestPath('/tokens/{id}', { id }, [], encodeURIComponent);

/** Resolves to the reply of a request, by default of the chosen identity, as JSON text. */
export async function jsonText(path: string, init: RequestInit = {}, as?: number): Promise<string> {
  const response = await call(path, init, as);
  const text = await response.text();
  if (response.ok) return text;
  throw new VaultError(response.status, JSON.parse(text), { traceId: '' });
}
