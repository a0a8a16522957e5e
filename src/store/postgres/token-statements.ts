import { LINK_BYTES } from '../../core/audit/audit-link.ts';
import { named } from './sql-client.ts';
import { oldestWith } from './token-reads.ts';

// The statements that change tokens. All but those that create one token take lists of tokens with different ids. They
// run under the lock of the audit's end, so nobody else writes meanwhile. They skip the tokens that they refuse, and find
// tokens by tenant and id alone, in a MATERIALIZED query: a plan made while the table is empty would take any index that
// fits. No statement changes a table twice. Lists of blind indexes are texts, because PostgreSQL requires equally long
// lists in a nested array. Lists are subqueries, so that the planner does not know their length and make a new plan for
// each. The first two parameters are those of `entryParameters`.

/** The last row of the audit, which an earlier statement has locked. */
const END = 'last AS MATERIALIZED (SELECT sequence, link FROM vault.audit ORDER BY sequence DESC LIMIT 1)';

/** Returns the link of rows, as `linkOf` does. `rows` is the aggregate of `linkedBytes` in order. */
const linkAfter = (previous: string, rows: string) =>
  `pg_catalog.substr(pg_catalog.sha256(${previous} || ${rows}), 1, ${LINK_BYTES})`;

/** Returns the bytes of a row that its link includes. */
const linkedBytes = (sequence: string, at: string, sealed: string) =>
  `pg_catalog.int8send(${sequence}) || pg_catalog.int8send(${at})
    || pg_catalog.int4send(pg_catalog.octet_length(${sealed})) || ${sealed}`;

/** The tenant of a write; `ok` has a row if the record is under the newest keys. */
const TENANT = `n AS (SELECT tenant, data_key_id = $4::integer AND index_key_id = $5::integer AS has_keys
  FROM vault.tenant WHERE id = $3::uuid)`;
const OK = 'ok AS (SELECT n.tenant FROM n WHERE n.has_keys)';

/** The rows of the lists from the parameter `from` on, as `given` with their `ordinal`. */
export function givenIn(from: number, ...columns: readonly string[]): string {
  const lists = columns.flatMap((some) => some.split(', ')).map((column) => column.split(' '));
  const own = lists.map(([, type], at) => `$${from + at}::${type}[]`);
  const values = ['$1::bigint[]', '$2::bytea[]', ...own];
  const names = ['entry_at', 'sealed', ...lists.map(([name]) => name), 'ordinal'];
  return `given AS MATERIALIZED (SELECT * FROM unnest(${values.map((value) => `(SELECT ${value})`).join()})
  WITH ORDINALITY w (${names}))`;
}

/** Writes the entries of the rows of `changed`, linked as one commit. */
export function entriesOf(changed: string): string {
  return `${END},
rows AS MATERIALIZED (SELECT ordinal, last.sequence + row_number() OVER (ORDER BY ordinal) AS sequence, entry_at, given.sealed,
    last.link FROM ${changed} JOIN given USING (ordinal), last WHERE given.sealed IS NOT NULL),
linked AS MATERIALIZED (SELECT max(sequence) AS sequence, ${linkAfter(
    '(array_agg(link))[1]',
    `string_agg(${linkedBytes('sequence', 'entry_at', 'sealed')}, ''::bytea ORDER BY sequence)`,
  )} AS link FROM rows),
entry AS (INSERT INTO vault.audit (sequence, at, link, sealed)
  SELECT rows.sequence, entry_at, CASE WHEN rows.sequence = linked.sequence THEN linked.link ELSE ''::bytea END, sealed
  FROM rows, linked)`;
}

/** The rows of `given` that are in `chosen`, with the number of their set, or 0. `indexes` is the value of `blinds`. */
function withSets(chosen: string): string {
  return `(SELECT given.*, ${chosen}.tenant, coalesce(number, 0) AS set_number, given.blinds::uuid[] ||
    CASE WHEN number IS NULL THEN containers::uuid[] ELSE '{}' END AS indexes
  FROM ${chosen} JOIN given USING (ordinal) LEFT JOIN LATERAL (SELECT number FROM vault.container_set s
    WHERE s.tenant = ${chosen}.tenant AND s.name = given.set_name OFFSET 0) s ON true)`;
}

