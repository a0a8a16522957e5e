import { signal } from '@preact/signals';
import type { Application } from '../../client/create-client.ts';
import type { Permission } from '../../contract/permissions.ts';
import { type OpenedReply, opened, postSession, request, SECRET } from './opening.ts';

/** An API key that the server half keeps for this session. The page never gets the key. */
export type HeldIdentity = { readonly n: number } & Partial<
  Pick<Application, 'id' | 'name' | 'type' | 'permissions' | 'rules'>
>;

/** The reply of `GET /ui/session`. */
export interface About {
  readonly url: string;
  readonly header_prefix: string;
  readonly dev: boolean;
  readonly audit_level?: string;
  /** Whether the console has the key of the file. */
  readonly file: boolean;
  readonly identities: readonly HeldIdentity[];
}

export type SessionState =
  | { readonly kind: 'opening' }
  | { readonly kind: 'confirm'; readonly number: string }
  | { readonly kind: 'locked'; readonly reason: string }
  | { readonly kind: 'open'; readonly about: About };

export const session = signal<SessionState>({ kind: 'opening' });

/** The number of the identity chosen under "Acting as". Undefined means the first identity with the permission. */
export const actingAs = signal<number | undefined>(undefined);

/** How long the page waits for another tab's secret before it shows that it is locked, in milliseconds. */
const TAB_MS = 200;
/** The interval of checking the session, in milliseconds. A check locks the page when the server has ended. */
const LOOK_MS = 15_000;

type Message = { readonly kind: 'ask' | 'lock' } | { readonly kind: 'secret'; readonly secret: string };

const NO_ANSWER = 'The console server does not answer.';

const tabs = new BroadcastChannel(SECRET);

/** Sends a request of this session. A 401 locks the page. Rejects with a message for people without an answer. */
export async function send(path: string, init?: RequestInit): Promise<Response> {
  const response = await request(path, init).catch((error: unknown) => {
    // `fetch` rejects with a TypeError without an answer, and with the signal's reason after an abort.
    throw error instanceof TypeError ? new Error(NO_ANSWER) : error;
  });
  if (response.status === 401 && session.peek().kind === 'open') close('The session has ended.');
  return response;
}

/** Opens the session with the code in the address, the secret of this tab, or the secret of another tab. */
export async function openSession(): Promise<void> {
  tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    const secret = sessionStorage.getItem(SECRET);
    if (data.kind === 'lock') close('Locked in another tab.');
    if (data.kind === 'ask' && secret !== null) tabs.postMessage({ kind: 'secret', secret } satisfies Message);
  });
  if (opened !== undefined) await openNew(await opened);
  else if (sessionStorage.getItem(SECRET) !== null) await describe();
  else askTabs();
  setInterval(look, LOOK_MS);
}

/** Opens a new session with the reply to its code. Waits until the terminal has confirmed the session, if necessary. */
async function openNew(first: OpenedReply | undefined): Promise<void> {
  let reply = first;
  while (reply?.secret === undefined) {
    if (reply === undefined) return close(NO_ANSWER);
    const { status, number, wait } = reply;
    if (status === 403) return close('The terminal did not allow this browser.');
    if (number === undefined) return close('This link has expired or was already used. Run vault ui again.');
    session.value = { kind: 'confirm', number };
    reply = await postSession({ wait });
  }
  const { about } = reply;
  if (about === undefined) await describe();
  else session.value = { kind: 'open', about };
}

/** Asks the other tabs for the secret of the session. A busy tab may answer after this page shows that it is locked. */
function askTabs(): void {
  const take = ({ data }: MessageEvent<Message>) => {
    if (data.kind !== 'secret') return;
    tabs.removeEventListener('message', take);
    sessionStorage.setItem(SECRET, data.secret);
    void describe();
  };
  tabs.addEventListener('message', take);
  tabs.postMessage({ kind: 'ask' } satisfies Message);
  setTimeout(() => {
    if (session.peek().kind === 'opening' && sessionStorage.getItem(SECRET) === null)
      close('Open the link that vault ui or vault serve --dev prints.');
  }, TAB_MS);
}

async function describe(): Promise<void> {
  const response = await send('session').catch(() => undefined);
  if (response === undefined) close(NO_ANSWER);
  else if (response.ok) session.value = { kind: 'open', about: await response.json() };
  else close('The session has ended. Open a new link.');
}

async function look(): Promise<void> {
  if (session.peek().kind !== 'open') return;
  await send('session', { method: 'HEAD' }).catch(() =>
    close('The console server has stopped. Start it again and open its new link.'),
  );
}

/** Adds a pasted API key. Resolves to an error message, if any. */
export async function addKey(key: string): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json' };
  const response = await send('session/keys', { method: 'POST', body: JSON.stringify({ key }), headers });
  const body: About & { readonly errors?: { readonly key?: readonly string[] }; readonly detail?: string } =
    await response.json();
  if (!response.ok) return `The key ${body.errors?.key?.[0] ?? body.detail ?? 'was refused'}.`;
  session.value = { kind: 'open', about: body };
  return undefined;
}

/** Locks all tabs. */
export async function lock(): Promise<void> {
  const ended = send('session', { method: 'DELETE' }).catch(() => undefined);
  tabs.postMessage({ kind: 'lock' } satisfies Message);
  close('Locked.');
  await ended;
}

/** Resolves when the page knows whether it is open. */
export function untilKnown(): Promise<void> {
  return new Promise((resolve) => {
    const stop = session.subscribe(({ kind }) => {
      if (kind === 'opening') return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

function close(reason: string): void {
  sessionStorage.removeItem(SECRET);
  session.value = { kind: 'locked', reason };
}

/** Returns whether the console has the vault's file and its key. */
export function hasFile(): boolean {
  const { value } = session;
  return value.kind === 'open' && value.about.file;
}

/** Returns whether one of the identities holds the permission, directly or through a rule. */
export function isHeld(permission: Permission): boolean {
  const { value } = session;
  const identities = value.kind === 'open' ? value.about.identities : [];
  return identities.some(
    ({ permissions = [], rules = [] }) =>
      permissions.includes(permission) || rules.some((rule) => rule.permissions.includes(permission)),
  );
}
