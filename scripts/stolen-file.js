/**
 * What a thief learns: makes a vault with known content, takes its file and log, and lists with SQLite and without any key
 * what can be read there. Writes docs/stolen-file.md, or prints it; exits 1 when anything that is sealed is found.
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
/** A sealed value begins with its suite and has a key id, a nonce and a tag around it. */
const SUITE = 1;
const SEALED_OVERHEAD = 1 + 4 + 24 + 16;
/** These begin like sealed values and are none: they say what opens them. */
const NOT_SEALED = new Set(['slot.bytes']);

/** What columns mean, for those whose name does not say it. */
const NOTES = {
  'change.counter': 'one more with each commit',
  'change.mark': 'random with each commit',
  'header.mac': 'of the header, keyed',
  'slot.bytes': 'salt and parameters of the key file or passphrase; the master key, wrapped',
  'tenant.details': 'name, settings',
  'tenant_key.wrapped': 'a key of the tenant',
  'application.type': 'management, private, public or expiring',
  'application.key_hash': 'of the API key, keyed',
  'application.details': 'name, permissions, rules',
  'token.id': 'as the client chose it, or a UUID of the time',
  'token.type': 'card, bank, …',
  'token.blinds': 'blind indexes, 16 bytes each: fingerprint, metadata, search values, containers',
  'token.details': 'metadata, containers, fingerprint',
  'token.masked': 'the masked form',
  'token.definition': 'mask, search indexes, fingerprint expression',
  'token.data': 'the value',
  'token_index.blind': 'one blind index of a token',
  'tombstone.mac': 'of the row, keyed',
  'audit.at': 'when something was done: that it was, nobody can hide',
  'audit.sealed': 'who did what to which, and how it ended',
  'audit.link': 'of the entry and the one before it, keyed',
  'change.expired_at': 'the last end of a token that has passed',
};

const cell = (text) => String(text).replaceAll('|', '\\|');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** Every column, and what stands in it without a key. */
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

/** What follows from the clear columns, each with the statement that shows it. */
const LESSONS = [
  ['Tenants', 'SELECT count(*) FROM tenant'],
  [
    'Applications by type (a number for each)',
    "SELECT group_concat(type || ' × ' || n, ', ') FROM (SELECT type, count(*) AS n FROM application GROUP BY type)",
  ],
  [
    'Tokens by type (a number for each)',
    "SELECT group_concat(type || ' × ' || n, ', ') FROM (SELECT type, count(*) AS n FROM token GROUP BY type)",
  ],
  [
    'Ids of tokens, in the order of their creation',
    "SELECT group_concat(id, ', ') FROM (SELECT id FROM token ORDER BY created_at, token)",
  ],
  [
    'Ids of deleted tokens, who deleted them and when (to the millisecond)',
    "SELECT group_concat(id, ', ') FROM tombstone",
  ],
  [
    'Which application made how many tokens',
    "SELECT group_concat(n, ', ') FROM (SELECT count(*) AS n FROM token GROUP BY created_by ORDER BY n DESC)",
  ],
  [
    'Tokens that were changed, by whom and when',
    "SELECT group_concat(id, ', ') FROM token WHERE modified_at IS NOT NULL",
  ],
  [
    'Tokens that end, and when',
    "SELECT group_concat(id || ' at ' || datetime(expires_at / 1000, 'unixepoch'), ', ') FROM token WHERE expires_at IS NOT NULL",
  ],
  [
    'Tokens with the same value and type, in one tenant',
    "SELECT group_concat(ids, '; ') FROM (SELECT group_concat(id, ' = ') AS ids FROM (SELECT * FROM token ORDER BY token) GROUP BY tenant, substr(blinds, 1, 16) HAVING count(*) > 1)",
  ],
  [
    'Tokens that share some metadata, search value or container',
    "SELECT group_concat(ids, '; ') FROM (SELECT DISTINCT ids FROM (SELECT group_concat(id, ', ') AS ids FROM (SELECT i.blind, t.id FROM token_index i JOIN token t ON t.token = i.token ORDER BY t.created_at, t.token) GROUP BY blind HAVING count(*) > 1) ORDER BY ids)",
  ],
  [
    'How many blind indexes each token has (its metadata, search values and levels of containers together)',
    "SELECT group_concat(id || ': ' || (length(blinds) / 16), ', ') FROM (SELECT id, blinds FROM token ORDER BY created_at, token)",
  ],
  [
    'Size of each value, in steps',
    "SELECT group_concat(id || ': ' || (length(data) - 45), ', ') FROM (SELECT id, data FROM token ORDER BY created_at, token)",
  ],
];

const inBase64 = (value) =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
    return Buffer.from(text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6)));
  });
const FORMS = [
  (value) => [value],
  (value) => [Buffer.from(value.toString('utf8'), 'utf16le')],
  (value) => [Buffer.from(value.toString('hex')), Buffer.from(value.toString('hex').toUpperCase())],
  inBase64,
];

/** How many of the values stand in the bytes, in any form. */
const found = (bytes, values) =>
  values.filter((value) => FORMS.some((forms) => forms(value).some((form) => bytes.includes(form)))).length;

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
  // Its bytes before SQLite opens it: to open a file with a log changes both.
  const bytes = Buffer.concat(['', '-wal'].map((end) => readFileSync(stolen.file + end)));
  const searched = stolen.secrets.map(({ kind, values }) => [kind, `${found(bytes, values)} of ${values.length}`]);
  const ids = CONTENT.map(([, { id }]) => Buffer.from(id));
  const control = found(bytes, ids);
  const database = new Database(stolen.file);
  const lessons = LESSONS.map(([what, sql]) => [what, database.prepare(sql).pluck().get()]);
  const page = pageOf({
    columns: columnsOf(database),
    lessons,
    searched,
    control: `${control} of ${ids.length} found`,
  });
  database.close();
  if (flags.print) process.stdout.write(page);
  else writeFileSync(PAGE, page);
  const leaked = stolen.secrets.some(({ values }) => found(bytes, values) > 0);
  if (leaked || control < ids.length) {
    process.stderr.write(
      leaked ? 'stolen-file: something that is sealed was found\n' : 'stolen-file: the search finds nothing\n',
    );
    process.exitCode = 1;
  }
} finally {
  stolen.remove();
}
