import { CheckFailure } from './check.ts';
import { inParallel, type Perform, type PerformParts } from './perform.ts';

const DONE = { createToken: 201, updateToken: 200, deleteToken: 204 } as const;

const BATCH = 20;

interface TokenCaller {
  readonly perform: Perform;
  readonly key: string;
}

interface TokenWriter extends TokenCaller {
  readonly expected: ExpectedState;
  readonly random: () => number;
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

/** Changes its own tokens and records acknowledgements. A write answered with 503 may have happened. */
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

/** The state of a token: the version that was written, or `deleted`. */
export type State = number | 'deleted';

interface Entry {
  /** The last state that was sent to the vault. `acknowledged` is the last state that the vault confirmed. */
  sent?: State;
  acknowledged?: State;
  touched: boolean;
  batch?: Batch;
}

/** Tokens that one call creates: all of them or none. */
interface Batch {
  /** Whether the batch was made, as the first read of one of its tokens shows. */
  isMade?: boolean;
}

/** The token that a read returned, or undefined when it was not found. */
type Found = { readonly data: unknown; readonly metadata: unknown } | undefined;

export type ExpectedState = ReturnType<typeof createExpectedState>;

/** Compares reads with what was sent and acknowledged. `trusting` counts a sent write as acknowledged. */
export function createExpectedState(trusting: boolean) {
  const entries = new Map<string, Entry>();
  const violations: string[] = [];
  let versions = 0;
  let acknowledged = 0;
  const counts = { lost: 0, undone: 0, half: 0 };
  const batches: Batch[] = [];

  function entryOf(id: string): Entry {
    const known = entries.get(id);
    if (known) return known;
    const fresh: Entry = { touched: true };
    entries.set(id, fresh);
    return fresh;
  }

  function violates(kind: keyof typeof counts, id: string, found: State | 'half'): void {
    counts[kind]++;
    const { sent, acknowledged: told } = entryOf(id);
    violations.push(`${kind}: ${id} is ${found}, acknowledged ${told}, sent ${sent}`);
  }

  function confirms(ids: readonly string[], state: State): void {
    acknowledged++;
    for (const id of ids) Object.assign(entryOf(id), { acknowledged: state, touched: true });
  }

  function sends(id: string, state: State, batch?: Batch): void {
    Object.assign(entryOf(id), { sent: state, touched: true, ...(batch && { batch }) });
    if (trusting) confirms([id], state);
  }

  return {
    /** Returns a number that no earlier write used. */
    nextVersion: () => ++versions,
    sends: (id: string, state: State) => sends(id, state),
    /** Records that one call was sent that creates these tokens. */
    sendsBatch(ids: readonly string[], state: State): void {
      const batch: Batch = {};
      batches.push(batch);
      for (const id of ids) sends(id, state, batch);
    },
    acknowledges(id: string, state: State): void {
      if (!trusting) confirms([id], state);
    },
    acknowledgesBatch(ids: readonly string[], state: State): void {
      if (!trusting) confirms(ids, state);
    },
    /** Records that the vault refused the last write, which therefore must not happen. */
    refuses(id: string): void {
      const entry = entryOf(id);
      if (entry.acknowledged === undefined) delete entry.sent;
      else entry.sent = entry.acknowledged;
    },
    /** Checks that a token is in its last acknowledged or sent state, and that a batch exists as a whole. */
    finds(id: string, found: Found) {
      const entry = entryOf(id);
      const state = stateOf(found);
      if (state === 'half') return violates('half', id, state);
      if (entry.batch && entry.acknowledged === undefined) {
        entry.batch.isMade ??= state !== 'deleted';
        if (entry.batch.isMade !== (state !== 'deleted')) return violates('half', id, state);
      }
      // An unacknowledged create may never have happened.
      const absent = state === 'deleted' && entry.acknowledged === undefined;
      if (!absent && state !== entry.acknowledged && state !== entry.sent) {
        return violates(entry.acknowledged === 'deleted' ? 'undone' : 'lost', id, state);
      }
      if (trusting && !absent && state !== entry.acknowledged) return violates('lost', id, state);
      // The read shows whether the last write happened, and that must not change later.
      if (!absent) Object.assign(entry, { acknowledged: state, sent: state });
    },
    /** Returns the tokens that were written since the last call. */
    touched(): readonly string[] {
      const ids = [...entries].filter(([, entry]) => entry.touched).map(([id]) => id);
      for (const entry of entries.values()) entry.touched = false;
      return ids;
    },
    all: (): readonly string[] => [...entries.keys()],
    violations: (): readonly string[] => violations,
    figures: () => ({
      acknowledged,
      tokens: entries.size,
      ...counts,
      batches: batches.length,
      /** Batches that were sent and not acknowledged, but made. */
      unanswered_batches: batches.filter(({ isMade }) => isMade === true).length,
    }),
  };
}

/** Returns the version of a token, or `half` when its three copies of the version differ. */
function stateOf(found: Found): State | 'half' {
  if (!found) return 'deleted';
  const { left, right } = found.data as { readonly left: number; readonly right: number };
  const { version } = found.metadata as { readonly version: string };
  return left === right && String(left) === version ? left : 'half';
}