const FOUND_COLUMNS = `tenant, token, type, created_at, expires_at, deleted_at, revision, key_id, index_key_id,
    set_number, blinds`;

/**
 * The rows of the `given` tokens of the tenant `n` that meet the condition. `allowed` has a row if the statement may change
 * tokens.
 */
function oldIf(condition: string, allowed: string): string {
  return `old AS MATERIALIZED (SELECT given.ordinal, t.* FROM n, ${allowed} a, given,
    LATERAL (SELECT ${FOUND_COLUMNS} FROM vault.token WHERE tenant = n.tenant AND vault.token.id = given.id OFFSET 0) t
  WHERE t.revision = given.expected AND t.deleted_at IS NULL AND ${condition})`;
}

/** With a join, or without the test that is always true, a plan made for an empty table would read the whole table. */
const IS_OLD = 't.token = ANY (ARRAY(SELECT token FROM old)) AND t.revision >= 0';

/** Removes the index entries `stale`. */
export const UNINDEX = `removed AS (DELETE FROM vault.token_index i USING stale
  WHERE i.tenant = stale.tenant AND i.blind = stale.blind AND i.set_number = stale.set_number
    AND i.created_at = stale.created_at AND i.token = stale.token)`;

/** The index entries of the tokens `old` that the tokens `changed` do not have. */
const STALE = `stale AS MATERIALIZED (SELECT old.tenant, blind, old.set_number, old.created_at, old.token
  FROM old JOIN changed USING (token), unnest(old.blinds) blind
  WHERE old.set_number <> changed.set_number OR blind <> ALL (changed.blinds))`;

/**
 * Adds the rows of `changes` to the counters. A create counts in its month and under its keys. A later change of `live`
 * counts in month 0, and a mark counts under the keys 0, so that each type has few rows.
 */
function counted(changes: string): string {
  return `counted AS (INSERT INTO vault.token_count AS c (tenant, type, month, key_id, index_key_id, live, active,
    last_created_at) ${changes}
  ON CONFLICT (tenant, type, month, key_id, index_key_id) DO UPDATE SET live = c.live + excluded.live,
    active = c.active + excluded.active, last_created_at = greatest(c.last_created_at, excluded.last_created_at))`;
}

/** Moves tokens between the counters of their keys if their keys differ in `old` and `changed`. */
const MOVE_COUNT = counted(`SELECT old.tenant, old.type, 0, k.key_id, k.index_key_id, sum(k.live), 0, 0
    FROM old JOIN changed USING (token), LATERAL (VALUES (old.key_id, old.index_key_id, -1),
      (changed.key_id, changed.index_key_id, 1)) k (key_id, index_key_id, live)
    WHERE old.key_id <> changed.key_id OR old.index_key_id <> changed.index_key_id
    GROUP BY old.tenant, old.type, k.key_id, k.index_key_id`);

/** The last columns of a written token. */
const LAST = 'blinds text, clear bytea, presented bytea, revealed bytea, containers text, set_name uuid';

/** The first columns of a new token. */
const NEW = 'id text, type smallint, created_at bigint, expires_at bigint, revision bigint, active_month integer';

const INDEXED = `indexed AS (INSERT INTO vault.token_index (tenant, blind, set_number, created_at, token)
  SELECT i.tenant, b, i.set_number, i.created_at, i.token FROM inserted i, unnest(i.blinds) b)`;

/** The ordinals of rows, in order. */
const ordinalsOf = (name: string) =>
  `(SELECT coalesce(array_agg(ordinal::integer ORDER BY ordinal), '{}') FROM ${name})`;

/**
 * Parameters: tenant id, data key, index key, then the lists `NEW` and `LAST`. Returns whether the keys are the newest,
 * and the ordinals of the inserted tokens; no row if the tenant does not exist. Skips a token whose id is taken.
 */
