import { signal } from '@preact/signals';
import type { Permission } from '../../contract/permissions.ts';
import type { About, ConsoleCommands, HeldIdentity } from '../about.ts';
import { messageOf } from './loaded.ts';
import { type OpenedReply, opened, postSession, request, SECRET } from './opening.ts';
import { endOutage, outage, startOutage } from './outage.ts';

export type SessionState =
  | { readonly kind: 'opening' }
  | { readonly kind: 'confirm'; readonly number: string }
  | { readonly kind: 'locked'; readonly reason: string; readonly commands?: ConsoleCommands | undefined }
  | { readonly kind: 'open'; readonly about: About };

export const session = signal<SessionState>({ kind: 'opening' });

/** The number of the identity chosen under "Acting as". Undefined means the first identity with the permission. */
export const actingAs = signal<number | undefined>(undefined);

/** Whether a form for another key is shown. */
export const isAddingKey = signal(false);

/** How long the page waits for another tab's secret before it shows that it is locked, in milliseconds. */
const TAB_MS = 200;
/** The interval of checking the session, in milliseconds. A check locks the page when the server has ended. */
const LOOK_MS = 15_000;

type Message = { readonly kind: 'ask' | 'lock' } | { readonly kind: 'secret'; readonly secret: string };

const NO_ANSWER = 'The console server does not answer.';

const tabs = new BroadcastChannel(SECRET);

/**
 * Sends a request of this session. Locks the page when the session has ended, and starts an outage without an answer.
 * Then rejects with a message for people.
 */
export async function send(path: string, init?: RequestInit): Promise<Response> {
  const response = await request(path, init).catch((error: unknown) => {
    // `fetch` rejects with a TypeError without an answer, and with the signal's reason after an abort.
    if (!(error instanceof TypeError)) throw error;
    if (session.peek().kind === 'open') startOutage(NO_ANSWER, isBack);
    throw new Error(NO_ANSWER);
  });
  if ((response.status === 401 || response.status === 503) && session.peek().kind === 'open') await explain(response);
  return response;
}

interface ProblemBody {
  readonly detail?: string;
  readonly errors?: Readonly<Record<string, readonly string[]>>;
}

/** Sends a request and resolves to the JSON of its reply. Throws an error with the text of the problem. */
export async function ask<Result>(path: string, { method = 'GET', body, signal }: Asked = {}): Promise<Result> {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
  const response = await send(path, { method, ...sent, signal: signal ?? null });
  const text = await response.text();
  if (response.ok) return JSON.parse(text || '{}');
  const { detail, errors = {} }: ProblemBody = JSON.parse(text);
  const [member] = Object.entries(errors);
  throw new Error(member === undefined ? (detail ?? `status ${response.status}`) : `${member[0]} ${member[1][0]}`);
}

interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Reacts to a reply that concerns the whole page: the session has ended, a key has ended, or the vault is gone. */
async function explain(response: Response): Promise<void> {
  const { type = '', detail = '' }: { readonly type?: string; readonly detail?: string } = await response
    .clone()
    .json()
    .catch(() => ({}));
  if (type.endsWith('console_locked')) close('The session has ended.');
  else if (response.status === 401) await describe();
  else if (detail.startsWith(GONE)) startOutage(detail, isBack);
}

/** The first words of the detail when the console cannot reach the vault. */
const GONE = 'The vault does not answer';

/** Resolves to whether the vault answers again. Locks the page if its session is gone. */
async function isBack(): Promise<boolean> {
  const response = await request('api/readyz').catch(() => undefined);
  if (response?.status !== 401) return response?.ok === true;
  close('The vault has started again, which ends the session.');
  return true;
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
    if (number === undefined) return close('This link has expired or was already used.');
    session.value = { kind: 'confirm', number };
    reply = await postSession({ wait });
  }
  const { about } = reply;
  if (about === undefined) await describe();
  else show(about);
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
      close('No session is open in this browser.');
  }, TAB_MS);
}

/** Describes the session: when it opens, and again when one of its keys may have ended. */
async function describe(): Promise<void> {
  const response = await request('session').catch(() => undefined);
  // The page may have been locked in the meantime.
  if (sessionStorage.getItem(SECRET) === null) return;
  if (response?.ok) show(await response.json());
  else if (session.peek().kind !== 'open') close(response === undefined ? NO_ANSWER : 'The session has ended.');
}

function show(about: About): void {
  // The page may have been locked during the request.
  if (sessionStorage.getItem(SECRET) !== null) session.value = { kind: 'open', about };
}

async function look(): Promise<void> {
  if (session.peek().kind !== 'open' || outage.peek() !== undefined) return;
  await send('session', { method: 'HEAD' }).catch(() => undefined);
}

/** Adds a pasted API key. Resolves to an error message, if any. */
export async function addKey(key: string): Promise<string | undefined> {
  try {
    show(await ask('session/keys', { method: 'POST', body: { key } }));
    return undefined;
  } catch (error) {
    return `The ${messageOf(error)}.`;
  }
}

/** Forgets keys of this session. */
export async function forgetKeys(ended: readonly HeldIdentity[]): Promise<void> {
  // A key that the vault keeps stays in the list.
  for (const { n } of ended) await ask<About>(`session/keys/${n}`, { method: 'DELETE' }).then(show, () => undefined);
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
  endOutage();
  session.value = { kind: 'locked', reason, commands: aboutSession()?.commands };
}

/** Returns the description of the open session. */
export const aboutSession = (): About | undefined => (session.value.kind === 'open' ? session.value.about : undefined);

/** Returns whether the console has the vault's file and its key. */
export const hasFile = (): boolean => aboutSession()?.file ?? false;

/** Returns the identities of the session, or only the chosen one. */
export function identitiesInUse(): readonly HeldIdentity[] {
  const all = aboutSession()?.identities ?? [];
  return actingAs.value === undefined ? all : all.filter(({ n }) => n === actingAs.value);
}

/**
 * Returns the identities that may hold the permission, directly or through a rule. An unknown application is taken for a
 * private one.
 */
export function holdersOf(permission: Permission): readonly HeldIdentity[] {
  return identitiesInUse().filter(({ ended, permissions, rules = [] }) => {
    if (ended) return false;
    if (permissions === undefined) return permission.startsWith('token:');
    return permissions.includes(permission) || rules.some((rule) => rule.permissions.includes(permission));
  });
}

export const isHeld = (permission: Permission): boolean => holdersOf(permission).length > 0;

/** Returns the name of a key: its application, else its source. */
export function keyName({ name, type, source, id }: HeldIdentity): string {
  if (name !== undefined) return `${name} (${type})`;
  return id === undefined ? source : `${source} (${id.slice(0, 8)}…)`;
}
