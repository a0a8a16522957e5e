import { CheckFailure } from './check.ts';
import type { ExpectedState, State } from './expected-state.ts';
import { inParallel, type Perform, type PerformParts } from './perform.ts';

const DONE = { createToken: 201, updateToken: 200, deleteToken: 204 } as const;

const BATCH = 20;

export interface TokenCaller {
  readonly perform: Perform;
  readonly key: string;
}

export interface TokenWriter extends TokenCaller {
  readonly expected: ExpectedState;
  readonly random: () => number;
  /** The share of writes that create a batch of tokens. Default: 0. */
  readonly batches?: number;
  readonly longest?: number;
  /** The tokens that it changes and deletes, besides those that it creates. */
  readonly own?: string[];
  /** Ends the writes; without it they end when the daemon is gone. */
  readonly ended?: () => boolean;
  readonly took?: (ms: number) => void;
  /** Is called for each write that is refused with 507. Default: such an answer fails the check. */
  readonly refused?: () => void;
}

/**
 * Creates, updates and deletes its own tokens, and records every acknowledgement. Ends when the daemon is gone. A write
 * that is answered with 503 may have happened.
 */
export async function writeTokens({
  perform,
  key,
  expected,
  random,
  batches = 0,
  own = [],
  longest = 2_000,
  ended,
  took,
  refused,
}: TokenWriter): Promise<void> {
  async function send(id: string, state: State, operation: keyof typeof DONE, parts: PerformParts): Promise<boolean> {
    expected.sends(id, state);
    const sent = performance.now();
    const { status } = await perform(key, operation, parts);
    took?.(performance.now() - sent);
    if (status === DONE[operation]) expected.acknowledges(id, state);
    else if (status === 507 && refused !== undefined) {
      expected.refuses(id);
      refused();
    } else if (status !== 503) throw new CheckFailure(`${operation} was answered ${status}`);
    return status === DONE[operation];
  }

  async function sendBatch(body: object, version: number): Promise<void> {
    const ids = Array.from({ length: BATCH }, (_, n) => `kill-${version}-${n}`);
    expected.sendsBatch(ids, version);
    const { status } = await perform(key, 'tokenize', { body: ids.map((id) => ({ id, type: 'token', ...body })) });
    if (status === 503) return;
    if (status !== 201) throw new CheckFailure(`tokenize was answered ${status}`);
    expected.acknowledgesBatch(ids, version);
    own.push(...ids.slice(0, 1));
  }

  async function next(): Promise<void> {
    const kind = random();
    const id = own[Math.floor(random() * own.length)];
    const version = expected.nextVersion();
    const data = { left: version, right: version, filling: 'x'.repeat(Math.floor(random() * longest)) };
    const body = { data, metadata: { version: String(version) } };
    if (batches > 0 && random() < batches) return sendBatch(body, version);
    if (id === undefined || kind < 0.5) {
      const fresh = `kill-${version}`;
      if (await send(fresh, version, 'createToken', { body: { id: fresh, type: 'token', ...body } })) own.push(fresh);
    } else if (kind < 0.85) {
      await send(id, version, 'updateToken', { id, body });
    } else {
      own.splice(own.indexOf(id), 1);
      await send(id, 'deleted', 'deleteToken', { id });
    }
  }

  while (ended?.() !== true) {
    try {
      await next();
    } catch (error) {
      if (error instanceof Error && error.name === 'Fault') return; // unreachable: the daemon is gone
      throw error;
    }
  }
}

export async function verifyTokens(
  reader: TokenCaller,
  expected: ExpectedState,
  ids: readonly string[],
): Promise<void> {
  await inParallel(ids.length, 16, async (index) => {
    const id = ids[index] ?? '';
    const { status, body } = await reader.perform(reader.key, 'getToken', { id });
    expected.finds(id, status === 200 ? { data: body['data'], metadata: body['metadata'] } : undefined);
  });
}
