import type { AuditDraft } from '../../core/audit/ports.ts';
import type { InsertObstacle, InsertTokenOutcome } from '../../core/insert-ports.ts';
import type { Store, TokenIndexes, TokenRecord } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Scalar } from '../rows/fragment.ts';
import { Rollback } from '../rows/rollback.ts';
import { requireFree } from '../rows/stored-replies.ts';
import { isStorableText, storableText } from '../rows/stored-value.ts';
import { TOKEN_TYPE_CODES } from '../rows/type-codes.ts';
import { type Connections, entryParameters, type QueuedWrite } from './connections.ts';
import { type ContainerSets, setOf } from './container-sets.ts';
import { DIALECT } from './dialect.ts';
import { perform } from './perform.ts';
import { runAll, runAlone } from './queued-writes.ts';
import { type NamedStatement, storedList } from './sql-client.ts';
import { idKey, toTokenRecord } from './token-reads.ts';
import { TOKEN_CHANGES } from './token-statements.ts';
import { blindText, uuidKey, uuidValue } from './uuid-text.ts';

function toColumns(rows: readonly (readonly Scalar[])[]): readonly (readonly Scalar[])[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

function ownerOf({ tenant_id, key_id, index_key_id }: TokenRecord): readonly Scalar[] {
  return [uuidKey(tenant_id), key_id, index_key_id];
}

const listText = (blinds: readonly string[]) => `{${blinds.join()}}`;

/**
 * Returns the last columns of a row: the blind indexes as a text, the fingerprint first and without the containers; the
 * sealed values; the containers and their set. Without indexes, `resealTokens` keeps those of the token.
 */
function lastOf(token: TokenRecord, indexes: TokenIndexes | undefined): readonly Scalar[] {
  const { clear, presented, full } = token;
  if (indexes === undefined) return [null, clear, presented, full, listText([]), null];
  const [containers, setName] = setOf(indexes);
  const blinds = new Set([indexes.fingerprint, ...indexes.others].map(blindText));
  return [listText([...blinds]), clear, presented, full, listText(containers), setName];
}

type TokenChange<T> = Omit<QueuedWrite<T>, 'audit'>;

function insertion(
  token: TokenRecord,
  indexes: TokenIndexes,
  { deduplicate, now }: { readonly deduplicate: boolean; readonly now: number },
): TokenChange<InsertTokenOutcome> {
  /** The fingerprint under each index key, newest first. */
  const fingerprints = [indexes.fingerprint, ...(indexes.former ?? [])].map(blindText);
  const owner = ownerOf(token);
  const { id, type, created_at, expires_at, revision, active_month } = token;
  const clear = [storableText(id), TOKEN_TYPE_CODES[type], created_at, expires_at, revision, active_month];
  return {
    written: { outcome: 'inserted' },
    shared: deduplicate ? undefined : { key: owner.join(), id },
    row: [...clear, ...lastOf(token, indexes)],
    statements(drafts, rows) {
      const values = [...entryParameters(drafts), ...owner];
      if (rows.length > 1) return [[TOKEN_CHANGES.createTokens, [...values, ...toColumns(rows)]]];
      values.push(...rows.flat());
      if (!deduplicate) return [[TOKEN_CHANGES.createToken, values]];
      return [[TOKEN_CHANGES.createTokenUnlessDuplicate, [...values, fingerprints, now]]];
    },
    read([rows], at) {
      const answer = rows?.[0];
      if (answer === undefined) throw new Problem('unauthenticated');
      const [hasKeys, inserted, ...duplicate] = answer;
      if (hasKeys !== true) throw new Problem('write_conflict');
      if (typeof duplicate[0] === 'string') {
        const found = toTokenRecord(token.tenant_id, duplicate);
        return { hasChanged: false, result: { outcome: 'duplicate', token: found } };
      }
      const { hasChanged } = readChanged(inserted, at);
      return { hasChanged, result: { outcome: hasChanged ? 'inserted' : 'id_taken' } };
    },
  };
}

/** Returns the change that replaces a token. `expected` has the values that the statement compares. */
function replacement(
  statement: NamedStatement,
  token: TokenRecord,
  indexes: TokenIndexes | undefined,
  expected: readonly Scalar[],
): TokenChange<boolean> {
  const owner = ownerOf(token);
  const { id, expires_at, revision } = token;
  return {
    written: true,
    shared: { key: `${statement.name} ${owner.join()}`, id },
    row: [idKey(id), ...expected, expires_at, revision, ...lastOf(token, indexes)],
    statements(drafts, rows) {
      const lists = toColumns(rows);
      return [
        [statement, [...entryParameters(drafts), ...owner, ...lists]],
        [TOKEN_CHANGES.reindexTokens, [owner[0], lists[0]]],
      ];
    },
    read([rows], at) {
      const [hasKeys, changed] = rows?.[0] ?? [];
      if (hasKeys === false) throw new Problem('write_conflict');
      return readChanged(changed, at);
    },
  };
}

/**
 * Returns the answer of the write at a position of a statement that has changed the records at the positions `changed`.
 */
function readChanged(changed: unknown, at: number) {
  const hasChanged = changed !== null && storedList(changed).includes(at + 1);
  return { hasChanged, result: hasChanged };
}

export function tokenWrites(connections: Pick<Connections, 'change' | 'join'>, sets: Pick<ContainerSets, 'ensured'>) {
  /** A change with a reply runs alone. `isKeyFirst` checks its key first: the change would fail when repeated. */
  function run<T>(change: TokenChange<T>, audit: AuditDraft, { isKeyFirst }: { readonly isKeyFirst: boolean }) {
    if (audit.reply === undefined) return connections.join({ ...change, audit });
    return connections.change(async (transaction) => {
      if (isKeyFirst) await perform(transaction.run, requireFree(DIALECT, audit));
      return runAlone(transaction, { ...change, audit });
    });
  }

  return {
    insertToken: (token, indexes, options, audit) =>
      sets.ensured([{ token, indexes }], () => run(insertion(token, indexes, options), audit, { isKeyFirst: true })),

    insertTokens: (tokens, now, audit) =>
      sets.ensured(tokens, () =>
        connections.change(async (transaction) => {
          await perform(transaction.run, requireFree(DIALECT, audit));
          const insertions = tokens.map(({ token, indexes, deduplicate }) =>
            insertion(token, indexes, { deduplicate, now }),
          );
          const obstacles = (await runAll(transaction, insertions)).flatMap((result, at): InsertObstacle[] => {
            if (result.outcome === 'inserted') return [];
            return [{ at, duplicate: result.outcome === 'duplicate' ? result.token : undefined }];
          });
          if (obstacles.length > 0) throw new Rollback(obstacles);
          await transaction.record(audit);
          return [];
        }),
      ),

    replaceToken: (token, indexes, { revision, now }, audit) =>
      sets.ensured([{ token, indexes }], () =>
        run(replacement(TOKEN_CHANGES.replaceTokens, token, indexes, [revision, now]), audit, { isKeyFirst: false }),
      ),

    resealTokens(_tenantId, changes) {
      const written = changes.flatMap(({ after, indexes }) => (indexes ? [{ token: after, indexes }] : []));
      return sets.ensured(written, () =>
        connections.change(async (transaction) => {
          const replacements = changes.map(({ before: { revision, key_id, index_key_id }, after, indexes }) =>
            replacement(TOKEN_CHANGES.resealTokens, after, indexes, [revision, key_id, index_key_id]),
          );
          return (await runAll(transaction, replacements)).filter(Boolean).length;
        }),
      );
    },

    deleteToken: async (tombstone, expectedRevision, audit) => {
      const { tenant_id, id, created_by, deleted_by, deleted_at, mac } = tombstone;
      const tenant = uuidKey(tenant_id);
      const deleter = deleted_by === undefined ? null : uuidValue(deleted_by);
      return connections.join({
        audit,
        written: true,
        shared: { key: `remove ${tenant}`, id },
        row: [idKey(id), expectedRevision, uuidValue(created_by), deleter, deleted_at, mac],
        statements: (drafts, rows) => [
          [TOKEN_CHANGES.removeTokens, [...entryParameters(drafts), tenant, ...toColumns(rows)]],
        ],
        read([rows], at) {
          const [changed] = rows?.[0] ?? [];
          return readChanged(changed ?? null, at);
        },
      });
    },

    markActive: async (tenantId, ids, month) => {
      const marked = [...new Set(ids)].filter(isStorableText);
      return connections.join({
        written: undefined,
        statements: () => [[TOKEN_CHANGES.markTokens, [uuidKey(tenantId), marked, month]]],
        read: () => ({ hasChanged: false, result: undefined }),
      });
    },
  } satisfies Partial<Store>;
}
