const TOKEN_1 = "tenant = 1 AND id = 'token-1'";
const TOKEN_2 = "tenant = 1 AND id = 'token-2'";
const PRIVATE = '(SELECT min(application) FROM application WHERE type = 1)';
const NEXT = '(SELECT max(application) FROM application WHERE type = 1 AND tenant = 1)';
const FOREIGN = '(SELECT max(application) FROM application WHERE tenant = 2)';

const ofApplication = (application: string) =>
  `application_id = (SELECT id FROM application WHERE application = ${application})`;
const OF_PRIVATE = ofApplication(PRIVATE);
const OF_TWO = `(${OF_PRIVATE} OR ${ofApplication(NEXT)})`;

/** Values that the vault did not write, by table, row and column. */
const EDITED: readonly (readonly [
  table: string,
  where: string,
  columns: Readonly<Record<string, string>>,
  which?: string,
])[] = [
  [
    'token',
    TOKEN_2,
    {
      id: "'token-9'",
      type: '4',
      created_at: 'created_at - 1000',
      expires_at: '1',
      revision: 'revision - 1',
      key_id: '2',
      index_key_id: '1',
      active_month: 'active_month - 1',
      set_number: '0',
      blinds: 'CAST(randomblob(16) || substr(blinds, 17) AS BLOB)',
      clear: 'zeroblob(length(clear))',
      presented: 'CAST(substr(presented, 1, length(presented) - 1) AS BLOB)',
      full: 'CAST(full || zeroblob(1) AS BLOB)',
    },
  ],
  ['token', "tenant = 1 AND id = 'ends'", { expires_at: 'NULL' }, 'one that expires'],
  [
    'application',
    `application = ${PRIVATE}`,
    {
      id: 'randomblob(16)',
      type: '2',
      key_version: '0',
      created_by: 'NULL',
      created_at: 'created_at + 1',
      modified_by: 'randomblob(16)',
      modified_at: '1700000000000',
      expires_at: '9000000000000',
      revision: '2',
      key_id: '2',
      details: `(SELECT details FROM application WHERE application = ${NEXT})`,
    },
  ],
  [
    'application',
    'type = 4',
    { parent_id: `(SELECT id FROM application WHERE application = ${NEXT})`, type: '1' },
    'an expiring one',
  ],
  ['application', 'type = 4', { expires_at: 'expires_at + 86400000' }, 'an expiring one'],
  [
    'application',
    'type = 4',
    { parent_key_id: '(SELECT id FROM application_key LIMIT 1)', type: '1' },
    'an expiring one',
  ],
  [
    'application_key',
    OF_PRIVATE,
    {
      id: 'randomblob(16)',
      tenant: '2',
      application_id: `(SELECT id FROM application WHERE application = ${NEXT})`,
      hash: 'randomblob(32)',
      version: 'version + 1',
      created_by: 'NULL',
      created_at: 'created_at + 1',
      expires_at: '9000000000000',
      revision: '2',
      key_id: '2',
      last_used_day: '1',
      seal: '(SELECT seal FROM application_key ORDER BY application_key DESC LIMIT 1)',
    },
  ],
  [
    'tenant',
    'tenant = 1',
    {
      id: 'randomblob(16)',
      owner_id: '(SELECT owner_id FROM tenant WHERE tenant = 2)',
      created_by: 'randomblob(16)',
      created_at: 'created_at - 1',
      modified_by: 'randomblob(16)',
      modified_at: '1700000000000',
      revision: 'revision + 1',
      key_id: '2',
      details: '(SELECT details FROM tenant WHERE tenant = 2)',
    },
  ],
  [
    'tenant_key',
    'tenant = 1 AND key_id = 1',
    {
      key_id: '7',
      purpose: '2',
      generation: '2',
      created_at: 'created_at + 1',
      wrapped: '(SELECT wrapped FROM tenant_key WHERE tenant = 2 AND key_id = 1)',
    },
  ],
  [
    'header',
    'one = 1',
    {
      vault_id: "'00000000-0000-4000-8000-000000000000'",
      format: '2',
      created_at: '0',
      generation: 'generation + 1',
      carried: 'zeroblob(100)',
      mac: 'zeroblob(32)',
    },
  ],
  [
    'counter',
    'tenant = 0',
    { count: '-1', at: '-1', clock: "'4102444800000' || substr(clock, 2)", type: '1' },
    'the file',
  ],
  [
    'counter',
    'tenant = 0',
    { clock: "replace(clock, substr(clock, instr(clock, ' ')), ' 1 0 ' || substr(clock, -64))" },
    'the last settled time',
  ],
  [
    'counter',
    'tenant = 0',
    { clock: "substr(clock, 1, length(clock) - 64) || '1 ' || substr(clock, -64)" },
    'the last backup',
  ],
  ['counter', 'tenant = 0', { clock: "''" }, 'a note on time that is no more'],
  ['slot', 'slot = 0', { slot: '5', bytes: '(SELECT bytes FROM slot WHERE slot = 1)' }],
  [
    'tombstone',
    "id = 'gone'",
    {
      id: "'gone-never'",
      type: '2',
      created_by: 'randomblob(16)',
      created_at: 'created_at - 1',
      deleted_by: 'NULL',
      deleted_at: 'deleted_at + 1',
      mac: "(SELECT mac FROM tombstone WHERE id = 'gone-too')",
    },
  ],
  [
    'audit',
    'sequence = 6',
    {
      sequence: '1000',
      at: 'at - 1',
      sealed: '(SELECT sealed FROM audit WHERE sequence = 5)',
      link: 'zeroblob(16)',
    },
  ],
  ['audit_index', "blind <> x'' AND sequence = 6", { blind: 'randomblob(16)', sequence: 'sequence + 1000' }],
  ['audit_index', "blind = x''", { sequence: 'sequence + 1' }, 'its end'],
  [
    'counter',
    'tenant = 1 AND type = 1',
    { count: '0', at: 'at + 1', type: '3', key_id: 'key_id + 1', index_key_id: 'index_key_id + 1', month: '1' },
    'a type',
  ],
  ['counter', 'tenant = 1 AND month > 0', { count: '0', month: 'month + 1' }, 'a month'],
  [
    'token_index',
    `token = (SELECT token FROM token WHERE ${TOKEN_2})`,
    {
      created_at: 'created_at + 1',
      tenant: '2',
      blind: 'CAST(substr(blind, 2) || zeroblob(1) AS BLOB)',
      set_number: '9',
    },
  ],
  [
    'container_set',
    'tenant = 1',
    { tenant: '2', container: 'CAST(substr(container, 2) || zeroblob(1) AS BLOB)', name: 'zeroblob(16)', number: '9' },
  ],
];

