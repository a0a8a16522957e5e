// Runs before the browser has compiled the rest of the page, so it imports only types.
import type { About } from '../about.ts';

/** The key of the page secret in sessionStorage. */
export const SECRET = 'vault-console';

/** The path of the list that the first screen requests. */
const FIRST_LIST = 'api/v2/tokens?transform=mask&size=50';
const FIRST_SCREEN = /^\/ui\/(tokens)?$/;

/** Requests that were sent before the page needs them, by path. */
const ahead = new Map<string, Promise<Response>>();
let isActive = true;
for (const event of ['pointerdown', 'keydown']) addEventListener(event, () => (isActive = true), { passive: true });

/**
 * Sends a request with the page secret, unless it was sent ahead. Reports to the server whether the user acted since
 * the last request.
 */
export function request(path: string, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET' } = init;
  const sent = method === 'GET' ? ahead.get(path) : undefined;
  if (sent !== undefined && ahead.delete(path)) return sent;
  const headers = new Headers(init.headers);
  headers.set('x-vault-console', sessionStorage.getItem(SECRET) ?? '');
  if (isActive) headers.set('x-vault-active', '1');
  isActive = false;
  return fetch(`/ui/${path}`, { ...init, headers, cache: 'no-store' });
}

function sendAhead(path: string): void {
  const sent = request(path);
  sent.catch(() => undefined); // The page handles the error.
  ahead.set(path, sent);
}

/** Sends the request of the first screen ahead, if the address shows this screen. */
function askFirstList(): void {
  if (FIRST_SCREEN.test(location.pathname) && location.search === '') sendAhead(FIRST_LIST);
}

/** The reply of `POST /ui/session`: a new session, or a number to confirm at the terminal. */
export interface OpenedReply {
  readonly status: number;
  readonly secret?: string;
  /** Absent when the vault is slow to describe itself. */
  readonly about?: About;
  readonly number?: string;
  readonly wait?: string;
}

/** Sends a code, or waits for the terminal. Stores the secret of the new session. Resolves to undefined on failure. */
export async function postSession(body: object): Promise<OpenedReply | undefined> {
  const headers = { 'content-type': 'application/json' };
  try {
    const response = await request('session', { method: 'POST', body: JSON.stringify(body), headers });
    const { status } = response;
    const reply: OpenedReply = response.ok ? { ...(await response.json()), status } : { status };
    if (reply.secret !== undefined) sessionStorage.setItem(SECRET, reply.secret);
    // If `about` is missing, the server does not know yet which key may list tokens.
    if (reply.about !== undefined) askFirstList();
    return reply;
  } catch {
    return undefined;
  }
}

/** Removes the code of the link from the address and returns it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

const code = takeCode();

/** The reply to the code of the link; undefined if the link has no code. */
export const opened = code === null ? undefined : postSession({ code });

if (code === null && sessionStorage.getItem(SECRET) !== null) {
  sendAhead('session');
  askFirstList();
}

/** Loads the rest of the page. Runs after the first paint, because compiling the page would delay the paint. */
function loadPage(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=preload]');
  if (link === null) addEventListener('DOMContentLoaded', loadPage);
  else void import(link.href);
}

requestAnimationFrame(() => setTimeout(loadPage));
