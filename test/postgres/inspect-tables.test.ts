import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/core/key-holder-ports.ts';
import type { Run } from '../../src/store/postgres/connections.ts';
import { inspectTables } from '../../src/store/postgres/inspect-tables.ts';
import { roleGrants } from '../../src/store/postgres/roles.ts';
import { schemaStatements } from '../../src/store/postgres/schema.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { blindText, storedBlind } from '../../src/store/postgres/uuid-text.ts';
import { nameOf } from '../../src/store/rows/container-sets.ts';
import { openFilled } from './open-client.ts';

const TENANT = '00000000-0000-7000-8000-000000000001';
const PARENT = '00000000-0000-7000-8000-0000000000a1';
const CHILD = '00000000-0000-7000-8000-0000000000a2';
const BLINDS = [1, 2].map((n) => `00000000-0000-0000-0000-0000000000b${n}`);
const SUBJECT = '00000000-0000-0000-0000-0000000000c1';
const SET_NAME = blindText(nameOf([storedBlind(SUBJECT)]));

/** Tokens, one of them deleted, with entries, counters, a reply and an audit. */
const FILL = [
  ...schemaStatements('vault'),
  "INSERT INTO vault.header VALUES (1, 'v', 1, 0, 1, NULL, '{}', '{}', '')",
  `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
    VALUES ('${TENANT}', '${TENANT}', 1, 1, 1, 1, 2, '')`,
  "INSERT INTO vault.tenant_key VALUES (1, 1, 1, 1, 'k', 1), (1, 2, 2, 1, 'k', 1)",
  `INSERT INTO vault.application (tenant, id, type, key_version, parent_id, parent_key_id, created_at, revision, key_id, details)
    VALUES (1, '${PARENT}', 1, 1, NULL, NULL, 1, 1, 1, ''), (1, '${CHILD}', 4, 0, '${PARENT}', '${SUBJECT}', 1, 1, 1, '')`,
  `INSERT INTO vault.application_key (tenant, id, application_id, hash, version, created_at, revision, key_id, last_used_day, seal)
    VALUES (1, '${SUBJECT}', '${PARENT}', 'a', 1, 1, 1, 1, 0, '')`,
  `INSERT INTO vault.token (tenant, type, active_month, created_at, revision, key_id, index_key_id, id, blinds, clear,
      presented, revealed)
    SELECT 1, 1, 7, n, 1, 1, 2, 't' || n, ARRAY['${BLINDS.join("', '")}']::uuid[], 'c', 'p', 'r'
    FROM generate_series(1, 60) n`,
  `INSERT INTO vault.token (tenant, type, active_month, created_at, deleted_at, revision, key_id, index_key_id, id, mac,
      created_by) VALUES (1, 1, 6, 9000, 9001, 1, 1, 2, 'gone', 'm', '${PARENT}')`,
  `INSERT INTO vault.container_set VALUES (1, '${SET_NAME}', 1, 2, ARRAY['${SUBJECT}'::uuid])`,
  "UPDATE vault.token SET set_number = 1 WHERE id = 't6'",
  'INSERT INTO vault.token_index SELECT tenant, b, set_number, created_at, token FROM vault.token, unnest(blinds) b',
  'INSERT INTO vault.token_count VALUES (1, 1, 6, 1, 2, 1, 1, 9000), (1, 1, 7, 1, 2, 59, 60, 60)',
  `INSERT INTO vault.reply (tenant, application_id, key_hash, request_hash, created_at, key_id, sealed)
    VALUES (1, '${PARENT}', 'k', 'r', 1, 1, 's')`,
  "INSERT INTO vault.audit VALUES (1, 1, 'l', 's'), (2, 1, 'l', 's')",
  `INSERT INTO vault.audit_index VALUES ('${SUBJECT}', 1)`,
  'UPDATE vault.head SET logged = 1',
];

const NO_TENANT = 'belongs to a tenant that does not exist';
const NO_KEY = 'was created with an API key that no longer exists';
const ORPHAN = { table: 'application_key', id: SUBJECT, what: 'belongs to an application that does not exist' };
const COUNTER = 'the counter of a type differs from the number of its tokens';
const entry = (id: string, what: string): Finding => ({ table: 'token_index', id, what });
const counter = (id: string, what: string): Finding => ({ table: 'token_count', id: `${TENANT} ${id}`, what });
const schema = (id: string, what: string): Finding => ({ table: 'schema', id, what });
const SHADOW = 'has the name of one of PostgreSQL, and could run with the rights of the vault';
const USED = 'is not part of a vault, but its tables use it';
const FOREIGN = 'is not part of a vault, and may change, hide or lose rows';
const COLUMN = 'a column is missing, has another type, or may be NULL';
const ALTERED = 'is missing, altered or not valid';
const NEITHER = 'is neither a token nor a tombstone';
const MISSING = 'an index entry of the token is missing';
const LEADS_NOWHERE = 'an index entry leads to no token';
const UNEXPECTED = 'the token has an unexpected index entry';
const NEWEST_KEYS = 'does not name the newest of its keys';
const NO_SET = 'is in a container set that does not exist';
/** Makes the connection use a role with the rights that `--grant` gives. */
const GRANT = `CREATE ROLE inspected; ${roleGrants('vault', 'inspected').join('; ')}`;
const NO_RIGHT = 'the role of this command lacks the right';
const OF_TOKEN_5 = "token = (SELECT token FROM vault.token WHERE id = 't5')";
const UNCHECKED = 'ALTER TABLE vault.token DROP CONSTRAINT token_check';
const NO_CHECK = schema('CHECK of token', ALTERED);

