import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';

/** The number of tokens in a transaction: one per connection. */
const GROUP = 32;

const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON',
  'temp_store = MEMORY',
  'foreign_keys = ON',
  'cell_size_check = ON',
  'trusted_schema = OFF',
];

/** The changes of a commit besides its rows, made once per group. */
const COUNTERS = [
  'UPDATE counter SET count = count + @tokens WHERE type > 0',
  'UPDATE counter SET count = count + @tokens WHERE month > 0',
];

/** The tables with rows that tokens refer to, which are copied first. */
const BEFORE = ['tenant', 'counter'];

type Row = Readonly<Record<string, unknown>>;
type TokenRow = Row & { readonly token: number };

/** A token with its index rows and its audit row. */
interface RawToken {
  readonly token: TokenRow;
  readonly entries: readonly Row[];
  readonly audit: Row | undefined;
}

/** Opens an empty copy of a vault's tables in raw SQLite with the same settings. */
export function openRawCopy(from: string, to: string) {
  const target = new Database(to);
  const statements = withVault(from, (source) => {
    for (const name of ['page_size', 'auto_vacuum'])
      target.pragma(`${name} = ${source.pragma(name, { simple: true })}`);
    for (const pragma of PRAGMAS) target.pragma(pragma);
    const schema = source.prepare<[], string>(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    );
    for (const sql of schema.pluck().all()) target.exec(sql);
    const inserting = (table: string, verb = 'INSERT') => {
      const names = source.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
      const values = names.map((name) => `@${name}`);
      return target.prepare<[Row]>(`${verb} INTO ${table} (${names}) VALUES (${values})`);
    };
    return {
      before: BEFORE.map((table) => ({ table, insert: inserting(table, 'INSERT OR REPLACE') })),
      token: inserting('token'),
      token_index: inserting('token_index'),
      audit: inserting('audit'),
    };
  });
  const counters = COUNTERS.map((sql) => target.prepare(sql));
  let lastToken = 0;
  let lastEntry = 0;

  const insertGroup = target.transaction((group: readonly RawToken[]) => {
    for (const { token, entries, audit } of group) {
      statements.token.run(token);
      for (const entry of entries) statements.token_index.run(entry);
      if (audit !== undefined) statements.audit.run(audit);
    }
    for (const counter of counters) counter.run({ tokens: group.length });
  });

  /** Reads the tokens that the copy lacks, each with its index rows and its audit row. */
  function newTokens(): readonly RawToken[] {
    return withVault(from, (source) => {
      for (const { table, insert } of statements.before) {
        for (const row of source.prepare<[], Row>(`SELECT * FROM ${table}`).all()) insert.run(row);
      }
      const index = source.prepare<[number], TokenRow>('SELECT * FROM token_index WHERE token > ?').all(lastToken);
      const entries = Map.groupBy(index, ({ token }) => token);
      const tokens = source
        .prepare<[number], TokenRow>('SELECT * FROM token WHERE token > ? ORDER BY token')
        .all(lastToken);
      const audit = source
        .prepare<[number], Row & { readonly sequence: number }>(
          'SELECT * FROM audit WHERE sequence > ? ORDER BY sequence',
        )
        .all(lastEntry);
      lastToken = tokens.at(-1)?.token ?? lastToken;
      lastEntry = audit.at(-1)?.sequence ?? lastEntry;
      return tokens.map((token, at) => ({
        token,
        entries: entries.get(token.token) ?? [],
        audit: audit[at],
      }));
    });
  }

  return {
    /** Inserts the new tokens; returns their number, the seconds and the processor seconds. */
    catchUp() {
      const tokens = newTokens();
      const usedBefore = process.cpuUsage();
      const started = performance.now();
      for (let at = 0; at < tokens.length; at += GROUP) insertGroup.immediate(tokens.slice(at, at + GROUP));
      const seconds = (performance.now() - started) / 1000;
      const { user, system } = process.cpuUsage(usedBefore);
      return { tokens: tokens.length, seconds, processor: (user + system) / 1e6 };
    },
    close: () => target.close(),
  };
}

/**
 * Reads a file that another process serves. Closes it at once, because an open reader prevents the log from being
 * emptied.
 */
function withVault<T>(file: string, read: (source: Database.Database) => T): T {
  const source = new Database(file, { readonly: true });
  try {
    return read(source);
  } finally {
    source.close();
  }
}

/** Returns the ids of a vault's tokens: all, oldest first, or about `most` from the whole vault. */
export function tokenIds(file: string, most?: number): string[] {
  return withVault(file, (source) => {
    if (most === undefined) return source.prepare<[], string>('SELECT id FROM token ORDER BY token').pluck().all();
    const last = source.prepare<[], number>('SELECT max(token) FROM token').pluck().get() ?? 0;
    const step = Math.max(1, Math.floor(last / most));
    return source.prepare<[number], string>('SELECT id FROM token WHERE token % ? = 0').pluck().all(step);
  });
}

/** Returns a digest of the schema. */
export function schemaName(file: string): string {
  const texts = withVault(file, (source) =>
    source.prepare('SELECT sql FROM sqlite_schema ORDER BY name').pluck().all(),
  );
  return createHash('sha256').update(texts.join(';')).digest('hex').slice(0, 12);
}