const CREATE_ALL = `WITH ${TENANT},
${OK},
${givenIn(6, NEW, LAST)},
kept AS MATERIALIZED (SELECT ok.tenant, given.ordinal FROM ok, given WHERE NOT EXISTS
  (SELECT 1 FROM vault.token WHERE tenant = ok.tenant AND vault.token.id = given.id OFFSET 0)),
inserted AS (INSERT INTO vault.token (tenant, id, type, created_at, expires_at, revision, key_id, index_key_id,
    active_month, set_number, blinds, clear, presented, revealed)
  SELECT tenant, id, type, created_at, expires_at, revision, $4, $5, active_month, set_number, indexes, clear, presented,
    revealed FROM ${withSets('kept')} w ORDER BY ordinal
  RETURNING tenant, token, type, set_number, created_at, active_month, blinds),
${INDEXED},
${counted(`SELECT tenant, type, active_month, $4, $5, count(*), count(*), max(created_at) FROM inserted
    GROUP BY tenant, type, active_month`)},
${entriesOf('kept')}
SELECT n.has_keys, ${ordinalsOf('kept')} FROM n`;

/** Creates one token, in four fifths of the time of `CREATE_ALL`. The columns of the token are values, not lists. */
function createOne(ok: string, onConflict = ''): string {
  return `WITH ${TENANT},
${ok},
s AS MATERIALIZED (SELECT number FROM vault.container_set WHERE tenant = (SELECT tenant FROM n) AND name = $17::uuid),
inserted AS (INSERT INTO vault.token (tenant, id, type, created_at, expires_at, revision, key_id, index_key_id,
    active_month, set_number, blinds, clear, presented, revealed)
  SELECT tenant, $6::text, $7::smallint, $8::bigint, $9::bigint, $10::bigint, $4, $5, $11::integer,
    coalesce((SELECT number FROM s), 0), $12::uuid[] || CASE WHEN EXISTS (SELECT 1 FROM s) THEN '{}' ELSE $16::uuid[] END,
    $13::bytea, $14::bytea, $15::bytea FROM ok ${onConflict}
  RETURNING tenant, token, type, set_number, created_at, active_month, blinds),
${INDEXED},
${counted('SELECT tenant, type, active_month, $4, $5, 1, 1, created_at FROM inserted')},
${END},
draft AS (SELECT last.sequence + 1 AS sequence, last.link, ($1::bigint[])[1] AS at, ($2::bytea[])[1] AS sealed
  FROM inserted, last WHERE cardinality($2) > 0),
entry AS (INSERT INTO vault.audit (sequence, at, link, sealed)
  SELECT sequence, at, ${linkAfter('link', linkedBytes('sequence', 'at', 'sealed'))}, sealed FROM draft)
SELECT n.has_keys, (SELECT array_agg(1) FROM inserted)`;
}

/**
 * Returns a statement that replaces tokens. Parameters: tenant id, data key, index key, then the lists: id,
 * revision that was read, `more`, expiry, revision, `LAST`. Without blind indexes, a token keeps those it has. Returns
 * whether the keys are the newest (NULL without the tenant), and the places of the replaced tokens. `reindexTokens` must
 * follow.
 */
function replacing(more: string, condition: string): string {
  return `WITH ${TENANT},
${OK},
${givenIn(6, 'id text, expected bigint', more, 'expires_at bigint, revision bigint', LAST)},
${oldIf(condition, 'ok')},
next AS MATERIALIZED ${withSets('old')},
changed AS (UPDATE vault.token t SET key_id = $4, index_key_id = $5,
    (expires_at, revision, set_number, blinds, clear, presented, revealed) = (SELECT expires_at, revision,
      CASE WHEN next.blinds IS NULL THEN t.set_number ELSE next.set_number END,
      CASE WHEN next.blinds IS NULL THEN t.blinds ELSE indexes END, clear, presented, revealed
      FROM next WHERE next.id = t.id)
  WHERE ${IS_OLD}
  RETURNING t.token, t.key_id, t.index_key_id, t.set_number, t.blinds),
${STALE},
${UNINDEX},
${MOVE_COUNT},
${entriesOf('old')}
SELECT (SELECT has_keys FROM n), ${ordinalsOf('old')}`;
}

