import type { AuditDraft } from '../../core/audit/ports.ts';
import type { InsertTokenOutcome } from '../../core/insert-ports.ts';
import type { Store, TokenIndexes, TokenRecord, Tombstone } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Parameter, Scalar } from '../rows/fragment.ts';
import { isStorableText, storableText, storedNumber } from '../rows/stored-value.ts';
import { TOKEN_TYPE_CODES } from '../rows/type-codes.ts';
import { type Batch, type Connections, type LaneMember, type Place, placeParameters } from './connections.ts';
import { type ContainerSets, setOf } from './container-sets.ts';
import { runAlone } from './lane-members.ts';
import { requireFree } from './reply-rows.ts';
import { listsOf, type Statement } from './sql-client.ts';
import { idKey, toTokenRecord } from './token-reads.ts';
import { TOKEN_CHANGES } from './token-statements.ts';
import { blindText, uuidKey, uuidValue } from './uuid-text.ts';

/** The answer of a change that found its place taken, and must run again. */
const PLACE_TAKEN = { isHead: false, hasChanged: false } as const;

/** Returns `token.blinds` of a token in a numbered set: the fingerprint's blind index, then the others. */
export function blindsOf({ fingerprint, others }: TokenIndexes): readonly string[] {
  return [...new Set([fingerprint, ...others].map(blindText))];
}

/** Returns the fingerprint under each index key, newest first. */
export function fingerprintsOf({ fingerprint, former = [] }: TokenIndexes): readonly string[] {
  return [fingerprint, ...former].map(blindText);
}

/** Returns the gates of fingerprints: their first 12 bits. Equal fingerprints have equal gates. */
export function gatesOf(fingerprints: readonly string[]): readonly number[] {
  return fingerprints.map((fingerprint) => Number.parseInt(fingerprint.slice(0, 3), 16));
}

/** Returns the place parameters of consecutive entries: the first place, and lists of times, sealed bytes and links. */
function placesOf(chain: string, places: readonly Place[]): readonly Parameter[] {
  const [first] = places;
  if (first === undefined) return placeParameters(undefined, chain);
  return [chain, first.sequence, first.previous, ...listsOf(places, 'at', 'sealed', 'link')];
}

