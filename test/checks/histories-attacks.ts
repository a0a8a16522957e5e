import { linkOf } from '../../src/core/audit/audit-link.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import { byKey, byPosition, positionOf, type VaultRow, type VaultRows } from './histories-rows.ts';
import type { Draw } from './model-fuzz-bodies.ts';

/** Returns altered rows, or undefined without a target. `copies` are earlier ones; the attacker has no key. */
type Attack = (now: VaultRows, copies: readonly VaultRows[], draw: Draw) => VaultRows | undefined;

const kindOf = (key: string) => key.slice(0, key.indexOf(' '));
const idOf = (key: string) => key.slice(key.indexOf(' '));
const all = ({ records }: VaultRows) => [...records.values()];

const withRecords = (now: VaultRows, records: readonly VaultRow[]): VaultRows => ({ ...now, records: byKey(records) });

/** Returns the rows with these entries. Of two entries at one position, the first one stays. */
function withAudit(now: VaultRows, audit: readonly VaultRow[]): VaultRows {
  const positions = new Map(audit.toReversed().map((row) => [row.key, row]));
  return { ...now, audit: [...positions.values()].sort(byPosition) };
}

const without = (rows: readonly VaultRow[], gone: VaultRow) => rows.filter(({ key }) => key !== gone.key);

function put(now: VaultRows, row: VaultRow): VaultRows {
  return withRecords(now, [...without(all(now), row), row]);
}

function movedTo(row: VaultRow, { columns: { sequence } }: VaultRow, by = 0): VaultRow {
  const next = Number(sequence) + by;
  const at = (columns: VaultRow['columns']) => ({ ...columns, sequence: next });
  const key = String(next);
  return { ...row, key, columns: at(row.columns), parts: row.parts.map(([table, part]) => [table, at(part)] as const) };
}

const bytesOf = (value: unknown) => Buffer.from(String(value).slice(2), 'hex');

/** Often links the entries after the first one again, as an attacker can: links need no key. */
function oftenLinked(altered: VaultRows, draw: Draw): VaultRows {
  if (!draw.chance(0.7)) return altered;
  let previous: Uint8Array | undefined;
  let commit: AuditEntry[] = [];
  const audit = altered.audit.map((row) => {
    const { sequence, at, sealed, link } = row.columns;
    if (previous === undefined) {
      previous = bytesOf(link);
      return row;
    }
    commit.push({ sequence: Number(sequence), at: Number(at), sealed: bytesOf(sealed), link: bytesOf(link) });
    if (bytesOf(link).length === 0) return row;
    previous = linkOf(previous, commit);
    commit = [];
    return { ...row, columns: { ...row.columns, link: `\\x${Buffer.from(previous).toString('hex')}` } };
  });
  return { ...altered, audit };
}

/** Draws one of the rows, or returns undefined without any. */
const oneOf = <T>(draw: Draw, rows: readonly T[]) => (rows.length === 0 ? undefined : draw.one(rows));

const changed = (copy: VaultRows, now: VaultRows) =>
  all(copy).filter(({ key, text }) => now.records.get(key)?.text !== text);

/** Returns an attack that restores the records of a copy for which `wanted` is true, and removes the others. */
const restore =
  (wanted: (draw: Draw) => (key: string) => boolean): Attack =>
  (now, copies, draw) => {
    const isWanted = wanted(draw);
    const old = all(draw.one(copies)).filter(({ key }) => isWanted(key));
    return withRecords(now, [...all(now).filter(({ key }) => !isWanted(key)), ...old]);
  };

/** Removes consecutive entries. Usually moves the later ones to their positions. */
function removeEntries(now: VaultRows, count: number, draw: Draw): VaultRows | undefined {
  const first = oneOf(draw, now.audit.slice(1));
  if (first === undefined) return undefined;
  const end = positionOf(first) + count;
  const isRenumbered = draw.chance(0.7);
  const left = now.audit.flatMap((row) => {
    if (positionOf(row) < positionOf(first)) return [row];
    if (positionOf(row) < end) return [];
    return [isRenumbered ? movedTo(row, row, -count) : row];
  });
  return oftenLinked(withAudit(now, left), draw);
}

const KINDS = ['header', 'tenant', 'tenant_key', 'application', 'application_key', 'token', 'tombstone'];