/** Damage to a clean store, and the findings that must follow. */
const DAMAGES: readonly (readonly [sql: string, ...findings: readonly Finding[]])[] = [
  ...['tenant_key', 'application', 'application_key', 'reply', 'token_count'].map(
    (table) =>
      [
        `ALTER TABLE vault.${table} DROP CONSTRAINT ${table}_pkey; UPDATE vault.${table} SET tenant = 9`,
        schema(`PRIMARY KEY of ${table}`, ALTERED),
        { table, id: 'tenant 9', what: NO_TENANT },
        ...(table === 'tenant_key' ? [{ table: 'tenant', id: TENANT, what: NEWEST_KEYS }] : []),
        ...(table.startsWith('application') ? [{ table: 'application', id: CHILD, what: NO_KEY }, ORPHAN] : []),
        ...(table === 'token_count'
          ? [
              counter('month 7', 'the counter of a month is lower than the number of its tokens'),
              counter('type 1', COUNTER),
              counter('type 1', 'the last creation time of a type differs from that of its last token'),
              { table, id: 'number 9 type 1', what: COUNTER },
              {
                table,
                id: 'number 9 type 1',
                what: 'the last creation time of a type differs from that of its last token',
              },
            ]
          : []),
      ] as const,
  ),
  [
    `INSERT INTO vault.token_count (tenant, type, month, key_id, index_key_id, live, active, last_created_at)
      SELECT 1, type, 0, 1, 2, 1, 0, 0 FROM generate_series(2, 8) type`,
    ...[2, 3, 4, 5, 6, 7, 8].map((type) => counter(`type ${type}`, COUNTER)),
  ],
  ...['format', 'header', 'sweep'].map(
    (table) => [`DELETE FROM vault.${table}`, { table, id: '', what: 'its only row is missing' }] as const,
  ),
  ['UPDATE vault.sweep SET swept_at = -1', { table: 'sweep', id: '', what: 'the time of the last sweep is not valid' }],
  ...['UPDATE vault.head SET left_at = 1', 'DELETE FROM vault.head'].map(
    (sql) => [sql, { table: 'head', id: '', what: 'the row is missing or closed, so nothing can be changed' }] as const,
  ),
  ['UPDATE vault.tenant SET data_key_id = 2', { table: 'tenant', id: TENANT, what: NEWEST_KEYS }],
  ['UPDATE vault.tenant SET index_key_id = 1', { table: 'tenant', id: TENANT, what: NEWEST_KEYS }],
  [
    `DELETE FROM vault.application WHERE id = '${PARENT}'`,
    { table: 'application', id: CHILD, what: 'was created by an application that no longer exists' },
    ORPHAN,
  ],
  [
    'UPDATE vault.application SET key_version = 0',
    { table: 'application', id: PARENT, what: 'has counted fewer API keys than it has had' },
  ],
  ['DELETE FROM vault.application_key', { table: 'application', id: CHILD, what: NO_KEY }],
  [
    'UPDATE vault.application_key SET created_at = 1e12, last_used_day = 5',
    { table: 'application_key', id: SUBJECT, what: 'was last used before it was created' },
  ],
  ...[
    'UPDATE vault.audit_index SET sequence = 2',
    'UPDATE vault.head SET logged = 2; UPDATE vault.audit_index SET sequence = 3',
    'UPDATE vault.head SET logged = 3',
  ].map(
    (sql) =>
      [
        sql,
        {
          table: 'audit_index',
          id: '',
          what: 'names rows beyond its own end or beyond the end of the audit',
        },
      ] as const,
  ),
  [
    "UPDATE vault.token SET tenant = 9 WHERE id = 'gone'",
    { table: 'token', id: 'tenant 9', what: NO_TENANT },
    counter('type 1', 'the last creation time of a type differs from that of its last token'),
    {
      table: 'token_count',
      id: 'number 9 type 1',
      what: 'the last creation time of a type differs from that of its last token',
    },
  ],
  [
    `${UNCHECKED}; UPDATE vault.token SET mac = 'm' WHERE id = 't5'`,
    NO_CHECK,
    { table: 'token', id: 't5', what: NEITHER },
  ],
  [
    `${UNCHECKED}; UPDATE vault.token SET clear = 'c' WHERE id = 'gone'`,
    NO_CHECK,
    { table: 'token', id: 'gone', what: NEITHER },
  ],
  [
    "UPDATE vault.token SET blinds = '{}' WHERE id = 't5'",
    { table: 'token', id: 't5', what: 'has no valid list of blind indexes' },
    entry('t5', UNEXPECTED),
  ],
  [
    `UPDATE vault.token SET blinds = array_append(blinds, NULL) WHERE id = 't59'`,
    { table: 'token', id: 't59', what: 'has no valid list of blind indexes' },
  ],
  [`DELETE FROM vault.token_index WHERE blind = '${BLINDS[1]}' AND ${OF_TOKEN_5}`, entry('t5', MISSING)],
  [
    `UPDATE vault.token_index SET created_at = 1 WHERE blind = '${BLINDS[1]}' AND ${OF_TOKEN_5}`,
    entry('t5', MISSING),
    entry(BLINDS[1] ?? '', LEADS_NOWHERE),
  ],
  [`INSERT INTO vault.token_index VALUES (1, '${SUBJECT}', 0, 1, 1000000)`, entry(SUBJECT, LEADS_NOWHERE)],
  [
    `INSERT INTO vault.token_index VALUES (9, '${SUBJECT}', 0, 1, 1)`,
    entry('tenant 9', NO_TENANT),
    entry(SUBJECT, LEADS_NOWHERE),
  ],
  [
    `INSERT INTO vault.token_index SELECT 1, '${SUBJECT}', 0, created_at, token FROM vault.token WHERE id = 't5'`,
    entry('t5', UNEXPECTED),
  ],
  [
    "UPDATE vault.token SET set_number = 2 WHERE id = 't5'",
    { table: 'token', id: 't5', what: NO_SET },
    entry('t5', MISSING),
    ...BLINDS.map((blind) => entry(blind, LEADS_NOWHERE)),
  ],
  ['UPDATE vault.container_set SET index_key_id = 7', { table: 'token', id: 't6', what: NO_SET }],
  [
    'UPDATE vault.container_set SET tenant = 9',
    { table: 'container_set', id: 'tenant 9', what: NO_TENANT },
    { table: 'token', id: 't6', what: NO_SET },
  ],
  [
    'UPDATE vault.container_set SET containers = containers || containers',
    { table: 'container_set', id: SET_NAME, what: 'is not named by its containers' },
  ],
  ['UPDATE vault.token_count SET live = live + 1 WHERE month = 7', counter('type 1', COUNTER)],
  [
    'UPDATE vault.token_count SET last_created_at = 9999 WHERE month = 6',
    counter('type 1', 'the last creation time of a type differs from that of its last token'),
  ],
  [
    'UPDATE vault.token_count SET active = 5 WHERE month = 7',
    counter('month 7', 'the counter of a month is lower than the number of its tokens'),
  ],
  [
    `CREATE FUNCTION vault.hide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER hides BEFORE INSERT ON vault.audit FOR EACH ROW EXECUTE FUNCTION vault.hide()`,
    schema('trigger hides', FOREIGN),
    schema('function hide', FOREIGN),
  ],
  [
    `CREATE FUNCTION public.times(numeric, integer) RETURNS numeric LANGUAGE sql AS 'SELECT $1';
      CREATE OPERATOR public.* (FUNCTION = public.times, LEFTARG = numeric, RIGHTARG = integer)`,
    schema('operator public.*(numeric,integer)', SHADOW),
  ],
  [
    `CREATE SCHEMA far; CREATE FUNCTION far.unnest(uuid[]) RETURNS uuid LANGUAGE sql AS 'SELECT $1[1]'`,
    schema('function far.unnest(uuid[])', SHADOW),
  ],
  [
    `CREATE FUNCTION public.small(bytea) RETURNS boolean LANGUAGE sql AS 'SELECT true';
      ALTER TABLE vault.audit ADD CHECK (public.small(sealed))`,
    schema('function public.small(bytea)', USED),
  ],
  [
    `CREATE FUNCTION public.zero() RETURNS bigint LANGUAGE sql AS 'SELECT 0';
      ALTER TABLE vault.purge ALTER since SET DEFAULT public.zero()`,
    schema('function public.zero()', USED),
  ],
  ['CREATE RULE keep AS ON DELETE TO vault.token DO INSTEAD NOTHING', schema('rule keep', FOREIGN)],
  ['CREATE POLICY hides ON vault.token USING (false)', schema('policy hides', FOREIGN)],
  ['CREATE TABLE public.other () INHERITS (vault.reply)', schema('child table other', FOREIGN)],
  ['ALTER TABLE vault.purge SET UNLOGGED', schema('unlogged table purge', FOREIGN)],
  ['ALTER TABLE vault.purge DROP COLUMN since', schema('purge.since bigint NOT NULL', COLUMN)],
  ['ALTER TABLE vault.purge ALTER since TYPE integer', schema('purge.since bigint NOT NULL', COLUMN)],
  ['ALTER TABLE vault.audit ALTER link DROP NOT NULL', schema('audit.link bytea NOT NULL', COLUMN)],
  ['ALTER TABLE vault.token ALTER blinds TYPE text[]', schema('token.blinds uuid[]', COLUMN)],
  [
    'ALTER TABLE vault.header ALTER vault_id TYPE text COLLATE "default"',
    schema('header.vault_id text COLLATE "C" NOT NULL', COLUMN),
  ],
  ['ALTER TABLE vault.token ENABLE ROW LEVEL SECURITY', schema('row security of token', FOREIGN)],
  ...['SELECT on reply', 'INSERT on token', 'UPDATE on head', 'INSERT on audit'].map(
    (right) =>
      [
        `${GRANT}; REVOKE ${right.replace('on ', 'ON vault.')} FROM inspected; SET LOCAL ROLE inspected`,
        schema(right, NO_RIGHT),
      ] as const,
  ),
  ['DROP INDEX vault.token_id', schema('token_id', ALTERED)],
  ...['(tenant, id)', '(tenant, id) WHERE deleted_at IS NULL', '(id, tenant)'].map(
    (columns, at) =>
      [
        `DROP INDEX vault.token_id; CREATE ${at === 0 ? '' : 'UNIQUE'} INDEX token_id ON vault.token ${columns}`,
        schema('token_id', ALTERED),
      ] as const,
  ),
  [
    'DROP INDEX vault.token_newest; CREATE INDEX token_newest ON vault.token USING hash (created_at)',
    schema('token_newest', ALTERED),
  ],
  [
    'ALTER TABLE vault.purge RENAME TO other; CREATE VIEW vault.purge AS SELECT * FROM vault.other',
    ...['since bigint', 'tenant integer'].map((column) => schema(`purge.${column} NOT NULL`, COLUMN)),
  ],
  [
    'ALTER TABLE vault.application_key DROP CONSTRAINT application_key_hash_key',
    schema('UNIQUE of application_key', ALTERED),
  ],
  [
    `ALTER TABLE vault.application_key DROP CONSTRAINT application_key_hash_key, ADD UNIQUE (hash, id)`,
    schema('UNIQUE of application_key', ALTERED),
  ],
  [
    'ALTER TABLE vault.container_set DROP CONSTRAINT container_set_number_check, ADD CHECK (number >= 0 AND number <= 9)',
    schema('CHECK of container_set', ALTERED),
  ],
  [`${UNCHECKED}, ADD CHECK (token IS NOT NULL)`, NO_CHECK],
  [
    `ALTER TABLE vault.head DROP CONSTRAINT head_one_check, ADD CHECK (one = 1) NOT VALID`,
    schema('CHECK of head', ALTERED),
  ],
  [
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'vault.token_newest'::regclass",
    schema('token_newest', ALTERED),
  ],
];

