import Database from 'better-sqlite3';

const GROUP = 32;
const MOST_TOKENS = 20_000;

const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON',
  'temp_store = MEMORY',
  'foreign_keys = ON',
  'cell_size_check = ON',
  'trusted_schema = OFF',
];

/**
 * How many tokens a second SQLite takes when it is given the rows of a vault as they stand: the same tables, indexes and
 * settings, the same index and audit rows, 32 tokens a transaction.
 */
export function rawInsertRate(from, to) {
  const source = new Database(from, { readonly: true });
  const target = new Database(to);
  try {
    for (const pragma of PRAGMAS) target.pragma(pragma);
    const schema = source.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'");
    for (const { sql } of schema.all()) target.exec(sql);
    const copy = (table) => {
      const names = source.pragma(`table_info(${table})`).map(({ name }) => name);
      return target.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `@${name}`)})`);
    };
    for (const table of ['tenant', 'change', 'token_count']) {
      const insert = copy(table);
      for (const row of source.prepare(`SELECT * FROM ${table}`).all()) insert.run(row);
    }
    const tokens = source.prepare('SELECT * FROM token ORDER BY token LIMIT ?').all(MOST_TOKENS);
    const indexOf = source.prepare(
      'SELECT * FROM token_index WHERE tenant = @tenant AND token = @token AND blind = @blind',
    );
    const entries = tokens.map((row) => {
      const blinds = Array.from({ length: row.blinds.length / 16 }, (_, at) =>
        row.blinds.subarray(at * 16, at * 16 + 16),
      );
      return blinds.flatMap((blind) => indexOf.all({ tenant: row.tenant, token: row.token, blind }));
    });
    const audit = source.prepare('SELECT * FROM audit ORDER BY sequence LIMIT ?').all(tokens.length);
    const [token, index, entry] = ['token', 'token_index', 'audit'].map(copy);
    const count = target.prepare('UPDATE token_count SET live = live + 1');
    const change = target.prepare('UPDATE change SET counter = counter + 1, mark = randomblob(16)');
    const group = target.transaction((start) => {
      for (let at = start; at < Math.min(start + GROUP, tokens.length); at++) {
        token.run(tokens[at]);
        for (const row of entries[at]) index.run(row);
        entry.run(audit[at]);
        count.run();
      }
      change.run();
    });
    const started = performance.now();
    for (let start = 0; start < tokens.length; start += GROUP) group.immediate(start);
    return Math.round(tokens.length / ((performance.now() - started) / 1000));
  } finally {
    source.close();
    target.close();
  }
}
