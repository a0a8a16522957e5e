/** What a token was last said to be: the version that was written into it, or deleted. */
export type State = number | 'deleted';

interface Entry {
  /** What was sent last, and whether it was acknowledged. */
  sent?: State;
  acknowledged?: State;
  touched: boolean;
}

/** What a read found; undefined: there is no such token. */
type Found = { readonly data: unknown; readonly metadata: unknown } | undefined;

/** Keeps what the vault was sent and what it acknowledged, and holds what is read to it. */
export interface Ledger {
  /** A number that no write had before. */
  nextVersion(): number;
  sends(id: string, state: State): void;
  acknowledges(id: string, state: State): void;
  /** A token is what was acknowledged last, or what was sent after that; it is whole either way. */
  finds(id: string, found: Found): void;
  /** The tokens that were written since the last time this was asked. */
  touched(): readonly string[];
  all(): readonly string[];
  violations(): readonly string[];
  figures(): {
    readonly acknowledged: number;
    readonly tokens: number;
    readonly lost: number;
    readonly undone: number;
    readonly half: number;
  };
}

/** `trusting`: takes a write for acknowledged when it is sent. */
export function createLedger(trusting: boolean): Ledger {
  const entries = new Map<string, Entry>();
  const violations: string[] = [];
  let versions = 0;
  let acknowledged = 0;
  const counts = { lost: 0, undone: 0, half: 0 };

  function entryOf(id: string): Entry {
    const known = entries.get(id);
    if (known) return known;
    const fresh: Entry = { touched: true };
    entries.set(id, fresh);
    return fresh;
  }

  function acknowledges(id: string, state: State): void {
    acknowledged++;
    const entry = entryOf(id);
    entry.acknowledged = state;
    entry.touched = true;
  }

  function violates(kind: keyof typeof counts, id: string, found: State | 'half'): void {
    counts[kind]++;
    const { sent, acknowledged: told } = entryOf(id);
    violations.push(`${kind}: ${id} is ${found}, acknowledged ${told}, sent ${sent}`);
  }

  return {
    nextVersion: () => ++versions,
    sends: (id, state) => {
      const entry = entryOf(id);
      entry.sent = state;
      entry.touched = true;
      if (trusting) acknowledges(id, state);
    },
    acknowledges: (id, state) => {
      if (!trusting) acknowledges(id, state);
    },
    finds: (id, found) => {
      const entry = entryOf(id);
      const state = stateOf(found);
      if (state === 'half') return violates('half', id, state);
      // Never acknowledged and not there: it was never created.
      const absent = state === 'deleted' && entry.acknowledged === undefined;
      if (!absent && state !== entry.acknowledged && state !== entry.sent) {
        return violates(entry.acknowledged === 'deleted' ? 'undone' : 'lost', id, state);
      }
      if (trusting && !absent && state !== entry.acknowledged) return violates('lost', id, state);
      // What was under way has come out one way or the other, and stays so.
      if (!absent) entry.acknowledged = state;
      if (!absent) entry.sent = state;
    },
    touched: () => {
      const ids = [...entries].filter(([, entry]) => entry.touched).map(([id]) => id);
      for (const entry of entries.values()) entry.touched = false;
      return ids;
    },
    all: () => [...entries.keys()],
    violations: () => violations,
    figures: () => ({ acknowledged, tokens: entries.size, ...counts }),
  };
}

/** Every write puts its version into three places of a token. */
function stateOf(found: Found): State | 'half' {
  if (!found) return 'deleted';
  const { left, right } = found.data as { readonly left: number; readonly right: number };
  const { version } = found.metadata as { readonly version: string };
  return left === right && String(left) === version ? left : 'half';
}