const columnEdits = EDITED.flatMap(([table, where, columns, which = 'a row']) =>
  Object.entries(columns).map(
    ([column, value]) =>
      [`${table}.${column} of ${which} edited`, `UPDATE ${table} SET ${column} = ${value} WHERE ${where}`] as const,
  ),
);

const sealedSwaps = ['clear', 'presented', 'full', 'blinds'].flatMap((column) => [
  [
    `token.${column} swapped with another row's`,
    `CREATE TEMP TABLE kept AS SELECT token, ${column} AS bytes FROM token WHERE tenant = 1 AND id IN ('token-1', 'token-2');
     UPDATE token SET ${column} = (SELECT bytes FROM kept WHERE kept.token <> token.token)
     WHERE token IN (SELECT token FROM kept)`,
  ] as const,
  [
    `token.${column} of the other tenant's token of the same id`,
    `UPDATE token SET ${column} = (SELECT ${column} FROM token WHERE tenant = 2 AND id = 'token-1') WHERE ${TOKEN_1}`,
  ] as const,
]);

/** Rows that are deleted, moved, copied or added, in all tables. */
const OTHERS: Readonly<Record<string, string>> = {
  'a token moved to the other tenant': `UPDATE token SET tenant = 2 WHERE ${TOKEN_2}`,
  'a token copied to the other tenant, with its index': `
    INSERT INTO token SELECT NULL, 2, id, type, created_at, expires_at, revision, key_id, index_key_id, active_month, set_number,
      blinds, clear, presented, full FROM token WHERE ${TOKEN_2};
    INSERT INTO token_index SELECT 2, blind, set_number, created_at, (SELECT max(token) FROM token) FROM token_index
      WHERE token = (SELECT token FROM token WHERE ${TOKEN_2})`,
  'a token copied under a new id': `
    INSERT INTO token SELECT NULL, 1, 'copied', type, created_at, expires_at, revision, key_id, index_key_id, active_month,
      set_number, blinds, clear, presented, full FROM token WHERE ${TOKEN_1}`,
  'an application moved to the other tenant': `UPDATE application SET tenant = 2 WHERE application = ${PRIVATE}`,
  'an application copied to the other tenant': `
    INSERT INTO application SELECT NULL, 2, id, type, parent_id, parent_key_id, key_version, created_by, created_at,
      modified_by, modified_at, expires_at, revision, key_id, details FROM application WHERE application = ${PRIVATE}`,
  'the key hashes of two applications swapped': `
    CREATE TEMP TABLE kept AS SELECT application_key, hash FROM application_key WHERE ${OF_TWO};
    UPDATE application_key SET hash = randomblob(32) WHERE ${OF_TWO};
    UPDATE application_key SET hash = (SELECT hash FROM kept WHERE kept.application_key <> application_key.application_key)
    WHERE application_key IN (SELECT application_key FROM kept)`,
  'an API key added':
    'INSERT INTO application_key SELECT NULL, tenant, randomblob(16), application_id, randomblob(32), 2, created_by, created_at, NULL, 1, key_id, 0, seal FROM application_key LIMIT 1',
  'an API key deleted': `DELETE FROM application_key WHERE ${OF_PRIVATE}`,
  'all API keys deleted': 'DELETE FROM application_key',
  'an API key moved to the other tenant': `UPDATE application_key SET tenant = 2 WHERE ${OF_PRIVATE}`,
  'the key of one tenant on an application of the other': `
    CREATE TEMP TABLE kept AS SELECT hash FROM application_key WHERE ${OF_PRIVATE};
    DELETE FROM application_key WHERE ${OF_PRIVATE};
    UPDATE application_key SET hash = (SELECT hash FROM kept) WHERE ${ofApplication(FOREIGN)}`,
  'an application deleted': `DELETE FROM application WHERE application = ${PRIVATE}`,
  'all applications deleted': 'DELETE FROM application',
  'all tokens deleted, counters and index with them':
    'DELETE FROM token; DELETE FROM token_index; DELETE FROM counter WHERE month > 0; UPDATE counter SET count = 0 WHERE type > 0',
  'a tombstone deleted': "DELETE FROM tombstone WHERE id = 'gone'",
  'all tombstones deleted': 'DELETE FROM tombstone',
  'a tombstone moved to the other tenant': "UPDATE tombstone SET tenant = 2 WHERE id = 'gone'",
  'the whole index deleted': 'DELETE FROM token_index',
  'all sets of containers deleted': 'DELETE FROM container_set',
  'a container added to a set': `INSERT INTO container_set SELECT tenant, zeroblob(16), name, number FROM container_set
    WHERE tenant = 1 LIMIT 1`,
  'a tenant’s wrapped keys deleted': 'DELETE FROM tenant_key WHERE tenant = 2',
  'wrapped keys swapped between tenants': `
    CREATE TEMP TABLE kept AS SELECT tenant, key_id, wrapped FROM tenant_key;
    UPDATE tenant_key SET wrapped = (SELECT wrapped FROM kept
      WHERE kept.tenant = 3 - tenant_key.tenant AND kept.key_id = tenant_key.key_id)`,
  'a tenant deleted with all its rows': [
    'token',
    'tombstone',
    'token_index',
    'container_set',
    'counter',
    'application_key',
    'application',
    'tenant_key',
    'tenant',
  ]
    .map((table) => `DELETE FROM ${table} WHERE tenant = 2`)
    .join(';'),
  'the tenants’ ids swapped': `
    CREATE TEMP TABLE kept AS SELECT tenant, id FROM tenant; UPDATE tenant SET id = randomblob(16);
    UPDATE tenant SET id = (SELECT id FROM kept WHERE kept.tenant = 3 - tenant.tenant)`,
  'the header deleted': 'DELETE FROM header',
  'a slot deleted': 'DELETE FROM slot WHERE slot = 1',
  'all slots deleted': 'DELETE FROM slot',
  'the slots swapped': `
    UPDATE slot SET slot = 7 WHERE slot = 0; UPDATE slot SET slot = 0 WHERE slot = 1; UPDATE slot SET slot = 1 WHERE slot = 7`,
  'the whole audit deleted': 'DELETE FROM audit',
  'the rows of the log index deleted': "DELETE FROM audit_index WHERE blind <> x''",
  'the head of the audit cut': 'DELETE FROM audit WHERE sequence < 5',
  'five entries of the audit cut from its tail':
    'DELETE FROM audit WHERE sequence > (SELECT max(sequence) - 5 FROM audit)',
  'the head of the audit cut and the rest moved up':
    'DELETE FROM audit WHERE sequence = 1; UPDATE audit SET sequence = sequence - 1',
  'two links of the audit swapped': `
    CREATE TEMP TABLE kept AS SELECT sequence, link FROM audit WHERE sequence IN (4, 5);
    UPDATE audit SET link = (SELECT link FROM kept WHERE kept.sequence <> audit.sequence) WHERE sequence IN (4, 5)`,
  'a view planted': 'CREATE VIEW planted AS SELECT full FROM token',
  'an index planted': 'CREATE INDEX planted ON token (presented)',
  'a table planted': 'CREATE TABLE planted (x)',
  'a trigger that copies what is written':
    'CREATE TRIGGER planted AFTER INSERT ON audit BEGIN UPDATE token SET revision = 9; END',
  'a view in place of a table': 'ALTER TABLE tombstone RENAME TO kept; CREATE VIEW tombstone AS SELECT * FROM kept',
  'an index dropped': 'DROP INDEX token_expiry',
  'a column added': 'ALTER TABLE token ADD COLUMN more INTEGER',
  'the format number raised': 'PRAGMA user_version = 2',
  'the format number lowered': 'PRAGMA user_version = 0',
  'the application id changed': 'PRAGMA application_id = 1',
};

/** More edits to a closed file of `makeTamperVault` without its key: SQL by name. */
export const TAMPER_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries([
  ...columnEdits,
  ...sealedSwaps,
  ...Object.entries(OTHERS),
]);
