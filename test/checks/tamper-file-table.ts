import { FILE } from './swapped-index.ts';
import { PRIVATE, replaced, type TamperTables, TOKEN_1, TOKEN_2 } from './tamper-table.ts';

/** A query for a blind index of the token, which finds one entry of it. */
const BLIND = `(SELECT substr(blinds, 1, 16) FROM token WHERE ${TOKEN_2})`;
const NOTE = 'UPDATE counter SET clock =';

const OF_TOKENS = ['token', 'token_index', 'container_set', 'tombstone'];
const OF_TENANTS = ['tenant', 'tenant_key', 'application', 'application_key', ...OF_TOKENS];

export const FILE_TABLES: TamperTables = {
  rows: {
    counter: {
      'the file': 'tenant = 0',
      'a type': 'tenant = 1 AND type = 1',
      'a month': 'tenant = 1 AND month > 0',
    },
    header: { 'the row': 'true' },
    slot: { 'a row': 'slot = 0' },
    tenant: { 'a row': 'tenant = 1' },
    tenant_key: { 'a row': 'tenant = 1 AND key_id = 1' },
    application: { 'a private one': PRIVATE, 'an expiring one': 'type = 4' },
    application_key: {
      'a row': 'application_key = (SELECT min(application_key) FROM application_key WHERE version = 1)',
    },
    token: { 'a token': TOKEN_2, 'one that expires': "id = 'ends'" },
    tombstone: { 'a row': "id = 'gone'" },
    token_index: { 'a row': `blind = ${BLIND}` },
    container_set: { 'a row': '(container, name) = (SELECT container, name FROM container_set WHERE tenant = 1)' },
    audit: { 'a row': 'sequence = 6' },
    audit_index: { 'a row': "blind <> x'' AND sequence = 6", 'its end': "blind = x''" },
  },
  columns: `SELECT t.name AS "table", c.name AS "column", c.type, NOT c."notnull" AND c.pk = 0 AS is_nullable,
      c.pk > 0 OR EXISTS (SELECT 1 FROM pragma_index_list(t.name) i JOIN pragma_index_info(i.name) p
        WHERE i."unique" AND p.name = c.name) AS is_unique
    FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name <> 'one'`,
  values: {
    TEXT: (column) => `${column} || 'x'`,
    BLOB: (column) => `CAST(substr(${column}, 1, length(${column}) - 1) ||
      CASE substr(${column}, -1) WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB)`,
  },
  /**
   * Counters of activity, the columns of a counter that do not apply to its kind, the time of an upkeep, the number of a
   * row, the number of keys made, and the day of a key's use.
   */
  unsealed: [
    /^counter\.(key_id|index_key_id|count|at|clock) of a month/,
    /^counter\.(clock of a type|at of the file)/,
    /^application\.(application .* moved|key_version .* raised)/,
    /^application_key\.(application_key .* moved|last_used_day .* raised)/,
  ],
  lift: 'PRAGMA ignore_check_constraints = ON;',
  index: FILE,
  revealed: 'full',
  tombstones: 'tombstone',
  counters: 'counter',
  noCounters: 'DELETE FROM counter WHERE month > 0; UPDATE counter SET count = 0 WHERE type > 0',
  newId: 'randomblob(16)',
  newHash: 'randomblob(32)',
  own: {
    'token: another vault’s rows, with index and tombstones': replaced(...OF_TOKENS),
    'header: another vault’s row, with its slots': replaced('header', 'slot'),
    'tenant: another vault’s rows, with keys and all their rows': replaced(...OF_TENANTS),
    'audit: another vault’s rows, with all other tables': replaced(...OF_TENANTS, 'audit', 'audit_index'),
    'token: one row of another vault': `DELETE FROM token WHERE ${TOKEN_1};
      INSERT INTO token SELECT * FROM other.token WHERE ${TOKEN_1}`,
    'token: one value of another vault':
      'UPDATE token SET full = (SELECT full FROM other.token o WHERE o.token = token.token)',
    'tenant_key: the data key of another vault': `UPDATE tenant_key SET wrapped = (SELECT wrapped FROM other.tenant_key o
      WHERE o.tenant = tenant_key.tenant AND o.key_id = tenant_key.key_id) WHERE key_id = 1`,
    'slot: one of another vault': 'UPDATE slot SET bytes = (SELECT bytes FROM other.slot o WHERE o.slot = slot.slot)',
    'slot: deleted': 'DELETE FROM slot WHERE slot = 1',
    'slot: all deleted': 'DELETE FROM slot',
    'slot: exchanged': `UPDATE slot SET slot = 7 WHERE slot = 0; UPDATE slot SET slot = 0 WHERE slot = 1;
      UPDATE slot SET slot = 1 WHERE slot = 7`,
    'counter: another expiry that passed': `${NOTE} '4102444800000' || substr(clock, 2) WHERE tenant = 0`,
    'counter: another settled time': `${NOTE} replace(clock, substr(clock, instr(clock, ' ')),
      ' 1 0 ' || substr(clock, -64)) WHERE tenant = 0`,
    'counter: another last backup': `${NOTE} substr(clock, 1, length(clock) - 64) || '1 ' || substr(clock, -64)
      WHERE tenant = 0`,
    'counter: no note on time': `${NOTE} '' WHERE tenant = 0`,
    'container_set: a container added': `INSERT INTO container_set SELECT tenant, zeroblob(16), name, number
      FROM container_set WHERE tenant = 1 LIMIT 1`,
    'audit: its beginning cut, the rest moved up':
      'DELETE FROM audit WHERE sequence = 1; UPDATE audit SET sequence = sequence - 1',
    // Without its end, the index is made again.
    'audit_index: all deleted': "DELETE FROM audit_index WHERE blind <> x''",
    'schema: a view': 'CREATE VIEW planted AS SELECT full FROM token',
    'schema: an index': 'CREATE INDEX planted ON token (presented)',
    'schema: a table': 'CREATE TABLE planted (x)',
    'schema: a trigger': 'CREATE TRIGGER planted AFTER INSERT ON audit BEGIN UPDATE token SET revision = 9; END',
    'schema: a view in place of a table':
      'ALTER TABLE tombstone RENAME TO kept; CREATE VIEW tombstone AS SELECT * FROM kept',
    'schema: a column': 'ALTER TABLE token ADD COLUMN more INTEGER',
    'schema: a higher format': 'PRAGMA user_version = 2',
    'schema: a lower format': 'PRAGMA user_version = 0',
    'schema: another application id': 'PRAGMA application_id = 1',
  },
};
