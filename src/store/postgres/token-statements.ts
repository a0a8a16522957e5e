import type { Statement } from './sql-client.ts';
import { oldestWith } from './token-reads.ts';

// The statements that change single tokens. Their first six parameters are a `Place`. Without a place, all of them
// except the chain are NULL, and the statement writes no entry. A statement finds its token by tenant and id alone, in
// a MATERIALIZED query: a plan made while the table is empty would take any index that fits. No statement changes a
// table twice.

function headUnless(hasNoEntry: string): string {
  return `head AS (SELECT 1 WHERE ${hasNoEntry} OR EXISTS (SELECT 1 FROM vault.audit
  WHERE chain = $1::bigint AND sequence = $2::bigint - 1 AND link = $3::bytea))`;
}

/** Has one row, unless the place of the entry is taken. */
export const HEAD = headUnless('$6::bytea IS NULL');

/** The tenant of a write; `ok` has a row if the place is free and the record is under the newest keys. */
const TENANT = `n AS (SELECT tenant, data_key_id = $8::integer AND index_key_id = $9::integer AS has_keys
  FROM vault.tenant WHERE id = $7::uuid)`;
const OK = 'ok AS (SELECT n.tenant FROM n, head WHERE n.has_keys)';

/** Writes the entry if the query `changed` has rows. */
export function entryIf(changed: string): string {
  return `entry AS (INSERT INTO vault.audit (chain, sequence, at, link, sealed)
  SELECT $1, $2, $4::bigint, $6, $5::bytea FROM ${changed} WHERE $6 IS NOT NULL)`;
}

/** The set of the token's containers as `s`, without a row if it has no number. `name` is NULL without containers. */
function setBy(name: string): string {
  return `s AS MATERIALIZED (SELECT number FROM vault.container_set WHERE tenant = (SELECT tenant FROM n)
    AND name = ${name}::uuid)`;
}

const SET_NUMBER = 'coalesce((SELECT number FROM s), 0)';

/** The value of `blinds`: with the containers if their set has no number. */
function blindsOf(blinds: string, containers: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM s) THEN ${blinds}::uuid[] ELSE ${blinds}::uuid[] || ${containers}::uuid[] END`;
}

function countOf(name: string): string {
  return `(SELECT count(*) FROM ${name})::integer`;
}

/** The row of a token, as `found`; its tenant is that of `n`. */
function foundBy(id: string): string {
  return `found AS MATERIALIZED (SELECT tenant, token, type, created_at, expires_at, deleted_at, revision, key_id,
    index_key_id, set_number, blinds FROM vault.token WHERE tenant = (SELECT tenant FROM n) AND id = ${id})`;
}

const UNINDEX = `removed AS (DELETE FROM vault.token_index i USING stale
  WHERE i.tenant = stale.tenant AND i.blind = stale.blind AND i.set_number = stale.set_number
    AND i.created_at = stale.created_at AND i.token = stale.token)`;

/** The entries of the token `old` that the token `changed` does not have. */
const STALE = `stale AS MATERIALIZED (SELECT old.tenant, blind, old.set_number, old.created_at, old.token
  FROM old, changed, unnest(old.blinds) blind
  WHERE old.set_number <> changed.set_number OR blind <> ALL (changed.blinds))`;

/**
 * Adds the rows of `changes` to the counters. A create counts in its month and under its keys. A later change of `live`
 * counts in month 0, and a mark counts under the keys 0, so that each type has few rows.
 */
function counted(changes: string): string {
  return `counted AS (INSERT INTO vault.token_count AS c (tenant, type, month, key_id, index_key_id, chain, live, active,
    last_created_at) ${changes}
  ON CONFLICT (tenant, type, month, key_id, index_key_id, chain) DO UPDATE SET live = c.live + excluded.live,
    active = c.active + excluded.active, last_created_at = greatest(c.last_created_at, excluded.last_created_at))`;
}

/** Moves a token of `old` between the counters of its keys, if `changed` has given it other keys. */
const MOVE_COUNT = counted(`SELECT old.tenant, old.type, 0, k.key_id, k.index_key_id, $1::bigint, k.live, 0, 0
    FROM old, changed, LATERAL (VALUES (old.key_id, old.index_key_id, -1),
      (changed.key_id, changed.index_key_id, 1)) k (key_id, index_key_id, live)
    WHERE old.key_id <> changed.key_id OR old.index_key_id <> changed.index_key_id`);

const INSERT = `${setBy('$21')},
made AS (INSERT INTO vault.token (tenant, id, type, created_at, expires_at, revision, key_id,
    index_key_id, active_month, set_number, blinds, clear, presented, revealed)
  SELECT tenant, $10::text, $11::smallint, $12::bigint, $13::bigint, $14::bigint, $8, $9, $15::integer,
    ${SET_NUMBER}, ${blindsOf('$16', '$20')}, $17::bytea, $18::bytea, $19::bytea FROM ok
  ON CONFLICT (tenant, id) DO NOTHING RETURNING tenant, token, type, set_number, created_at, active_month, blinds),
