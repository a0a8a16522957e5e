import { expect, onTestFinished } from 'vitest';
import { directClient } from '../src/client/direct.ts';
import type { Call, Client, Reply } from '../src/contract/call.ts';
import { DEFAULT_LIMITS, type Limits } from '../src/contract/limits.ts';
import { OPERATIONS, type Operation, type OperationId } from '../src/contract/operations.ts';
import type { Keyring, Store } from '../src/core/ports.ts';
import { createKeyring } from '../src/keyring/master-key.ts';
import type { FileStore } from '../src/store/sqlite/sqlite-store.ts';
import { composeVault, type Vault, type VaultSettings } from '../src/vault/vault.ts';
import { checkedClient } from './checked-client.ts';
import { type SteppingClock, seededRandom, steppingClock } from './fixed-world.ts';
import type { AtEnd } from './temporary-folder.ts';
import { openTestStore } from './test-store.ts';

/** The parts of a call; `body` is sent as JSON, `bodyText` unchanged. */
export interface CallParts {
  readonly id?: string;
  /** All path parameters. Default: `id`. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly bodyText?: string;
  readonly mediaType?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly replayed?: true | undefined;
  readonly retryAfter?: number | undefined;
  /** Returns the member at a dotted path of the body (`errors.name`, `data.0.id`, `errors[data.number]`). */
  at(path: string): unknown;
}

/** A vault on a file of its own. */
export interface TestVault {
  readonly vault: Vault;
  readonly client: Client;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: SteppingClock;
  readonly tenantId: string;
  /** The key of the first management application. */
  readonly management: string;
  call(key: string | undefined, operation: OperationId, parts?: CallParts): Promise<Answer>;
  /** Creates an application and resolves to its key. */
  application(body: object): Promise<string>;
}

export interface TestVaultOptions {
  /** Replaces methods of the keyring. */
  readonly keyringOf?: ((keyring: Keyring) => Keyring) | undefined;
  /** Replace defaults. */
  readonly limits?: Partial<Limits> | undefined;
  readonly settings?: VaultSettings | undefined;
  /** Replaces methods of the store, which is on a new file. */
  readonly storeOf?: ((file: FileStore) => Store) | undefined;
  /** Default: `onTestFinished`. */
  readonly atEnd?: AtEnd | undefined;
}

/** Opens a new vault whose ids repeat for the same seed. Closes and removes it after the test. */
export async function openTestVault(
  seed = 'seed',
  {
    keyringOf = (keyring) => keyring,
    limits,
    settings,
    storeOf = (file) => file,
    atEnd = onTestFinished,
  }: TestVaultOptions = {},
): Promise<TestVault> {
  const clock = steppingClock();
  const random = seededRandom(seed);
  const credential = { kind: 'key_file', key: random.bytes(32) } as const;
  const { keyring: own, header } = await createKeyring(credential, { now: clock.now() });
  const keyring = keyringOf(own);
  const store = storeOf(await openTestStore(header, atEnd));
  const parts = { file: 'vault.db', store, keyring, clock, random, limits: { ...DEFAULT_LIMITS, ...limits } };
  const vault = composeVault({ ...parts, ...settings });
  atEnd(() => vault.close());
  const client = checkedClient(directClient(vault));
  const { tenant, application } = await vault.createTenant('test');
  const management = application.key ?? '';

  async function call(key: string | undefined, operation: OperationId, parts: CallParts = {}): Promise<Answer> {
    const row: Operation = OPERATIONS[operation];
    const {
      id,
      params,
      idempotencyKey,
      query = '',
      body,
      bodyText = body === undefined ? undefined : JSON.stringify(body),
    } = parts;
    const sent = {
      operation,
      apiKey: key,
      mediaType: 'mediaType' in parts ? parts.mediaType : (row.mediaType ?? 'application/json'),
      params: params ?? (id === undefined ? {} : { id }),
      query: [...new URLSearchParams(query)],
      bodyText,
      idempotencyKey,
    };
    const reply = await client.call(sent);
    if (operation === 'getToken' || operation === 'listTokens') await expectSameInTurn(vault, sent, reply);
    return answerOf(reply);
  }

  async function application_(body: object): Promise<string> {
    const answer = await call(management, 'createApplication', { body });
    if (answer.status !== 201) throw new Error(answer.text);
    return String(answer.at('key'));
  }

  return { vault, client, store, keyring, clock, tenantId: tenant.id, management, call, application: application_ };
}

/** Expects the same reply from `take`, the method by which a daemon answers reads. */
async function expectSameInTurn(vault: Vault, call: Call, { status, bodyText, traceId }: Reply): Promise<void> {
  await vault.ready();
  const taken = await new Promise<Reply>((resolve) => vault.take({ ...call, traceId }, resolve));
  taken.sent?.();
  expect({ status: taken.status, bodyText: taken.bodyText }).toEqual({ status, bodyText });
}

function answerOf({ status, bodyText: text = '', replayed, retryAfter }: Reply): Answer {
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  return {
    status,
    text,
    replayed,
    retryAfter,
    at: (path) =>
      [...path.matchAll(/\[([^\]]+)\]|([^.[\]]+)/g)]
        .map(([, bracketed, plain]) => bracketed ?? plain ?? '')
        .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], body),
  };
}
