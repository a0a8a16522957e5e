import type { InsertObstacle, NewToken } from '../../core/insert-ports.ts';
import type { Instant, Store, TokenRecord } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { olderOf } from '../rows/older-of.ts';
import { storableText, storedNumber } from '../rows/stored-value.ts';
import { type Connections, placeParameters, type Run, type Transaction, Undo } from './connections.ts';
import type { ContainerSets } from './container-sets.ts';
import { lockRows } from './lock-rows.ts';
import { requireFree } from './reply-rows.ts';
import { listsOf, type Statement } from './sql-client.ts';
import { findNumber } from './tenant-numbers.ts';
import { oldestWith, toTokenRecord } from './token-reads.ts';
import { TOKEN_CHANGES } from './token-statements.ts';
import { blindsOf, createRow, fingerprintsOf, gatesOf, ownerOf, toColumns } from './token-writes.ts';

/** A token of a list, with the number of its tenant and its position. */
interface Member extends NewToken {
  readonly at: number;
  readonly tenant: number;
  /** The fingerprints that identify a duplicate, in the order of the search. */
  readonly fingerprints: readonly string[];
}

/** The statements of this module, for the test of their plans. Lists are subqueries for the reason in lock-rows.ts. */
export const TOKEN_LISTS = {
  /** Parameters: positions, tenants, fingerprints, places of the fingerprints, now. */
  duplicates: {
    name: 'findDuplicates',
    text: `SELECT w.at, w.place, t.* FROM unnest((SELECT $1::integer[]), (SELECT $2::integer[]), (SELECT $3::uuid[]),
    (SELECT $4::integer[]))
    w (at, tenant, blind, place),
  LATERAL (${oldestWith({ tenant: 'w.tenant', blind: 'w.blind', except: "''", now: '$5::bigint' })}) t`,
  },
  /** Parameters: positions, tenants, ids. */
  taken: {
    name: 'findTakenIds',
    text: `SELECT w.at FROM unnest((SELECT $1::integer[]), (SELECT $2::integer[]), (SELECT $3::text[])) w (at, tenant, id),
  LATERAL (SELECT 1 FROM vault.token WHERE tenant = w.tenant AND vault.token.id = w.id OFFSET 0) t`,
  },
} as const satisfies Record<string, Statement>;

/** Resolves to the members, tenant by tenant. Throws unless all tenants exist and all tokens have their newest keys. */
async function toMembers(run: Run, tokens: readonly NewToken[]): Promise<readonly Member[]> {
  const tenantIds = [...new Set(tokens.map(({ token }) => token.tenant_id))];
  const numbers = await Promise.all(tenantIds.map((id) => findNumber(run, id)));
  return tenantIds.flatMap((tenantId, n) => {
    const found = numbers[n];
    if (found === undefined) throw new Problem('unauthenticated');
    return tokens.flatMap((member, at) => {
      const { token, indexes, deduplicate } = member;
      if (token.tenant_id !== tenantId) return [];
      if (token.key_id !== found.dataKey || token.index_key_id !== found.indexKey) throw new Problem('write_conflict');
      return [{ ...member, at, tenant: found.tenant, fingerprints: deduplicate ? fingerprintsOf(indexes) : [] }];
    });
  });
}

/** Resolves to the oldest stored duplicates. A key is the position of a member and the place of its fingerprint. */
async function storedDuplicates(
  run: Run,
  members: readonly Member[],
  now: Instant,
): Promise<ReadonlyMap<string, TokenRecord>> {
  const asked = members.flatMap(({ at, tenant, fingerprints }) =>
    fingerprints.map((fingerprint, place) => ({ at, tenant, fingerprint, place })),
  );
  if (asked.length === 0) return new Map();
  const rows = await run(TOKEN_LISTS.duplicates, [...listsOf(asked, 'at', 'tenant', 'fingerprint', 'place'), now]);
  const tenantIds = new Map(members.map(({ at, token }) => [at, token.tenant_id]));
  return new Map(
    rows.map(([at, place, ...columns]) => {
      const tenantId = tenantIds.get(storedNumber(at)) ?? '';
      return [`${at} ${place}`, toTokenRecord(tenantId, columns)];
    }),
  );
}