indexed AS (INSERT INTO vault.token_index (tenant, blind, set_number, created_at, token)
  SELECT made.tenant, b, made.set_number, made.created_at, made.token FROM made, unnest(made.blinds) b),
${counted('SELECT tenant, type, active_month, $8, $9, $1::bigint, 1, 1, created_at FROM made')},
${entryIf('made')}`;

const INSERTED = `${countOf('head')}, n.has_keys, ${countOf('made')}`;

/**
 * Parameters: place, tenant id, data key, index key, id, type, created_at, expires_at, revision, month, blinds, clear,
 * presented, revealed, containers, name of their set. Returns no row if the tenant does not exist. Otherwise returns whether the place is free, the
 * keys are the newest, and the token was inserted.
 */
const CREATE: Statement = {
  name: 'createToken',
  text: `WITH ${HEAD},
${TENANT},
${OK},
${INSERT}
SELECT ${INSERTED} FROM n`,
};

/**
 * Parameters: those of `CREATE`, with a list for each of: the times, sealed bytes and links of the entries (or NULL),
 * and the columns of the tokens from the id on. The place is that of the first entry. The lists of blind indexes are
 * texts, because PostgreSQL requires equally long lists in a nested array. Lists are subqueries for the reason in
 * lock-rows.ts. Returns the columns of `CREATE`. Inserts only the tokens before the first one whose id is taken. The ids
 * must differ.
 */
const CREATE_MANY: Statement = {
  name: 'createTokens',
  text: `WITH ${headUnless('$6::bytea[] IS NULL')},
${TENANT},
${OK},
given AS MATERIALIZED (SELECT * FROM unnest((SELECT $10::text[]), (SELECT $11::smallint[]), (SELECT $12::bigint[]),
    (SELECT $13::bigint[]), (SELECT $14::bigint[]), (SELECT $15::integer[]), (SELECT $16::text[]),
    (SELECT $17::bytea[]), (SELECT $18::bytea[]), (SELECT $19::bytea[]), (SELECT $20::text[]), (SELECT $21::uuid[]),
    (SELECT $4::bigint[]), (SELECT $5::bytea[]), (SELECT $6::bytea[])) WITH ORDINALITY w (id, type, created_at,
    expires_at, revision, active_month, blinds, clear, presented, revealed, containers, set_name, entry_at, sealed, link,
    place)),
taken AS MATERIALIZED (SELECT min(place) AS place FROM ok, given,
  LATERAL (SELECT 1 FROM vault.token WHERE tenant = ok.tenant AND vault.token.id = given.id OFFSET 0) t),
kept AS MATERIALIZED (SELECT ok.tenant, given.* FROM ok, given, taken
  WHERE taken.place IS NULL OR given.place < taken.place),
