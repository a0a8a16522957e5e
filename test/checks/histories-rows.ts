/** The columns of a row. Bytes are `\x` and hex, as in the JSON of PostgreSQL. */
export type Columns = Readonly<Record<string, unknown>>;

export type Tables = Readonly<Record<string, readonly Columns[]>>;

/** A record of the vault, or an entry of its audit, with the index rows that belong to it. */
export interface VaultRow {
  readonly table: string;
  /** Names the record in all of its states, or the position of the entry. */
  readonly key: string;
  /** The same text for the same bytes. Leaves out columns that the vault does not seal. */
  readonly text: string;
  readonly columns: Columns;
  /** Its rows in other tables: slots of the header, indexes of a token or an entry. */
  readonly parts: readonly (readonly [table: string, columns: Columns])[];
}

export interface VaultRows {
  /** By key, oldest first. */
  readonly records: ReadonlyMap<string, VaultRow>;
  /** In order of sequences. */
  readonly audit: readonly VaultRow[];
  /** The last sequence that the log index covers, if a row of the index holds it. */
  readonly logged: number | undefined;
}

/** The column that names a record in its tenant, and the columns that may change without a change of the record. */
const RECORDS: Readonly<Record<string, { readonly id: string; readonly unsealed: readonly string[] }>> = {
  header: { id: 'one', unsealed: [] },
  tenant: { id: 'tenant', unsealed: [] },
  tenant_key: { id: 'key_id', unsealed: [] },
  application: { id: 'id', unsealed: ['application', 'key_version'] },
  application_key: { id: 'id', unsealed: ['application_key', 'last_used_day'] },
  token: { id: 'id', unsealed: ['token', 'set_number', 'active_month'] },
  tombstone: { id: 'id', unsealed: [] },
};

const NO_BLIND = '\\x';

/** Returns the table of the records of a row. PostgreSQL keeps the remains of deleted tokens in `token`. */
const kindOf = (table: string, { deleted_at }: Columns) =>
  table === 'token' && typeof deleted_at === 'number' ? 'tombstone' : table;

export const positionOf = ({ columns: { sequence } }: VaultRow): number => Number(sequence);

export function byPosition(a: VaultRow, b: VaultRow): number {
  return positionOf(a) - positionOf(b);
}

/** Returns the records by key. Their order depends on no random id, so that a seed leads to the same choices. */
export function byKey(rows: readonly VaultRow[]): VaultRows['records'] {
  const time = ({ columns: { created_at } }: VaultRow) => Number(created_at);
  const sorted = rows.toSorted((a, b) => time(a) - time(b) || (a.key < b.key ? -1 : 1));
  return new Map(sorted.map((row) => [row.key, row]));
}

/** Groups the rows of all tables by the record or the audit entry to which they belong. */
export function groupRows(tables: Tables): VaultRows {
  const rowsOf = (table: string) => tables[table] ?? [];
  const indexes = Map.groupBy(rowsOf('token_index'), ({ token }) => token);
  const keyOf = ({ sequence }: Columns) => String(sequence);
  const logged = Map.groupBy(rowsOf('audit_index'), keyOf);

  function tokenParts({ tenant, token, set_number }: Columns): VaultRow['parts'] {
    const index = indexes.get(token) ?? [];
    const sets = rowsOf('container_set').filter((set) => {
      if (set['tenant'] !== tenant || set['number'] !== set_number) return false;
      return set_number !== 0 || index.some(({ blind }) => blind === set['name']);
    });
    return [
      ...index.map((row) => ['token_index', row] as const),
      ...sets.map((row) => ['container_set', row] as const),
    ];
  }

  function record(table: string, columns: Columns): VaultRow {
    const kind = kindOf(table, columns);
    const { id, unsealed } = RECORDS[kind] ?? { id: '', unsealed: [] };
    const own = Object.entries(columns).filter(([name]) => !unsealed.includes(name));
    const slots = kind === 'header' ? rowsOf('slot') : [];
    const parts = kind === 'token' ? tokenParts(columns) : slots.map((slot) => ['slot', slot] as const);
    const text = JSON.stringify([own, slots]);
    return { table, key: `${kind} ${columns['tenant'] ?? ''} ${columns[id]}`, text, columns, parts };
  }

  function entry(columns: Columns): VaultRow {
    const key = keyOf(columns);
    const named = (logged.get(key) ?? []).filter(({ blind }) => blind !== NO_BLIND);
    const parts = named.map((row) => ['audit_index', row] as const);
    return { table: 'audit', key, text: JSON.stringify(columns), columns, parts };
  }

  const records = Object.keys(RECORDS).flatMap((table) => rowsOf(table).map((row) => record(table, row)));
  const end = rowsOf('audit_index').find(({ blind }) => blind === NO_BLIND);
  return {
    records: byKey(records),
    audit: rowsOf('audit').map(entry).sort(byPosition),
    logged: end && Number(end['sequence']),
  };
}

/** Returns the rows of all tables. Gives a token a free number if another one has its number. */
export function spreadRows({ records, audit, logged }: VaultRows): Tables {
  const tables: Record<string, Columns[]> = {};
  const add = (table: string, row: Columns) => {
    tables[table] = [...(tables[table] ?? []), row];
  };
  const numbers: Record<string, Set<number>> = { token: new Set(), application: new Set() };
  for (const { table, columns, parts } of [...records.values(), ...audit]) {
    const taken = numbers[table];
    const wanted = Number(columns[table]);
    const number = taken?.has(wanted) ? Math.max(...taken) + 1_000 : wanted;
    taken?.add(number);
    add(table, taken === undefined ? columns : { ...columns, [table]: number });
    for (const [part, row] of parts) add(part, part === 'token_index' ? { ...row, token: number } : row);
  }
  const last = Math.max(0, ...audit.map(positionOf));
  if (logged !== undefined) add('audit_index', { blind: NO_BLIND, sequence: Math.min(logged, last) });
  return tables;
}
