/**
 * Shows what a stolen file reveals: creates a vault with known content, copies its file and log, and reads them with
 * SQLite but without keys. Writes docs/stolen-file.md or prints it. Exits with 1 when it finds a sealed value.
 *
 *   npm run build && node scripts/stolen-file.ts [--print]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { ROOT } from './build-output.ts';
import { parseFlags } from './parse-flags.ts';
import { CONTENT, stealVault } from './stolen-vault.ts';

const { values: flags } = parseFlags('stolen-file', 'node scripts/stolen-file.ts [--print]', {
  options: { print: { type: 'boolean', default: false } },
});
const PAGE = path.join(ROOT, 'docs', 'stolen-file.md');
/** A sealed value starts with its suite, key id and nonce, and ends with its tag. */
const SUITE = 1;
const SEALED_OVERHEAD = 1 + 4 + 24 + 16;
/** Unsealed columns whose values resemble sealed ones. */
const NOT_SEALED = new Set(['slot.bytes']);
/** Sealed bytes are random, so they contain no text of this length. */
const TEXT = /[ -~]{24}/;
const UUID_COLUMN = /\.(?:\w+_)?(?:id|by)$/;
const UUID_BYTES = 16;

/** The meaning of columns whose names do not show it. */
const NOTES: Readonly<Record<string, string>> = {
  'counter.count': 'tokens of each type and key; tokens active in each month',
  'counter.at': 'last creation of a token of the type; last removal of expired records',
  'header.mac': 'keyed hash of the header',
  'slot.bytes': 'salt and parameters of the key file or passphrase; the wrapped master key; the label',
  'tenant.details': 'name, settings',
  'tenant_key.wrapped': 'a wrapped key of the tenant',
  'application.type': 'management, private, public or expiring',
  'application.key_version': 'number of API keys that it has had',
  'application.parent_key_id': 'the API key that created an expiring application',
  'application.details': 'name, permissions, rules',
  'application_key.hash': 'keyed hash of the API key',
  'application_key.version': 'number of the key in its application',
  'application_key.last_used_day': 'days from 1970 to the last use; 0 before the first',
  'application_key.seal': 'the revision of its application when it was made',
  'token.id': 'chosen by the client, or a UUID that contains the time',
  'token.type': 'card, bank, …',
  'token.blinds':
    'blind indexes, 16 bytes each: fingerprint, metadata values, search values. If `set_number` is 0, also the set of containers, or each container',
  'token.set_number': 'the number of the container set, or 0',
  'token.clear': 'type, key ids, revision, times, the UUIDs of the applications that created and changed the token',
  'token.presented':
    'metadata, containers, fingerprint, blind indexes of search values, mask, expressions, the masked form',
  'token.full': 'metadata, containers, fingerprint, blind indexes of search values, the value',
  'token_index.blind': 'one blind index of a token, or the name of a container set',
  'token_index.set_number': 'the `set_number` of the token',
  'container_set.container': 'the blind index of a container or of one of its parents',
  'container_set.name': 'a set of containers that some tokens share',
  'container_set.number': 'the number of the set; 0 beyond the first 15 of a tenant',
  'tombstone.mac': 'keyed hash of the row',
  'audit.at': 'the time of the entry',
  'audit.sealed': 'the caller, the action, the records and the result; in the first row the sums of the records',
  'audit.link': 'SHA-256 over the rows of a commit and the link before it; empty in a row that is not its last',
  'counter.clock': 'the latest expiry that passed, the last settled time, a time in doubt, the last backup; with a MAC',
  'audit_index.blind':
    'keyed hash of the calling application or of a record; empty in the row that stores the last indexed entry',
  'audit_index.sequence': 'the entries with the same caller or record',
  'reply.application_id': 'the application that used an idempotency key',
  'reply.key_hash': 'keyed hash of the idempotency key',
  'reply.request_hash': 'keyed hash of the request',
  'reply.sealed': 'the status and the ids of the reply; an API key that it shows',
};