made AS (INSERT INTO vault.token (tenant, id, type, created_at, expires_at, revision, key_id, index_key_id,
    active_month, set_number, blinds, clear, presented, revealed)
  SELECT tenant, id, type, created_at, expires_at, revision, $8, $9, active_month, coalesce(number, 0),
    CASE WHEN number IS NULL THEN blinds::uuid[] || containers::uuid[] ELSE blinds::uuid[] END, clear, presented, revealed
  FROM kept LEFT JOIN LATERAL (SELECT number FROM vault.container_set s
    WHERE s.tenant = kept.tenant AND s.name = kept.set_name OFFSET 0) s ON true ORDER BY place
  RETURNING tenant, token, type, set_number, created_at, active_month, blinds),
indexed AS (INSERT INTO vault.token_index (tenant, blind, set_number, created_at, token)
  SELECT made.tenant, b, made.set_number, made.created_at, made.token FROM made, unnest(made.blinds) b),
${counted(`SELECT tenant, type, active_month, $8, $9, $1::bigint, count(*), count(*), max(created_at) FROM made
    GROUP BY tenant, type, active_month`)},
entry AS (INSERT INTO vault.audit (chain, sequence, at, link, sealed)
  SELECT $1, $2 + place - 1, entry_at, link, sealed FROM kept WHERE link IS NOT NULL)
SELECT ${INSERTED} FROM n`,
};

/**
 * Parameters: those of `CREATE`, the fingerprint under each index key, now. Returns the columns of `CREATE`, then those
 * of the duplicate. An earlier statement must lock the gates of all fingerprints.
 */
const CREATE_UNLESS_DUPLICATE: Statement = {
  name: 'createTokenUnlessDuplicate',
  text: `WITH ${HEAD},
${TENANT},
duplicate AS MATERIALIZED (SELECT t.* FROM n, unnest((SELECT $22::uuid[])) WITH ORDINALITY f (blind, place),
  LATERAL (${oldestWith({ tenant: 'n.tenant', blind: 'f.blind', except: "''", now: '$23::bigint' })}) t
  ORDER BY f.place LIMIT 1),
ok AS (SELECT n.tenant FROM n, head WHERE n.has_keys AND NOT EXISTS (SELECT 1 FROM duplicate)),
${INSERT}
SELECT ${INSERTED}, duplicate.* FROM n LEFT JOIN duplicate ON true`,
};

/**
 * Parameters: place, tenant id, data key, index key, id, expected revision, now, expires_at, revision, blinds, clear,
 * presented, revealed, containers, name of their set. Returns whether the place is free, the token has the revision, and it was replaced. An earlier
 * statement must lock the token, and `REINDEX` must follow.
 */
const REPLACE: Statement = {
  name: 'replaceToken',
  text: `WITH ${HEAD},
${TENANT},
${OK},
${setBy('$20')},
${foundBy('$10::text')},
old AS MATERIALIZED (SELECT * FROM found
  WHERE revision = $11::bigint AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $12::bigint)),
changed AS (UPDATE vault.token SET expires_at = $13::bigint, revision = $14::bigint, key_id = $8, index_key_id = $9,
    set_number = ${SET_NUMBER}, blinds = ${blindsOf('$15', '$19')}, clear = $16::bytea, presented = $17::bytea,
    revealed = $18::bytea
  WHERE token = (SELECT old.token FROM old, ok) RETURNING key_id, index_key_id, set_number, blinds),
${STALE},
${UNINDEX},
${MOVE_COUNT},
${entryIf('changed')}
SELECT ${countOf('head')}, ${countOf('old')}, ${countOf('changed')}`,
};

/**
 * Parameters: tenant id, id. Adds the missing index entries of a token, directly after `REPLACE` or `RESEAL`. Uses the
 * blind indexes of the stored row, so it adds nothing for a refused change.
 */
const REINDEX: Statement = {
  name: 'reindexToken',
  text: `WITH found AS MATERIALIZED (SELECT tenant, set_number, token, created_at, blinds FROM vault.token
  WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1::uuid) AND id = $2::text)