async function takenIds(run: Run, members: readonly Member[]): Promise<ReadonlySet<unknown>> {
  const ids = members.map(({ token }) => storableText(token.id));
  const rows = await run(TOKEN_LISTS.taken, [...listsOf(members, 'at', 'tenant'), ids]);
  return new Set(rows.map(([at]) => at));
}

/**
 * Resolves to the obstacles that the members would meet if they were inserted one after the other. A member with an
 * obstacle is not inserted, so it is no obstacle for later members.
 */
async function findObstacles(run: Run, members: readonly Member[], now: Instant): Promise<readonly InsertObstacle[]> {
  const [stored, taken] = await Promise.all([storedDuplicates(run, members, now), takenIds(run, members)]);
  const ids = new Set<string>();
  const earlier = new Map<string, TokenRecord>();

  function duplicateOf({ at, tenant, fingerprints }: Member): TokenRecord | undefined {
    for (const [place, fingerprint] of fingerprints.entries()) {
      const [inStore, inList] = [stored.get(`${at} ${place}`), earlier.get(`${tenant} ${fingerprint}`)];
      const found = inList === undefined ? inStore : olderOf(inStore, inList);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  const obstacles: InsertObstacle[] = [];
  for (const member of members) {
    const { at, tenant, token, indexes } = member;
    const duplicate = duplicateOf(member);
    const name = `${tenant} ${token.id}`;
    if (duplicate !== undefined || taken.has(at) || ids.has(name)) {
      obstacles.push({ at, duplicate });
      continue;
    }
    ids.add(name);
    if (token.expires_at !== undefined && token.expires_at <= now) continue;
    for (const blind of blindsOf(indexes)) {
      const found = `${tenant} ${blind}`;
      earlier.set(found, olderOf(earlier.get(found), token));
    }
  }
  return obstacles;
}

/** Inserts all members. Throws `Undo` with an obstacle for a member whose id another process used meanwhile. */
async function insertAll({ run, chain }: Transaction, members: readonly Member[]): Promise<void> {
  const tenants = [...new Set(members.map(({ tenant }) => tenant))];
  const refused = await Promise.all(
    tenants.map(async (tenant) => {
      const own = members.filter((member) => member.tenant === tenant);
      const rows = own.map(({ token, indexes }) => createRow(token, indexes));
      const [first] = own;
      const [answer] = first
        ? await run(TOKEN_CHANGES.createMany, [
            ...placeParameters(undefined, chain),
            ...ownerOf(first.token),
            ...toColumns(rows),
          ])
        : [];
      if (answer?.[1] !== true) throw new Problem('write_conflict');
      return own.slice(storedNumber(answer[2])).slice(0, 1);
    }),
  );
  const obstacles = refused.flat().map(({ at }) => ({ at, duplicate: undefined }));
  if (obstacles.length > 0) throw new Undo<readonly InsertObstacle[]>(obstacles);
}

/** Returns the function that inserts several tokens at once. */
export function insertTokens({ changeTokens }: Pick<Connections, 'changeTokens'>, sets: ContainerSets) {
  return {
    insertTokens: (tokens, now, audit) =>
      sets.ensured(tokens, () =>
        changeTokens(async (transaction) => {
          await requireFree(transaction.run, audit);
          const members = await toMembers(transaction.run, tokens);
          const fingerprints = members.flatMap((member) => member.fingerprints);
          await lockRows(transaction.run, gatesOf(fingerprints), []);
          const obstacles = await findObstacles(transaction.run, members, now);
          if (obstacles.length > 0) return obstacles;
          await insertAll(transaction, members);
          await transaction.record(audit);
          return [];
        }),
      ),
  } satisfies Partial<Store>;
}