type Row = readonly unknown[];

const cell = (text: unknown) => String(text).replaceAll('|', '\\|');
const table = (head: Row, rows: readonly Row[]) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** Returns a table row for every column, with the values that are readable without a key. */
function columnsOf(database: Database.Database): readonly Row[] {
  const tables = database
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name",
    )
    .pluck()
    .all();
  return tables.flatMap((name) => {
    const rows = database.prepare<[], Readonly<Record<string, unknown>>>(`SELECT * FROM ${name}`).all();
    const names = database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(name);
    return names.map((column, index) => {
      const values = rows.map((row) => row[column]).filter((value) => value !== null);
      const note = NOTES[`${name}.${column}`] ?? '';
      return [
        index === 0 ? `\`${name}\`` : '',
        index === 0 ? rows.length : '',
        `\`${column}\``,
        kindOf(`${name}.${column}`, values),
        note,
      ];
    });
  });
}

function kindOf(column: string, values: readonly unknown[]): string {
  if (values.length === 0) return '(none here)';
  if (!values.every((value) => value instanceof Uint8Array)) return `clear: ${typeof values[0]}`;
  if (values.some((bytes) => TEXT.test(Buffer.from(bytes).toString('latin1')))) return 'clear: bytes with text';
  const filled = values.filter((bytes) => bytes.length > 0);
  const isSealed = (bytes: Uint8Array) => bytes[0] === SUITE && bytes.length > SEALED_OVERHEAD;
  if (!NOT_SEALED.has(column) && filled.length > 0 && filled.every(isSealed)) return '**sealed**';
  const lengths = new Set(values.map((bytes) => bytes.length));
  if (UUID_COLUMN.test(column) && lengths.size === 1 && lengths.has(UUID_BYTES)) return 'clear: UUID';
  return lengths.size === 1 ? `${[...lengths][0]} bytes` : 'bytes';
}

const IN_ORDER = 'FROM token ORDER BY created_at, token';
const BY_TYPE = (table: string) => `(SELECT type || ' × ' || count(*) AS item FROM ${table} GROUP BY type)`;
const SAME_VALUE = `(SELECT group_concat(id, ' = ') AS item FROM (SELECT * FROM token ORDER BY token)
  GROUP BY tenant, substr(blinds, 1, 16) HAVING count(*) > 1)`;
/** The blind indexes of each token, in which the containers replace their set. */
const BLINDS = `(SELECT i.token, coalesce(s.container, i.blind) AS blind FROM token_index i
  LEFT JOIN container_set s ON s.tenant = i.tenant AND s.name = i.blind
  UNION ALL SELECT t.token, s.container FROM token t JOIN container_set s ON s.tenant = t.tenant AND s.number = t.set_number
  WHERE s.number > 0)`;
const SHARED_INDEX = `(SELECT DISTINCT item FROM (SELECT group_concat(id, ', ') AS item FROM (SELECT e.blind, t.id
  FROM ${BLINDS} e JOIN token t ON t.token = e.token ORDER BY t.created_at, t.token) GROUP BY blind HAVING count(*) > 1) ORDER BY item)`;

