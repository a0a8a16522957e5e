import { createClient, type VaultClient } from '../client/create-client.ts';
import { sendToDev } from '../client/dev-remote.ts';
import type { DevFault } from '../contract/dev-paths.ts';
import { Fault } from '../core/fault.ts';
import type { StartedDaemon } from './started-daemon.ts';

export interface StartOptions {
  /** `in-process`: a daemon in this process. `child`: `vault serve --dev`, in a process that ends with this one. */
  readonly mode?: 'in-process' | 'child';
  /** What the header names begin with; `SVC`. */
  readonly headerPrefix?: string;
}

/** The API keys of a vault for tests. */
export interface TestKeys {
  readonly tenant_id: string;
  /** All management permissions. */
  readonly management_key: string;
  /** All token permissions, through a rule on `/` with `reveal`. */
  readonly private_key: string;
}

/** Moves the time of the vault, and of nothing else. Each resolves to the time that it has then. */
export interface TestClock {
  now(): Promise<Date>;
  set(to: Date | string): Promise<Date>;
  /** Milliseconds. What has expired then is gone, and removed from the file. */
  advance(milliseconds: number): Promise<Date>;
  /** Back to the machine's time. */
  reset(): Promise<Date>;
}

/** What goes wrong with the next requests. */
export interface TestFaults {
  set(fault: Omit<DevFault, 'times'> & { readonly times?: number }): Promise<void>;
  list(): Promise<readonly DevFault[]>;
  clear(): Promise<void>;
}

/** A vault of its own for a test, gone when it is stopped. */
export interface TestVault {
  readonly url: string;
  readonly keys: TestKeys;
  /** Calls with the private key: creates, reads, changes and deletes every token, revealed. */
  readonly client: VaultClient;
  /** Calls with the management key: applications, the tenant, the usage report. */
  readonly management: VaultClient;
  readonly clock: TestClock;
  readonly faults: TestFaults;
  /** As it was when it started, with the same keys: tokens and applications are gone, their ids free, settings, clock and faults as at first. */
  reset(): Promise<void>;
  /** Ends the daemon and removes all that it made. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a vault with an HTTP daemon on a free port of this machine, and nothing in it. */
export async function startVault({ mode = 'in-process', headerPrefix = 'SVC' }: StartOptions = {}): Promise<TestVault> {
  const { url, keys, stop } = await start(mode, headerPrefix);
  const apiKey = keys.management_key;

  async function ask(request: Omit<Parameters<typeof sendToDev>[1], 'apiKey'>): Promise<Answer> {
    const { status, bodyText } = await sendToDev({ url, headerPrefix }, { ...request, apiKey });
    const answer: Answer & { readonly detail?: string; readonly errors?: object } = JSON.parse(bodyText ?? '{}');
    if (status < 400) return answer;
    const errors = answer.errors === undefined ? '' : ` ${JSON.stringify(answer.errors)}`;
    throw new Fault('usage', `${request.method} ${request.path}: ${answer.detail}${errors}`);
  }

  async function clock(method: 'GET' | 'PUT' | 'POST' | 'DELETE', body?: object): Promise<Date> {
    return new Date((await ask({ method, path: '/dev/clock', body })).now);
  }

  return {
    url,
    keys,
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

/** What the paths of a `--dev` daemon answer with; each has one of the members. */
interface Answer {
  readonly now: string;
  readonly data: readonly DevFault[];
}

async function start(mode: 'in-process' | 'child', headerPrefix: string): Promise<StartedDaemon> {
  if (mode === 'child') return (await import('./child-daemon.ts')).startChild(headerPrefix);
  return (await import('./in-process-daemon.ts')).startInProcess(headerPrefix);
}
