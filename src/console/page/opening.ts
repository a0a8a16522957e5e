// Runs before the rest of the page is compiled, so it imports nothing.

/** The key of the page secret in sessionStorage. */
export const SECRET = 'vault-console';

let isActive = true;
for (const event of ['pointerdown', 'keydown']) addEventListener(event, () => (isActive = true), { passive: true });

/** Sends a request with the page secret. Reports whether the user acted since the last request. */
export function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-vault-console', sessionStorage.getItem(SECRET) ?? '');
  if (isActive) headers.set('x-vault-active', '1');
  isActive = false;
  return fetch(`/ui/${path}`, { ...init, headers, cache: 'no-store' });
}

/** Returns the `fetch` options of a POST with a JSON body. */
export const posted = (body: object): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Removes the code of the link from the address and returns it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

function start() {
  const code = takeCode();
  if (code === null && sessionStorage.getItem(SECRET) === null) return undefined;
  const reply = code === null ? request('session') : request('session', posted({ code }));
  return { isNew: code !== null, reply: reply.catch(() => undefined) };
}

/**
 * The first request: it opens a session with the code of the link (`isNew`), or asks for the session of this tab. Its
 * `reply` is undefined when the server does not answer. Absent without a code and a secret.
 */
export const first = start();