/** Conclusions from the clear columns: what a reader learns, the query for its items, and their separator. */
const LESSONS: readonly (readonly [lesson: string, items: string, separator?: string])[] = [
  ['Tenants', '(SELECT count(*) AS item FROM tenant)'],
  ['Applications by type (types are numbers)', BY_TYPE('application')],
  [
    'API keys, their creators and ends, and the day of the last use of each',
    '(SELECT count(*) AS item FROM application_key)',
  ],
  ['Tokens by type (types are numbers)', BY_TYPE('token')],
  ['Token ids, in the order of creation', `(SELECT id AS item ${IN_ORDER})`],
  ['Ids of deleted tokens, who deleted them and when (to the millisecond)', '(SELECT id AS item FROM tombstone)'],
  [
    'The tokens of each creator, by its UUID',
    "(SELECT count(*) || ' of one UUID' AS item FROM token GROUP BY substr(clear, 35, 36) ORDER BY count(*) DESC)",
  ],
  ['Changed tokens, with the application and the time', '(SELECT id AS item FROM token WHERE length(clear) > 70)'],
  [
    'Tokens that expire, and when',
    "(SELECT id || ' at ' || datetime(expires_at / 1000, 'unixepoch') AS item FROM token WHERE expires_at IS NOT NULL)",
  ],
  ['Tokens with the same value and type, in one tenant', SAME_VALUE, '; '],
  ['Tokens that share some metadata, search value or container', SHARED_INDEX, '; '],
  [
    'How many blind indexes each token has (its metadata, search values and levels of containers together)',
    `(SELECT t.id || ': ' || count(*) AS item FROM token t JOIN ${BLINDS} e ON e.token = t.token
      GROUP BY t.token ORDER BY t.created_at, t.token)`,
  ],
  ['Size of each value, rounded up to a step', `(SELECT id || ': ' || (length(full) - 45) AS item ${IN_ORDER})`],
];

/** Returns the Base64 of a value at each of the three alignments, without characters that depend on its neighbours. */
const inBase64 = (value: Buffer) =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6));
  });
const formsOf = (value: Buffer) => {
  const hex = value.toString('hex');
  return [value, Buffer.from(value.toString('utf8'), 'utf16le'), hex, hex.toUpperCase(), ...inBase64(value)];
};

/** Counts the values that the bytes contain in any form. */
const found = (bytes: Buffer, values: readonly Buffer[]) =>
  values.filter((value) => formsOf(value).some((form) => bytes.includes(form))).length;

interface Findings {
  readonly columns: readonly Row[];
  readonly lessons: readonly Row[];
  readonly searched: readonly Row[];
  readonly control: string;
}

function pageOf({ columns, lessons, searched, control }: Findings): string {
  return `# What a stolen file reveals

This page lists what a vault file shows without its key. \`node scripts/stolen-file.ts\` writes the page, and a test compares it with
the output. The script fills a vault, kills its daemon, copies its file and log, and reads the copies with SQLite and without any key.

## Contents of the vault

One tenant, its management application and two private applications. One of the private applications created these tokens:

${table(
  ['id', 'content'],
  CONTENT.map(([what, { id }]) => [`\`${id}\``, what]),
)}

## What is readable without a key

The tables, their numbers of rows, and the contents of each column:

${table(['table', 'rows', 'column', 'form', 'content'], columns)}

Times have millisecond precision. Applications appear by their ids, also as the creator of each token. A reader can conclude from these columns:

${table(['conclusion', 'in this vault'], lessons)}

Equal values are visible within one tenant, but not across tenants, because each tenant has its own index keys. Without the
tenant's key, nobody can compute the value of a blind index or test a guess. Sizes are rounded up: to a multiple of 64 bytes
up to 1 KiB, and by at most 12 % above.

## What is not readable

The script searches the bytes of file and log for each value: as it is, in UTF-16, in hexadecimal, and in Base64 at each
alignment.

${table(['value', 'found'], searched)}

As a control, the script searches for the token ids, which are clear, in the same way: ${control}.

## Advice

- Do not put secrets into token ids. Choose ids that reveal nothing about a person, or let the vault assign them.
- Types, times, counts and creators are visible. To hide them, too, keep the file on an encrypted disk.
- Anybody with the file and its key file can read the vault. Keep backups of the two in different places.
- An index on a value shows which tokens share it. Index only what you search for, and avoid fields with few distinct values.
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
  if (leaked.length > 0) throw new Error(`found sealed values: ${leaked.join(', ')}`);
  if (control < ids.length) throw new Error('the control did not find the ids');
} finally {
  stolen.remove();
}