describe('the inspection of the tables', () => {
  let client: SqlClient;
  const connections = {
    inspectSnapshot: <T>(query: (run: Run) => Promise<T>) => query((...args) => client.run(...args)),
  };
  const { inspect } = inspectTables(connections);

  beforeAll(async () => {
    client = await openFilled(FILL);
  });
  afterAll(() => client.close());

  /** Resolves to the findings after a statement, which is then undone. */
  async function findingsAfter(text: string): Promise<readonly Finding[]> {
    await client.run({ text: 'BEGIN' });
    try {
      await client.run({ text });
      return await inspect();
    } finally {
      await client.run({ text: 'ROLLBACK' });
    }
  }

  it('control: finds nothing in a clean store', async () => {
    expect(await inspect()).toEqual([]);
  });

  it.each([
    'CREATE EXTENSION citext SCHEMA public',
    'CREATE EXTENSION hstore SCHEMA public',
    'ALTER INDEX vault.token_id SET (fillfactor = 70)',
    `${GRANT}; SET LOCAL ROLE inspected`,
    'CREATE INDEX own ON vault.audit (at)',
    'ALTER TABLE vault.token RENAME CONSTRAINT token_check TO renamed',
  ])('accepts %s', async (sql) => {
    expect(await findingsAfter(sql)).toEqual([]);
  });

  it.each(DAMAGES.map(([sql, ...findings]) => ({ sql, findings })))('finds $sql', async ({ sql, findings }) => {
    expect(await findingsAfter(sql)).toEqual(findings);
  });
});