/** Returns a list for each column of the rows. */
export function toColumns(rows: readonly (readonly Scalar[])[]): readonly (readonly Scalar[])[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

/** Returns the tenant of a token and the keys that it is sealed with. */
export function ownerOf({ tenant_id, key_id, index_key_id }: TokenRecord): readonly Scalar[] {
  return [uuidKey(tenant_id), key_id, index_key_id];
}

/** Returns the last columns of a row: the blind indexes as a text, the sealed values, the containers and their set. */
function lastOf(token: TokenRecord, indexes: TokenIndexes): readonly Scalar[] {
  const [containers, setName] = setOf(indexes);
  const [blinds, others] = [blindsOf(indexes), containers].map((list) => `{${list.join()}}`);
  return [blinds, token.clear, token.presented, token.full, others, setName];
}

/** Returns the parameters of `create` from the id on, which are also a row of the lists of `createMany`. */
export function createRow(token: TokenRecord, indexes: TokenIndexes): readonly Scalar[] {
  const { id, type, created_at, expires_at, revision, active_month } = token;
  const clear = [storableText(id), TOKEN_TYPE_CODES[type], created_at, expires_at, revision, active_month];
  return [...clear, ...lastOf(token, indexes)];
}

/** Returns a row of the lists of `remove`. */
export function removeRow(tombstone: Tombstone, expectedRevision: number): readonly Scalar[] {
  const { id, created_by, deleted_by, deleted_at, mac } = tombstone;
  const deleter = deleted_by === undefined ? null : uuidValue(deleted_by);
  return [idKey(id), expectedRevision, uuidValue(created_by), deleter, deleted_at, mac];
}

/** Returns the statements of a member that can share them. */
function sharing(batch: Batch): Pick<LaneMember<unknown>, 'batch' | 'statements'> {
  return {
    batch,
    statements: (place, chain) => batch.bind(chain, place === undefined ? [] : [place], [batch.row]),
  };
}

type TokenChange<T> = Omit<LaneMember<T>, 'audit'>;

function insertion(
  token: TokenRecord,
  indexes: TokenIndexes,
  { deduplicate, now }: { readonly deduplicate: boolean; readonly now: number },
): TokenChange<InsertTokenOutcome> {
  const fingerprints = fingerprintsOf(indexes);
  const owner = ownerOf(token);
  const row = createRow(token, indexes);
  const statement: Statement = deduplicate ? TOKEN_CHANGES.createUnlessDuplicate : TOKEN_CHANGES.create;
  return {
    gates: deduplicate ? gatesOf(fingerprints) : [],
    // Ids that a vault makes are UUIDs, which are never taken.
    mayRefuse: deduplicate || uuidKey(token.id) === null,
    written: { outcome: 'inserted' },
    ...(!deduplicate && {
      batch: {
        key: owner.join(),
        id: token.id,
        row,
        bind: (chain, places, rows) => [
          [TOKEN_CHANGES.createMany, [...placesOf(chain, places), ...owner, ...toColumns(rows)]],
        ],
      },
    }),
    statements(place, chain) {
      const search = deduplicate ? [fingerprints, now] : [];
      return [[statement, [...placeParameters(place, chain), ...owner, ...row, ...search]]];
    },
    read([rows], at) {
      const answer = rows?.[0];
      if (answer === undefined) throw new Problem('unauthenticated');
      const [head, hasKeys, made, ...duplicate] = answer;
      if (hasKeys !== true) throw new Problem('write_conflict');
      if (typeof duplicate[0] === 'string') {
        const found = toTokenRecord(token.tenant_id, duplicate);
        return { isHead: true, hasChanged: false, result: { outcome: 'duplicate', token: found } };
      }
      if (head !== 1 || storedNumber(made) < at) return { ...PLACE_TAKEN, result: { outcome: 'id_taken' } };
      const isMade = storedNumber(made) > at;
      return { isHead: true, hasChanged: isMade, result: { outcome: isMade ? 'inserted' : 'id_taken' } };
    },
  };
}

function replacement(
  token: TokenRecord,
  indexes: TokenIndexes,
  expected: { readonly revision: number; readonly now: number },
): TokenChange<boolean> {
  const owner = ownerOf(token);
  const { expires_at, revision } = token;
  return {
    tokens: [token],
    written: true,
    ...sharing({
      key: `replace ${owner.join()}`,
      id: token.id,
      row: [idKey(token.id), expected.revision, expected.now, expires_at, revision, ...lastOf(token, indexes)],
      bind(chain, places, rows) {
        const lists = toColumns(rows);
        return [
          [TOKEN_CHANGES.replace, [...placesOf(chain, places), ...owner, ...lists]],
          [TOKEN_CHANGES.reindex, [owner[0], lists[0]]],
        ];
      },
    }),
    read([rows], at) {
      const [head, hasKeys, changed] = rows?.[0] ?? [];
      if (head !== 1) return { ...PLACE_TAKEN, result: false };
      if (hasKeys === false) throw new Problem('write_conflict');
      return readPrefix(changed, at);
    },
  };
}

/** Returns the answer of the member at a position of a statement that has changed the first `changed` records. */
function readPrefix(changed: unknown, at: number) {
  const count = storedNumber(changed);
  return { isHead: count >= at, hasChanged: count > at, result: count > at };
}

/** Returns the functions that change single tokens. */
export function tokenWrites(connections: Connections, sets: ContainerSets) {
  /**
   * Runs a change together with others. A change with a reply runs alone, and its entry and reply are written after it.
   * `isKeyFirst` checks the idempotency key first, for a change that would fail when repeated.
   */
  function run<T>(change: TokenChange<T>, audit: AuditDraft, { isKeyFirst }: { readonly isKeyFirst: boolean }) {
    if (audit.reply === undefined) return connections.join({ ...change, audit });
    return connections.changeTokens(async (transaction) => {
      if (isKeyFirst) await requireFree(transaction.run, audit);
      return runAlone(transaction, { ...change, audit });
    });
  }

  return {
    insertToken: (token, indexes, options, audit) =>
      sets.ensured([{ token, indexes }], () => run(insertion(token, indexes, options), audit, { isKeyFirst: true })),

    replaceToken: (token, indexes, expected, audit) =>
      sets.ensured([{ token, indexes }], () =>
        run(replacement(token, indexes, expected), audit, { isKeyFirst: false }),
      ),

    deleteToken: async (tombstone, expectedRevision, audit) => {
      const tenant = uuidKey(tombstone.tenant_id);
      return connections.join({
        audit,
        isRemoval: true,
        tokens: [tombstone],
        written: true,
        ...sharing({
          key: `remove ${tenant}`,
          id: tombstone.id,
          row: removeRow(tombstone, expectedRevision),
          bind: (chain, places, rows) => [
            [TOKEN_CHANGES.remove, [...placesOf(chain, places), tenant, ...toColumns(rows)]],
          ],
        }),
        read([rows], at) {
          const [head, changed] = rows?.[0] ?? [];
          return head === 1 ? readPrefix(changed, at) : { ...PLACE_TAKEN, result: false };
        },
      });
    },

    markActive: async (tenantId, ids, month) => {
      const marked = [...new Set(ids)].filter(isStorableText);
      return connections.join({
        tokens: marked.map((id) => ({ tenant_id: tenantId, id })),
        statements: (_, chain) => [[TOKEN_CHANGES.mark, [chain, uuidKey(tenantId), marked, month]]],
        read: () => ({ isHead: true, hasChanged: false, result: undefined }),
      });
    },
  } satisfies Partial<Store>;
}