INSERT INTO vault.token_index (tenant, blind, set_number, created_at, token)
SELECT tenant, b, set_number, created_at, token FROM found, unnest(blinds) b ON CONFLICT DO NOTHING`,
};

/**
 * Parameters: place, tenant id, id, expected revision, created_by, deleted_by, deleted_at, MAC. Replaces the token by
 * its tombstone. Returns whether the place is free and the token was removed. An earlier statement must lock the token.
 */
const REMOVE: Statement = {
  name: 'removeToken',
  text: `WITH ${HEAD},
n AS (SELECT tenant FROM vault.tenant WHERE id = $7::uuid),
${foundBy('$8::text')},
old AS MATERIALIZED (SELECT found.* FROM found, head WHERE revision = $9::bigint AND deleted_at IS NULL),
changed AS (UPDATE vault.token SET created_by = $10::uuid, deleted_by = $11::uuid, deleted_at = $12::bigint,
    mac = $13::bytea, expires_at = NULL, blinds = NULL, clear = NULL, presented = NULL, revealed = NULL
  WHERE token = (SELECT token FROM old) RETURNING token),
stale AS MATERIALIZED (SELECT tenant, blind, set_number, created_at, token FROM old, unnest(blinds) blind),
${UNINDEX},
${counted('SELECT tenant, type, 0, key_id, index_key_id, $1::bigint, -1, 0, 0 FROM old')},
${entryIf('changed')}
SELECT ${countOf('head')}, ${countOf('changed')}`,
};

/**
 * Parameters: chain, tenant id, data key, index key, id, read revision, read data key, read index key, blinds or NULL
 * to keep them and the set, expires_at, clear, presented, revealed, containers, name of their set. Returns whether the keys are the newest, the token is
 * unchanged, and it was replaced. An earlier statement must lock the token, and `REINDEX` must follow.
 */
const RESEAL: Statement = {
  name: 'resealToken',
  text: `WITH n AS (SELECT tenant, data_key_id = $3::integer AND index_key_id = $4::integer AS has_keys
  FROM vault.tenant WHERE id = $2::uuid),
${setBy('$15')},
${foundBy('$5::text')},
old AS MATERIALIZED (SELECT * FROM found
  WHERE revision = $6::bigint AND key_id = $7::integer AND index_key_id = $8::integer AND deleted_at IS NULL),
changed AS (UPDATE vault.token SET key_id = $3, index_key_id = $4,
    set_number = CASE WHEN $9::uuid[] IS NULL THEN set_number ELSE ${SET_NUMBER} END,
    blinds = CASE WHEN $9 IS NULL THEN blinds ELSE ${blindsOf('$9', '$14')} END,
    expires_at = $10::bigint, clear = $11::bytea, presented = $12::bytea, revealed = $13::bytea
  WHERE token = (SELECT old.token FROM old, n WHERE n.has_keys) RETURNING key_id, index_key_id, set_number, blinds),
${STALE},
${UNINDEX},
${MOVE_COUNT}
SELECT ${countOf('old')}, ${countOf('changed')}`,
};

/**
 * Parameters: chain, tenant id, ids, month. The numbers of the tokens are an array, which keeps the planner from
 * reading the whole table for many ids. Earlier statements must lock the tokens.
 */
const MARK: Statement = {
  name: 'markTokens',
  text: `WITH marked AS (UPDATE vault.token t SET active_month = $4::integer
  WHERE t.token = ANY (ARRAY(SELECT x.token FROM unnest((SELECT $3::text[])) w (id), LATERAL (SELECT token, deleted_at
      FROM vault.token WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $2::uuid) AND vault.token.id = w.id
      OFFSET 0) x WHERE x.deleted_at IS NULL))
    AND t.active_month < $4 RETURNING t.tenant, t.type),
${counted('SELECT tenant, type, $4, 0, 0, $1::bigint, 0, count(*), 0 FROM marked GROUP BY tenant, type')}
SELECT`,
};

export const TOKEN_CHANGES = {
  create: CREATE,
  createMany: CREATE_MANY,
  createUnlessDuplicate: CREATE_UNLESS_DUPLICATE,
  replace: REPLACE,
  reindex: REINDEX,
  remove: REMOVE,
  reseal: RESEAL,
  mark: MARK,
} as const satisfies Record<string, Statement>;
