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

/**
 * Records what was sent to the vault and what it acknowledged, and compares reads with that. `trusting` counts a write as
 * acknowledged when it is sent.
 */
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
    /**
     * Checks that a token is complete and in the state that was last acknowledged or last sent, and that an
     * unacknowledged batch exists as a whole or not at all.
     */
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
