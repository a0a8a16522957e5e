/**
 * Shows what a stolen file reveals: creates a vault with known content, copies its file and log, and reads them with
 * SQLite but without keys. Writes docs/stolen-file.md or prints it. Exits with 1 when it finds anything that is sealed.
 *
 *   npm run build && node scripts/stolen-file.js [--print]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { ROOT } from './build-output.js';
import { parseFlags } from './parse-flags.js';
import { CONTENT, stealVault } from './stolen-vault.js';

const { values: flags } = parseFlags('stolen-file', 'node scripts/stolen-file.js [--print]', {
  options: { print: { type: 'boolean', default: false } },
});
const PAGE = path.join(ROOT, 'docs', 'stolen-file.md');
/** A sealed value starts with its suite, key id and nonce, and ends with its tag. */
const SUITE = 1;
const SEALED_OVERHEAD = 1 + 4 + 24 + 16;
/** Columns that resemble sealed values. */
const NOT_SEALED = new Set(['slot.bytes']);

/** The meaning of columns whose names do not show it. */
const NOTES = {
  'counter.count': 'commits of the file; tokens of each type and key; tokens that were active in each month',
  'counter.at': 'when a token of the type was last created; when what had expired was last removed',
  'counter.mark': 'random with each commit; a keyed hash of a daemon’s commits',
  'header.mac': 'of the header, keyed',
  'slot.bytes': 'salt and parameters of the key file or passphrase; the master key, wrapped',
  'tenant.details': 'name, settings',
  'tenant_key.wrapped': 'a key of the tenant',
  'application.type': 'management, private, public or expiring',
  'application.key_hash': 'of the API key, keyed',
  'application.details': 'name, permissions, rules',
  'token.id': 'as the client chose it, or a UUID of the time',
  'token.type': 'card, bank, …',
  'token.blinds':
    'blind indexes, 16 bytes each: fingerprint, metadata, search values; the set of containers, or each of them',
  'token.clear': 'type, ids of keys, revision, times, the applications that made and changed it',
  'token.presented': 'metadata, containers, fingerprint, mask, expressions, the masked form',
  'token.full': 'metadata, containers, fingerprint, the value',
  'token_index.blind': 'one blind index of a token, or the name of its set of containers',
  'container_set.container': 'the blind index of a container, or of a level above it',
  'container_set.name': 'which containers some tokens share as a whole',
  'tombstone.mac': 'of the row, keyed',
  'audit.at': 'when something was done: that it was, nobody can hide',
  'audit.sealed': 'who did what to which, and how it ended',
  'audit.link': 'of the entry and the one before it, keyed',
  'counter.clock': 'the latest expiry that passed, the last settled time, a time in doubt; with a MAC',
  'audit_subject.blind': 'of a record that was changed, keyed; behind the time at which a token was made',
  'audit_subject.sequence': 'which entries changed the same record',
  'audit_index.blind':
    'of an application that acted, or a record that was read or tried, keyed; empty: how far this table goes',
  'audit_index.sequence': 'which entries have the same actor, or the same record',
  'reply.application_id': 'who asked for a change with an idempotency key',
  'reply.key_hash': 'of the idempotency key, keyed',
  'reply.request_hash': 'of the request, keyed',
  'reply.sealed': 'the reply; empty once what it shows was removed',
  'reply_subject.blind': 'as in `audit_subject`',
};

const cell = (text) => String(text).replaceAll('|', '\\|');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** Returns a table row for every column, with the values that are readable without a key. */
function columnsOf(database) {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name")
    .pluck()
    .all();
  return tables.flatMap((name) => {
    const rows = database.prepare(`SELECT * FROM ${name}`).all();
    return database.pragma(`table_info(${name})`).map((column, index) => {
      const values = rows.map((row) => row[column.name]).filter((value) => value !== null);
      const note = NOTES[`${name}.${column.name}`] ?? '';
      return [
        index === 0 ? `\`${name}\`` : '',
        index === 0 ? rows.length : '',
        `\`${column.name}\``,
        kindOf(`${name}.${column.name}`, values),
        note,
      ];
    });
  });
}

function kindOf(column, values) {
  if (values.length === 0) return '(none here)';
  if (!values.every((value) => value instanceof Uint8Array)) return `clear: ${typeof values[0]}`;
  if (!NOT_SEALED.has(column) && values.every((bytes) => bytes[0] === SUITE && bytes.length > SEALED_OVERHEAD))
    return '**sealed**';
  const lengths = new Set(values.map((bytes) => bytes.length));
  return lengths.size === 1 ? `${[...lengths][0]} bytes` : 'bytes';
}

const IN_ORDER = 'FROM token ORDER BY created_at, token';
const BY_TYPE = (table) => `(SELECT type || ' × ' || count(*) AS item FROM ${table} GROUP BY type)`;
const SAME_VALUE = `(SELECT group_concat(id, ' = ') AS item FROM (SELECT * FROM token ORDER BY token)
  GROUP BY tenant, substr(blinds, 1, 16) HAVING count(*) > 1)`;
const SHARED_INDEX = `(SELECT DISTINCT item FROM (SELECT group_concat(id, ', ') AS item FROM (SELECT coalesce(s.container, i.blind) AS blind, t.id
  FROM token_index i JOIN token t ON t.token = i.token LEFT JOIN container_set s ON s.tenant = i.tenant AND s.name = i.blind
  ORDER BY t.created_at, t.token) GROUP BY blind HAVING count(*) > 1) ORDER BY item)`;

