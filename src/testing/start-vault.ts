/// <reference lib="esnext.disposable" preserve="true" />
import { createClient, type VaultClient } from '../client/create-client.ts';
import { decodeProblem } from '../client/decode-problem.ts';
import { sendToDev } from '../client/remote.ts';
import type { DevFault, DevRequest } from '../contract/dev-paths.ts';
import { Fault } from '../core/fault.ts';
import { type CheckedOptions, type StartedDaemon, type StartOptions, wholeOptions } from './start-options.ts';

export type { StartOptions };

/** The API keys of a vault for tests. */
export interface TestKeys {
  readonly tenant_id: string;
  /** All management permissions. */
  readonly management_key: string;
  /** All token permissions, through a rule on `/` with `reveal`. */
  readonly private_key: string;
}

/** Moves the time of the vault only. Each method resolves to the vault's new time. */
export interface TestClock {
  now(): Promise<Date>;
  set(to: Date | string): Promise<Date>;
  /** Advances by milliseconds. Expired tokens are removed from the file. */
  advance(milliseconds: number): Promise<Date>;
  /** Returns to the machine's time. */
  reset(): Promise<Date>;
}

/** Faults for the next requests. */
export interface TestFaults {
  set(fault: Omit<DevFault, 'times'> & { readonly times?: number }): Promise<void>;
  list(): Promise<readonly DevFault[]>;
  clear(): Promise<void>;
}

/** The results of a seed file, by the names in the file. */
export interface SeededIds {
  /** Only applications that this start created have a key. */
  readonly apps: { readonly [item: string]: { readonly id: string; readonly key?: string } };
  /** The id; for generated tokens, the ids. */
  readonly tokens: { readonly [item: string]: string | readonly string[] };
}

/** A vault for one test. `stop` removes it. */
export interface TestVault {
  readonly url: string;
  readonly keys: TestKeys;
  /** The ids and keys of the seed files; empty without any. */
  readonly ids: SeededIds;
  /** Calls with the private key. It creates, reads, changes and deletes every token, revealed. */
  readonly client: VaultClient;
  /** Calls with the management key: applications, the tenant, the usage report. */
  readonly management: VaultClient;
  readonly clock: TestClock;
  readonly faults: TestFaults;
  /**
   * Resets the vault to its start: removes later records, frees their ids, keeps the keys, and restores settings, clock
   * and faults.
   */
  reset(): Promise<void>;
  /** Stops the daemon and removes its files. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a vault with an HTTP daemon on a free port of this machine. It holds only what seed files define. Throws a
 * `TypeError` for unknown options. Rejects with all errors of the seed files.
 */
export async function startVault(options: StartOptions = {}): Promise<TestVault> {
  const checked = wholeOptions(options);
  const { headerPrefix } = checked;
  const { url, keys, ids, stop } = await start(checked).catch(inOneMessage);
  const apiKey = keys.management_key;

  async function ask(request: Omit<DevRequest, 'apiKey'>): Promise<Answer> {
    const { status, bodyText } = await sendToDev({ url, headerPrefix }, { ...request, apiKey });
    if (status < 400) return JSON.parse(bodyText ?? '{}');
    const problem = decodeProblem(bodyText);
    const errors = problem?.errors === undefined ? '' : ` ${JSON.stringify(problem.errors)}`;
    throw new Fault('usage', `${request.method} ${request.path}: ${problem?.detail}${errors}`);
  }

  async function clock(method: 'GET' | 'PUT' | 'POST' | 'DELETE', body?: object): Promise<Date> {
    return new Date((await ask({ method, path: '/dev/clock', body })).now);
  }

  return {
    url,
    keys,
    ids: { apps: {}, tokens: {}, ...ids } as SeededIds,
    client: createClient({ url, apiKey: keys.private_key, headerPrefix }),
    management: createClient({ url, apiKey, headerPrefix }),
    clock: {
      now: () => clock('GET'),
      set: (to) => clock('PUT', { now: typeof to === 'string' ? to : to.toISOString() }),
      advance: (milliseconds) => clock('POST', { advance_ms: milliseconds }),
      reset: () => clock('DELETE'),
    },
    faults: {
      set: async (fault) => void (await ask({ method: 'POST', path: '/dev/faults', body: fault })),
      list: async () => (await ask({ method: 'GET', path: '/dev/faults' })).data,
      clear: async () => void (await ask({ method: 'DELETE', path: '/dev/faults' })),
    },
    reset: async () => void (await ask({ method: 'POST', path: '/dev/reset' })),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The replies of the `--dev` paths; each has one of these members. */
interface Answer {
  readonly now: string;
  readonly data: readonly DevFault[];
}

async function start(options: CheckedOptions): Promise<StartedDaemon> {
  if (options.mode === 'child') return (await import('./child-daemon.ts')).startChild(options);
  return (await import('./in-process-daemon.ts')).startInProcess(options);
}

/** Test runners print only an error's message. */
function inOneMessage(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  const hint = error.hint === undefined ? [] : [`hint: ${error.hint}`];
  throw new Fault(error.code, [error.message, ...error.details, ...hint].join('\n'), { cause: error });
}
