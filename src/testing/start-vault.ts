/// <reference lib="esnext.disposable" preserve="true" />

import { stepForward } from '../cli/commands/dev/step-forward.ts';
import { typedClient, type VaultClient } from '../client/create-client.ts';
import { decodeProblem } from '../client/decode-problem.ts';
import { remoteClient, sendToDev } from '../client/remote.ts';
import type { DevFault, DevKeys, DevRequest } from '../contract/dev-paths.ts';
import { Fault } from '../core/fault.ts';
import { MachineDate } from '../core/timers.ts';
import { type CheckedOptions, type StartedDaemon, type StartOptions, wholeOptions } from './start-options.ts';

export type { DevKeys as TestKeys, StartOptions };

/** Moves the clock of the vault, but not that of the machine. Each method resolves to the vault's new time. */
export interface TestClock {
  now(): Promise<Date>;
  /** A number is in milliseconds since 1970, as of `Date.now()`. */
  set(to: Date | string | number): Promise<Date>;
  /**
   * Advances the clock by milliseconds, or by a duration such as `25h` as `vault dev clock advance` does. Removes tokens
   * that have then expired from the file.
   */
  advance(by: number | string): Promise<Date>;
  /** Sets the clock to the machine's time. */
  reset(): Promise<Date>;
}

/** Sets faults for the next requests. */
export interface TestFaults {
  set(fault: Omit<DevFault, 'times'> & { readonly times?: number }): Promise<void>;
  list(): Promise<readonly DevFault[]>;
  clear(): Promise<void>;
}

/** The ids and keys that the seed files define, by the names in the files. */
export interface SeededIds {
  /** Only applications that this start created have a key. */
  readonly apps: { readonly [item: string]: { readonly id: string; readonly key?: string } };
  /** The id of a token, or the ids of the tokens of a generated item. */
  readonly tokens: { readonly [item: string]: string | readonly string[] };
}

/** A vault for one test. `stop` removes it. */
export interface TestVault {
  readonly url: string;
  readonly keys: DevKeys;
  /** The ids and keys of the seeded records; empty without seed files. */
  readonly ids: SeededIds;
  /** The client with the private key, which may create, change and delete every token, and read it in clear. */
  readonly client: VaultClient;
  /** The client with the management key, which manages applications and the tenant, and reads the usage report. */
  readonly management: VaultClient;
  readonly clock: TestClock;
  readonly faults: TestFaults;
  /**
   * Restores the vault's state at its start: removes later records, frees their ids, and restores settings, clock and
   * faults. The API keys stay valid.
   */
  reset(): Promise<void>;
  /** Stops the daemon and removes its files. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a new vault with an HTTP daemon on a free port of this machine. The vault contains only the records of the
 * seed files. Rejects with a `TypeError` for wrong options, and with one error that lists all errors of the seed files.
 */
export async function startVault(options: StartOptions = {}): Promise<TestVault> {
  const checked = wholeOptions(options);
  const { headerPrefix } = checked;
  const { url, keys, ids, stop } = await start(checked).catch(inOneMessage);
  const apiKey = keys.management_key;
  // Not `fetch`, which a test may have replaced.
  const { call } = remoteClient({ url, headerPrefix });

  async function ask(request: Omit<DevRequest, 'apiKey'>): Promise<Answer> {
    const { status, bodyText } = await sendToDev({ url, headerPrefix }, { ...request, apiKey });
    if (status < 400) return JSON.parse(bodyText ?? '{}');
    const problem = decodeProblem(bodyText);
    const errors = problem?.errors === undefined ? '' : ` ${JSON.stringify(problem.errors)}`;
    throw new Fault('usage', `${request.method} ${request.path}: ${problem?.detail}${errors}`);
  }

  async function clock(method: 'GET' | 'PUT' | 'POST' | 'DELETE', body?: object): Promise<Date> {
    return new MachineDate((await ask({ method, path: '/dev/clock', body })).now);
  }

  return {
    url,
    keys,
    ids: { apps: {}, tokens: {}, ...ids } as SeededIds,
    client: typedClient({ apiKey: keys.private_key }, call),
    management: typedClient({ apiKey }, call),
    clock: {
      now: () => clock('GET'),
      set: (to) => clock('PUT', { now: typeof to === 'string' ? to : new MachineDate(to).toISOString() }),
      advance: async (by) =>
        clock('POST', { advance_ms: typeof by === 'string' ? stepForward('the duration', by) : by }),
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

/** The body of a reply of the `--dev` paths. A reply has only one of these members. */
interface Answer {
  readonly now: string;
  readonly data: readonly DevFault[];
}

async function start(options: CheckedOptions): Promise<StartedDaemon> {
  if (options.mode === 'child') return (await import('./child-daemon.ts')).startChild(options);
  return (await import('./in-process-daemon.ts')).startInProcess(options);
}

/** Throws the error with its details and hint in the message, because test runners print only the message. */
function inOneMessage(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  const hint = error.hint === undefined ? [] : [`hint: ${error.hint}`];
  throw new Fault(error.code, [error.message, ...error.details, ...hint].join('\n'), { cause: error });
}
