import { byPosition, type VaultRow, type VaultRows } from './histories-rows.ts';

/** The state of a record: a number for each content that the vault wrote, or 0 without a row. */
type Version = number;
const NONE: Version = 0;

/** The change of a record, or the removal of all records whose keys have the prefix. */
type Effect = { readonly key: string; readonly before: Version; readonly after: Version } | { readonly prefix: string };

interface Step {
  readonly entries: readonly string[];
  readonly effects: readonly Effect[];
}

interface WrittenEntry {
  readonly order: number;
  readonly previous: string | undefined;
  readonly step: Step;
}

interface WrongRecord {
  readonly key: string;
  readonly is: 'missing' | 'unexpected' | 'other';
}

/**
 * Whether an honest history with exactly these entries ends in exactly these records. `unclear`: the entries end within
 * those of one call, so that its changes may be there or not.
 */
export interface Judgement {
  readonly is: 'sound' | 'unclear' | 'broken';
  /** The first entry that was not written after the one before it. */
  readonly entry?: string;
  /** Whether `entry` and all that follow it were written by the last call, so that no other entry names them. */
  readonly isUnwitnessed?: boolean;
  /** The records that a call changed or removed although they were not as the entries before had left them. */
  readonly changes: readonly { readonly key: string; readonly is: 'changed' | 'removed' }[];
  readonly records: readonly WrongRecord[];
}

/**
 * Follows a vault from outside: which entries the product wrote after which, and which records it changed with them.
 * Compares bytes only, so that it depends neither on keys nor on links and digests.
 */
