import { createClient, type Fetch, type VaultClient, VaultError } from '../../client/create-client.ts';
import { aboutSession, actingAs, send } from './session.ts';

/** The `fetch` of the typed client. Sends requests in this session; the server half adds the API key. */
const sessionFetch: Fetch = async (url, { method, headers, body, signal }) => {
  const own = Object.entries(headers).flatMap(([name, value]) => {
    const [, word] = /-(api-key|trace-id|idempotency-key)$/i.exec(name) ?? [];
    if (word === undefined) return [[name, value] as const];
    return word.toLowerCase() === 'idempotency-key' ? [['idempotency-key', value] as const] : [];
  });
  return call(url, { method, headers: Object.fromEntries(own), signal, ...(body !== undefined && { body }) });
};

/** Sends an API request as the chosen identity, or as `as`. `path` is the part after `/ui/api/`. */
function call(path: string, init: RequestInit, as = actingAs.value): Promise<Response> {
  const headers = new Headers(init.headers);
  if (as !== undefined) headers.set('x-vault-as', String(as));
  return send(`api/${path.replace(/^\/+/, '')}`, { ...init, headers });
}

let client: VaultClient | undefined;

/** Returns the client of the vault's API. */
export function vault(): VaultClient {
  const headerPrefix = aboutSession()?.header_prefix ?? 'SVC';
  // `sessionFetch` leaves the key out.
  client ??= createClient({ url: '', apiKey: 'of the session', headerPrefix, fetch: sessionFetch });
  return client;
}

/** Resolves to a masked token as JSON text, because `JSON.parse` would round its numbers. */
export function loadMasked(id: string, signal: AbortSignal): Promise<string> {
  return textOf(`${tokenPath(id)}?transform=mask`, { signal });
}

/** Resolves to a token as the identity with the number `as` sees it, as JSON text. */
export function loadAs(id: string, as: number): Promise<string> {
  return textOf(tokenPath(id), {}, as);
}

/** Resolves to the access to a token that the identity with the number `as` has itself. */
export async function explainOwn(id: string, as: number, signal: AbortSignal): Promise<Explanation> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ token_id: id });
  return JSON.parse(await textOf('applications/explain', { method: 'POST', headers, body, signal }, as));
}

type Explanation = Awaited<ReturnType<VaultClient['explainAccess']>>;

/** Sends a body as JSON text and resolves to the reply's text, so that no number is rounded. */
export function sendText(path: string, body: string, init: RequestInit = {}): Promise<string> {
  return textOf(path, { method: 'POST', headers: { 'content-type': 'application/json' }, ...init, body });
}

/** Resolves to the reply of a GET request as JSON text. */
export const loadText = (path: string): Promise<string> => textOf(path, {});

export function tokenPath(id: string): string {
  return `tokens/${/^\.{1,2}$/.test(id) ? id.replaceAll('.', '%2E') : encodeURIComponent(id)}`;
}

async function textOf(path: string, init: RequestInit, as?: number): Promise<string> {
  const response = await call(path, init, as);
  const text = await response.text();
  if (response.ok) return text;
  throw new VaultError(response.status, JSON.parse(text), { traceId: '' });
}