export const TOKEN_CHANGES = named({
  createToken: `${createOne(OK, 'ON CONFLICT (tenant, id) DO NOTHING')} FROM n`,
  createTokens: CREATE_ALL,
  /**
   * Further parameters: the fingerprint under each index key, now. Returns the columns of `createToken`, then those of
   * the duplicate.
   */
  createTokenUnlessDuplicate: `${createOne(`duplicate AS MATERIALIZED (SELECT t.* FROM n,
  unnest((SELECT $18::uuid[])) WITH ORDINALITY f (blind, ordinal),
  LATERAL (${oldestWith({ tenant: 'n.tenant', blind: 'f.blind', except: "''", now: '$19::bigint' })}) t
  ORDER BY f.ordinal LIMIT 1),
ok AS (SELECT n.tenant FROM n WHERE n.has_keys AND NOT EXISTS (SELECT 1 FROM duplicate)
  AND NOT EXISTS (SELECT 1 FROM vault.token WHERE tenant = n.tenant AND vault.token.id = $6 OFFSET 0))`)},
  duplicate.* FROM n LEFT JOIN duplicate ON true`,
  /** Refuses a token that is expired or has another revision. */
  replaceTokens: replacing('now bigint', '(t.expires_at IS NULL OR t.expires_at > given.now)'),
  /** Refuses a token that has another revision or other keys. */
  resealTokens: replacing(
    'read_key integer, read_index_key integer',
    't.key_id = given.read_key AND t.index_key_id = given.read_index_key',
  ),
  /** Parameters: tenant id, ids. Adds the entries that the stored rows lack: none for a refused change. */
  reindexTokens: `WITH found AS MATERIALIZED (SELECT t.* FROM unnest((SELECT $2::text[])) w (id),
  LATERAL (SELECT tenant, set_number, token, created_at, blinds FROM vault.token
    WHERE tenant = (SELECT tenant FROM vault.tenant n WHERE n.id = $1::uuid) AND vault.token.id = w.id OFFSET 0) t)
INSERT INTO vault.token_index (tenant, blind, set_number, created_at, token)
SELECT tenant, b, set_number, created_at, token FROM found, unnest(blinds) b ON CONFLICT DO NOTHING`,
  /**
   * Parameters: tenant id, then the lists. Replaces tokens by their tombstones. Returns the places of the removed tokens.
   * Refuses a token that has another revision.
   */
  removeTokens: `WITH n AS (SELECT tenant FROM vault.tenant WHERE id = $3::uuid),
${givenIn(4, 'id text, expected bigint, created_by uuid, deleted_by uuid, deleted_at bigint, mac bytea')},
${oldIf('true', '(SELECT 1)')},
changed AS (UPDATE vault.token t SET expires_at = NULL, set_number = 0, blinds = NULL, clear = NULL, presented = NULL,
    revealed = NULL, (created_by, deleted_by, deleted_at, mac) = (SELECT created_by, deleted_by, deleted_at, mac
      FROM given WHERE given.id = t.id)
  WHERE ${IS_OLD} RETURNING t.token),
stale AS MATERIALIZED (SELECT tenant, blind, set_number, created_at, token FROM old, unnest(blinds) blind),
${UNINDEX},
${counted(`SELECT tenant, type, 0, key_id, index_key_id, -count(*), 0, 0 FROM old
    GROUP BY tenant, type, key_id, index_key_id`)},
${entriesOf('old')}
SELECT ${ordinalsOf('old')}`,
  /** Parameters: tenant id, ids, month. The array of numbers keeps PostgreSQL from reading the whole table. */
  markTokens: `WITH marked AS (UPDATE vault.token t SET active_month = $3::integer
  WHERE t.token = ANY (ARRAY(SELECT x.token FROM unnest((SELECT $2::text[])) w (id), LATERAL (SELECT token, deleted_at
      FROM vault.token WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1::uuid) AND vault.token.id = w.id
      OFFSET 0) x WHERE x.deleted_at IS NULL))
    AND t.active_month < $3 RETURNING t.tenant, t.type),
${counted('SELECT tenant, type, $3, 0, 0, 0, count(*), 0 FROM marked GROUP BY tenant, type')}
SELECT`,
});