/** Returns conclusions from the clear columns, with the source and separator of their items. */
const LESSONS = [
  ['Tenants', '(SELECT count(*) AS item FROM tenant)'],
  ['Applications by type (a number for each)', BY_TYPE('application')],
  ['Tokens by type (a number for each)', BY_TYPE('token')],
  ['Ids of tokens, in the order of their creation', `(SELECT id AS item ${IN_ORDER})`],
  ['Ids of deleted tokens, who deleted them and when (to the millisecond)', '(SELECT id AS item FROM tombstone)'],
  [
    'Which application made how many tokens',
    '(SELECT count(*) AS item FROM token GROUP BY substr(clear, 35, 36) ORDER BY item DESC)',
  ],
  ['Tokens that were changed, by whom and when', '(SELECT id AS item FROM token WHERE length(clear) > 70)'],
  [
    'Tokens that end, and when',
    "(SELECT id || ' at ' || datetime(expires_at / 1000, 'unixepoch') AS item FROM token WHERE expires_at IS NOT NULL)",
  ],
  ['Tokens with the same value and type, in one tenant', SAME_VALUE, '; '],
  ['Tokens that share some metadata, search value or container', SHARED_INDEX, '; '],
  [
    'How many blind indexes each token has (its metadata, search values and levels of containers together)',
    `(SELECT t.id || ': ' || count(*) AS item FROM token t JOIN token_index i ON i.token = t.token
      LEFT JOIN container_set s ON s.tenant = i.tenant AND s.name = i.blind GROUP BY t.token ORDER BY t.created_at, t.token)`,
  ],
  ['Size of each value, in steps', `(SELECT id || ': ' || (length(full) - 45) AS item ${IN_ORDER})`],
];

/** Returns the Base64 of a text at each of the three alignments, without characters that depend on its neighbours. */
const inBase64 = (value) =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6));
  });
const formsOf = (value) => {
  const hex = value.toString('hex');
  return [value, Buffer.from(value.toString('utf8'), 'utf16le'), hex, hex.toUpperCase(), ...inBase64(value)];
};

/** Counts the values that the bytes contain in any form. */
const found = (bytes, values) => values.filter((value) => formsOf(value).some((form) => bytes.includes(form))).length;

function pageOf({ columns, lessons, searched, control }) {
  return `# What a stolen file tells

Made by \`node scripts/stolen-file.js\`, and a test holds it to what that finds today: a vault was filled, its daemon was cut
off, and its file and log were taken. What follows was read from them with SQLite and without any key.

## What was put in

One tenant, its management application and two private ones, of which one made these tokens:

${table(
  ['id', 'what'],
  CONTENT.map(([what, { id }]) => [`\`${id}\``, what]),
)}

## What anybody can read

The tables, how many rows each has, and what stands in each column:

${table(['table', 'rows', 'column', 'what stands there', 'of what'], columns)}

Times are to the millisecond, and applications are known by their ids alone. What follows from that:

${table(['what is learned', 'here'], lessons)}

Equality is seen inside one tenant, and not across tenants: each has index keys of its own. What a blind index stands for
cannot be computed, or guessed and tried, without the tenant's key. A size is that of a step: 64 bytes up to 1 KiB, then at
most 12 % above.

## What was not found

Each was looked for in the bytes of file and log: as it is, in UTF-16, in hexadecimal, in Base64 at each alignment.

${table(['what', 'found'], searched)}

As a control the ids of tokens, which are clear, were looked for in the same way: ${control}.

## What follows for whoever uses a vault

- An id is not a secret's place: choose none that says something about a person, or let the vault assign it.
- Types, times, counts and who made what are seen; who must hide those puts the file on an encrypted disk, too.
- The key file beside the file is the whole protection: keep a backup of the file and the key file apart.
- Searching by a value tells which tokens share it: index what is needed, and little that has few values.
`;
}

const stolen = await stealVault();
try {
  // Read the bytes first, since SQLite changes file and log when it opens them.
  const bytes = Buffer.concat(['', '-wal'].map((end) => readFileSync(stolen.file + end)));
  const searched = stolen.secrets.map(({ kind, values }) => ({ kind, hits: found(bytes, values), of: values.length }));
  const ids = CONTENT.map(([, { id }]) => Buffer.from(id));
  const control = found(bytes, ids);
  const database = new Database(stolen.file);
  const page = pageOf({
    columns: columnsOf(database),
    lessons: LESSONS.map(([what, items, separator = ', ']) => {
      const read = database.prepare(`SELECT group_concat(item, '${separator}') FROM ${items}`).pluck();
      return [what, read.get()];
    }),
    searched: searched.map(({ kind, hits, of }) => [kind, `${hits} of ${of}`]),
    control: `${control} of ${ids.length} found`,
  });
  database.close();
  if (flags.print) process.stdout.write(page);
  else writeFileSync(PAGE, page);
  const leaked = searched.filter(({ hits }) => hits > 0).map(({ kind }) => kind);
  if (leaked.length > 0) throw new Error(`found what is sealed: ${leaked.join(', ')}`);
  if (control < ids.length) throw new Error('the control did not find the ids');
} finally {
  stolen.remove();
}