export function createShadow(first: VaultRows) {
  const versions = new Map<string, Version>();
  const written = new Map<string, WrittenEntry>();
  /** The entries that the bases of prunes replaced. */
  const replaced = new Map<string, string>();
  /** The last entry that the product wrote at a position. */
  const lastAt = new Map<string, string>();
  /** The entries by their sealed bytes, which an attacker cannot change. */
  const bySeal = new Map<unknown, WrittenEntry>();

  function versionOf(row: VaultRow | undefined): Version {
    if (row === undefined) return NONE;
    const version = versions.get(row.text) ?? versions.size + 1;
    versions.set(row.text, version);
    return version;
  }

  /** Returns the effect of a call on a record, or undefined without one. */
  function effectOn(key: string, old: VaultRow | undefined, now: VaultRow | undefined): Effect | undefined {
    if (old?.text === now?.text) return undefined;
    if (old !== undefined && now !== undefined && isResealed(old, now)) {
      versions.set(now.text, versionOf(old));
      return undefined;
    }
    return { key, before: versionOf(old), after: versionOf(now) };
  }

  function effectsOf(before: VaultRows, after: VaultRows, resetOf: string | undefined): readonly Effect[] {
    const prefixes = resetOf === undefined ? [] : [`token ${resetOf} `, `tombstone ${resetOf} `];
    for (const key of before.records.keys()) {
      if (!key.startsWith('tenant ') || after.records.has(key)) continue;
      const tenant = before.records.get(key)?.columns['tenant'];
      for (const kind of ['tenant', 'tenant_key', 'application', 'application_key', 'token', 'tombstone'])
        prefixes.push(`${kind} ${tenant} `);
    }
    const effects: Effect[] = prefixes.map((prefix) => ({ prefix }));
    for (const key of new Set([...before.records.keys(), ...after.records.keys()])) {
      const effect = effectOn(key, before.records.get(key), after.records.get(key));
      if (effect !== undefined && !prefixes.some((prefix) => key.startsWith(prefix))) effects.push(effect);
    }
    return effects;
  }

  /** Records a call; `resetOf` is a tenant that it emptied. Returns whether records changed without an entry. */
  function observe(before: VaultRows, after: VaultRows, resetOf?: string): boolean {
    const known = new Set(before.audit.map(({ text }) => text));
    const kept = new Set(after.audit.map(({ text }) => text));
    const removed = before.audit.filter(({ text }) => !kept.has(text));
    const entries = after.audit.filter(({ text }) => !known.has(text));
    const step = { entries: entries.map(({ text }) => text), effects: effectsOf(before, after, resetOf) };
    const all = [...removed, ...after.audit].sort(byPosition);
    for (const [at, entry] of all.entries()) {
      const last = all[at - 1];
      if (known.has(entry.text)) continue;
      const previous = last && writtenAs(last);
      const own = previous === undefined ? undefined : written.get(previous);
      if (previous !== undefined && own !== undefined && last?.key === entry.key) {
        replaced.set(entry.text, previous);
        bySeal.set(entry.columns['sealed'], own);
        continue;
      }
      const made = { order: written.size, previous, step };
      written.set(entry.text, made);
      bySeal.set(entry.columns['sealed'], made);
      lastAt.set(entry.key, entry.text);
    }
    return step.entries.length === 0 && step.effects.length > 0;
  }

  /** Returns the entry that a row is, or that it replaces as a base. An altered row stands for the one at its position. */
  function writtenAs({ text, key }: VaultRow): string | undefined {
    return replaced.get(text) ?? (written.has(text) ? text : lastAt.get(key));
  }

  /** Returns the first entry that was not written after the one before it. A log begins with its first row or a base. */
  function wrongEntry(rows: readonly VaultRow[]): string | undefined {
    if (rows.length === 0) return 'none';
    return rows.find(({ text }, at) => {
      const before = rows[at - 1];
      if (before === undefined) return !replaced.has(text) && written.get(text)?.previous !== undefined;
      return written.get(text)?.previous !== (replaced.get(before.text) ?? before.text);
    })?.key;
  }

  /** Returns whether only entries of one call are not the ones that were written after those before them. */
  function isUnwitnessed(rows: readonly VaultRow[]): boolean {
    const made = rows.map(({ columns }) => bySeal.get(columns['sealed']));
    const at = made.findIndex((one, n) => n > 0 && one?.order !== (made[n - 1]?.order ?? 0) + 1);
    const missing = [...bySeal.values()].find(({ order }) => order === (made[at - 1]?.order ?? 0) + 1);
    return at > 0 && missing !== undefined && made.slice(at).every((one) => one?.step === missing.step);
  }

  /** Returns the entries of the honest history that ends with these: these and those that prunes have removed. */
  function historyOf(audit: readonly VaultRow[]): ReadonlySet<string> {
    const history = new Set<string>();
    const last = audit.at(-1);
    for (let one = last && writtenAs(last); one !== undefined; one = written.get(one)?.previous) history.add(one);
    return history;
  }

  function judge({ audit, records }: VaultRows): Judgement {
    const entry = wrongEntry(audit);
    if (entry !== undefined)
      return { is: 'broken', entry, isUnwitnessed: isUnwitnessed(audit), changes: [], records: [] };
    const history = historyOf(audit);
    const steps = new Set([...history].sort(inOrder(written)).flatMap((text) => written.get(text)?.step ?? []));
    const states = new Map<string, ReadonlySet<Version>>();
    const changes: Judgement['changes'][number][] = [];
    for (const { entries: own, effects } of steps) {
      const isWhole = own.every((text) => history.has(text));
      const set = (key: string, before: ReadonlySet<Version>, after: Version) =>
        states.set(key, new Set(isWhole ? [after] : [...before, after]));
      for (const effect of effects) {
        if ('prefix' in effect) {
          for (const [key, versions] of states) if (key.startsWith(effect.prefix)) set(key, versions, NONE);
          continue;
        }
        const before = states.get(effect.key) ?? new Set([NONE]);
        if (!before.has(effect.before)) {
          changes.push({ key: effect.key, is: effect.after === NONE ? 'removed' : 'changed' });
        }
        set(effect.key, before, effect.after);
      }
    }
    const wrong: WrongRecord[] = [];
    let isUnclear = false;
    for (const key of new Set([...states.keys(), ...records.keys()])) {
      const expected = states.get(key) ?? new Set([NONE]);
      isUnclear ||= expected.size > 1;
      const row = records.get(key);
      if (expected.has(versionOf(row))) continue;
      const is = row === undefined ? 'missing' : expected.has(NONE) ? 'unexpected' : 'other';
      wrong.push({ key, is });
    }
    const isBroken = changes.length > 0 || wrong.length > 0;
    return { is: isBroken ? 'broken' : isUnclear ? 'unclear' : 'sound', changes, records: wrong };
  }

  observe({ records: new Map(), audit: [], logged: undefined }, first);
  return { observe, judge };
}

/** Returns whether a row is the other one under newer keys: this keeps the revision, or the id of a key. */
function isResealed(old: VaultRow, now: VaultRow): boolean {
  return old.table !== 'header' && old.columns['revision'] === now.columns['revision'];
}

const inOrder = (written: ReadonlyMap<string, { readonly order: number }>) => (a: string, b: string) =>
  (written.get(a)?.order ?? 0) - (written.get(b)?.order ?? 0);
