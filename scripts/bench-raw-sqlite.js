import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';

/** Tokens a transaction: as many as 32 connections, or an import, can have under way at once. */
export const GROUP = 32;

const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON',
  'temp_store = MEMORY',
  'foreign_keys = ON',
  'cell_size_check = ON',
  'trusted_schema = OFF',
];

/** What a commit of the vault changes besides the rows that it adds: here once a group, the least that keeps them right. */
const COUNTERS = [
  'UPDATE token_count SET live = live + @tokens',
  'UPDATE active_count SET tokens = tokens + @tokens',
  'UPDATE change SET counter = counter + @tokens, mark = randomblob(16)',
];

/** Rows that stand in a vault before its first token, and that the tokens' rows refer to. */
const BEFORE = ['tenant', 'change', 'token_count', 'active_count'];

/** A copy of a vault's tables in a file of its own, without the vault: raw SQLite with the same settings. */
export function openRawCopy(from, to) {
  const target = new Database(to);
  const statements = withVault(from, (source) => {
    for (const name of ['page_size', 'auto_vacuum'])
      target.pragma(`${name} = ${source.pragma(name, { simple: true })}`);
    for (const pragma of PRAGMAS) target.pragma(pragma);
    const schema = source.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'");
    for (const { sql } of schema.all()) target.exec(sql);
    return Object.fromEntries(
      [...BEFORE, 'token', 'token_index', 'audit'].map((table) => {
        const names = source.pragma(`table_info(${table})`).map(({ name }) => name);
        const values = names.map((name) => `@${name}`);
        const verb = BEFORE.includes(table) ? 'INSERT OR REPLACE' : 'INSERT';
        return [table, target.prepare(`${verb} INTO ${table} (${names}) VALUES (${values})`)];
      }),
    );
  });
  const counters = COUNTERS.map((sql) => target.prepare(sql));
  let lastToken = 0;
  let lastEntry = 0;

  const insertGroup = target.transaction((group) => {
    for (const { token, entries, audit } of group) {
      statements.token.run(token);
      for (const entry of entries) statements.token_index.run(entry);
      if (audit !== undefined) statements.audit.run(audit);
    }
    for (const counter of counters) counter.run({ tokens: group.length });
  });

  /** One transaction for all of them. */
  function insert(tokens) {
    insertGroup.immediate(tokens);
  }

  /** The tokens that the vault has and the copy has not: each with its index rows and one row of the audit. */
  function newTokens() {
    return withVault(from, (source) => {
      for (const table of BEFORE) {
        for (const row of source.prepare(`SELECT * FROM ${table}`).all()) statements[table].run(row);
      }
      const entries = new Map();
      for (const entry of source.prepare('SELECT * FROM token_index WHERE token > ?').iterate(lastToken)) {
        const known = entries.get(entry.token);
        if (known === undefined) entries.set(entry.token, [entry]);
        else known.push(entry);
      }
      const tokens = source.prepare('SELECT * FROM token WHERE token > ? ORDER BY token').all(lastToken);
      const audit = source.prepare('SELECT * FROM audit WHERE sequence > ? ORDER BY sequence').all(lastEntry);
      lastToken = tokens.at(-1)?.token ?? lastToken;
      lastEntry = audit.at(-1)?.sequence ?? lastEntry;
      return tokens.map((token, at) => ({ token, entries: entries.get(token.token) ?? [], audit: audit[at] }));
    });
  }

  return {
    newTokens,
    insert,
    /** Inserts what is new, `GROUP` tokens a transaction. Answers how many, and in how many seconds and of the processor. */
    catchUp() {
      const tokens = newTokens();
      const usedBefore = process.cpuUsage();
      const started = performance.now();
      for (let at = 0; at < tokens.length; at += GROUP) insert(tokens.slice(at, at + GROUP));
      const seconds = (performance.now() - started) / 1000;
      const { user, system } = process.cpuUsage(usedBefore);
      return { tokens: tokens.length, seconds, processor: (user + system) / 1e6 };
    },
    close: () => target.close(),
  };
}

/** Another process serves the file: a reader comes and goes, so that it keeps no log from being emptied. */
function withVault(file, read) {
  const source = new Database(file, { readonly: true });
  try {
    return read(source);
  } finally {
    source.close();
  }
}

/** The ids of a vault's tokens: all, oldest first, or about `most` of them, from everywhere. */
export function tokenIds(file, most) {
  return withVault(file, (source) => {
    if (most === undefined) return source.prepare('SELECT id FROM token ORDER BY token').pluck().all();
    const step = Math.max(1, Math.floor(source.prepare('SELECT max(token) FROM token').pluck().get() / most));
    return source.prepare('SELECT id FROM token WHERE token % ? = 0').pluck().all(step);
  });
}

/** A name for what the tables of a vault look like. */
export function schemaName(file) {
  const texts = withVault(file, (source) =>
    source.prepare('SELECT sql FROM sqlite_schema ORDER BY name').pluck().all(),
  );
  return createHash('sha256').update(texts.join(';')).digest('hex').slice(0, 12);
}