const NAMED: Readonly<Record<string, Attack>> = {
  'row put back': (now, copies, draw) => {
    const row = oneOf(draw, all(draw.one(copies)));
    return row && put(now, row);
  },
  'changed row put back': (now, copies, draw) => {
    const row = oneOf(draw, changed(draw.one(copies), now));
    if (row === undefined) return undefined;
    const restored = put(now, row);
    const tombstone = now.records.get(`tombstone${idOf(row.key)}`);
    if (kindOf(row.key) !== 'token' || tombstone === undefined || draw.chance(0.2)) return restored;
    return withRecords(restored, without(all(restored), tombstone));
  },
  'changed row put back without its index': (now, copies, draw) => {
    const copy = draw.one(copies);
    const row = oneOf(draw, changed(copy, now));
    if (row === undefined) return undefined;
    const old = new Set(copy.audit.map(({ text }) => text));
    const audit = now.audit.map((entry) => (old.has(entry.text) ? entry : { ...entry, parts: [] }));
    return withAudit(put(now, row), audit);
  },
  'row removed': (now, _copies, draw) => {
    const row = oneOf(draw, all(now));
    return row && withRecords(now, without(all(now), row));
  },
  'new row removed': (now, copies, draw) => {
    const old = draw.one(copies);
    const row = oneOf(draw, changed(now, old));
    return row && withRecords(now, without(all(now), row));
  },
  'row moved': (now, _copies, draw) => {
    const rows = all(now).filter(({ columns }) => 'tenant' in columns);
    const tenants = rows.filter(({ table }) => table === 'tenant');
    const [row, to] = [oneOf(draw, rows), oneOf(draw, tenants)];
    if (row === undefined || to === undefined) return undefined;
    const { tenant } = to.columns;
    const key = `${kindOf(row.key)} ${tenant} ${row.key.split(' ').slice(2).join(' ')}`;
    return put(now, { ...row, key, columns: { ...row.columns, tenant }, parts: [] });
  },
  'table put back': restore((draw) => {
    const kind = draw.one(KINDS);
    return (key) => kindOf(key) === kind;
  }),
  'tokens put back': restore(() => (key) => ['token', 'tombstone'].includes(kindOf(key))),
  'header put back': restore(() => (key) => kindOf(key) === 'header'),
  'records put back': restore(() => () => true),
  'end cut': (now, _copies, draw) => {
    const left = now.audit.slice(0, Math.max(1, now.audit.length - 1 - draw.below(4)));
    return withAudit(now, left);
  },
  'end and records cut': (now, copies, draw) => {
    const copy = draw.one(copies);
    const positions = new Set(copy.audit.map(({ key }) => key));
    const common = now.audit.filter(({ key }) => positions.has(key));
    const cut = draw.chance(0.5) ? copy : withAudit(now, common);
    const kept = all(copy).filter(() => !draw.chance(0.03));
    return withRecords(cut, kept);
  },
  'log removed': (now) => withAudit(now, []),
  'entry removed': (now, _copies, draw) => removeEntries(now, 1, draw),
  'entries removed': (now, _copies, draw) => removeEntries(now, 2 + draw.below(4), draw),
  'entries swapped': (now, _copies, draw) => {
    const rows = now.audit.slice(1);
    const [a, b] = [oneOf(draw, rows), oneOf(draw, rows)];
    if (a === undefined || b === undefined || a === b) return undefined;
    return oftenLinked(withAudit(now, [movedTo(a, b), movedTo(b, a), ...now.audit]), draw);
  },
  'entry altered': (now, copies, draw) => {
    const row = oneOf(draw, now.audit);
    const other = oneOf(draw, draw.one(copies).audit);
    if (row === undefined || other === undefined) return undefined;
    const name = draw.one(Object.keys(row.columns).filter((one) => one !== 'sequence'));
    const altered = { ...row, columns: { ...row.columns, [name]: other.columns[name] } };
    return oftenLinked(withAudit(now, [altered, ...now.audit]), draw);
  },
  'entry doubled': (now, copies, draw) => {
    const last = now.audit.at(-1);
    const copied = oneOf(draw, draw.one([now, ...copies]).audit);
    if (last === undefined || copied === undefined) return undefined;
    return withAudit(now, [...now.audit, movedTo({ ...copied, parts: [] }, last, 1)]);
  },
  'pruned entries put back': (now, copies, draw) => {
    const [first] = now.audit;
    const old = draw.one(copies).audit.filter((row) => first === undefined || byPosition(row, first) < 0);
    const isWhole = draw.chance(0.5);
    const restored = old.filter(() => isWhole || draw.chance(0.7));
    return restored.length === 0 ? undefined : withAudit(now, [...now.audit, ...restored]);
  },
  'first entries put back': (now, copies, draw) => {
    const old = draw.one(copies).audit;
    return withAudit(now, [...old.slice(0, 1 + draw.below(3)), ...now.audit]);
  },
  'index rows removed': (now, _copies, draw) => {
    const indexed = now.audit.filter(({ parts }) => parts.length > 0);
    const row = oneOf(draw, indexed);
    return row && withAudit(now, [{ ...row, parts: [] }, ...now.audit]);
  },
};

/** Attacks that are more frequent than others, because few of them change anything. */
const WEIGHTS: Readonly<Record<string, number>> = {
  'changed row put back': 5,
  'changed row put back without its index': 3,
  'new row removed': 3,
};

export const ATTACKS = Object.entries(NAMED).map((named) => [named, WEIGHTS[named[0]] ?? 1] as const);

/** Returns the rows without the difference from `before` to `after`, sometimes except in the records. */
export function undone(now: VaultRows, before: VaultRows, after: VaultRows, draw: Draw): VaultRows {
  const isKept = draw.chance(0.5);
  const isChanged = (key: string) => !isKept && before.records.get(key)?.text !== after.records.get(key)?.text;
  const records = [
    ...all(now).filter(({ key }) => !isChanged(key)),
    ...all(before).filter(({ key }) => isChanged(key)),
  ];
  const texts = (rows: VaultRows) => new Map(rows.audit.map((row) => [row.text, row]));
  const [old, altered] = [texts(before), texts(after)];
  const entries = now.audit
    .filter(({ text }) => !altered.has(text) || old.has(text))
    .map((row) => {
      const whole = old.get(row.text) ?? row;
      return whole.parts.length > row.parts.length ? whole : row;
    });
  return withAudit(withRecords(now, records), [...before.audit.filter(({ text }) => !altered.has(text)), ...entries]);
}

/**
 * Returns the rows of now with the records that an attack put there, once more: calls have changed them since. A sum in
 * which two equal changes cancel each other out then hides what the attack removed.
 */
export function doneAgain(now: VaultRows, before: VaultRows, after: VaultRows): VaultRows {
  const altered = all(after).filter(({ key, text }) => before.records.get(key)?.text !== text);
  const keys = new Set(altered.map(({ key }) => key));
  return withRecords(now, [...all(now).filter(({ key }) => !keys.has(key)), ...altered]);
}
