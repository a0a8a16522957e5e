import type { AuditDraft, AuthorityDraft } from '../../core/audit/ports.ts';
import type { Instant, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { SnapshotReads } from '../../core/scan-ports.ts';
import { isExpired } from '../../core/time.ts';
import { Rollback } from '../rows/rollback.ts';
import { sharedMethods } from '../rows/shared-store.ts';
import type { StepRunner } from '../rows/store-steps.ts';
import { insertReply, requireFree } from '../rows/stored-replies.ts';
import { removeKey } from '../rows/tenants.ts';
import type { Session } from './commit/session.ts';
import { readHeader } from './file/header-table.ts';
import { inspectTables } from './file/inspect-tables.ts';
import { auditRows } from './tables/audit-rows.ts';
import { authorityScan } from './tables/authority-scan.ts';
import { containerSets } from './tables/container-sets.ts';
import { fileDialect } from './tables/file-dialect.ts';
import { performer } from './tables/perform.ts';
import { type RemovedToken, tenantRows } from './tables/tenant-rows.ts';
import { tokenChanges } from './tables/token-changes.ts';
import { tokenCounts } from './tables/token-counts.ts';
import { tokenIndex } from './tables/token-index.ts';
import { tokenLists } from './tables/token-lists.ts';
import { tokenRows } from './tables/token-rows.ts';

/** The entries of a reset: of the removal of all tokens, and of each removed key. */
interface ResetEntries {
  tokensRemoved(tokens: Iterable<RemovedToken>): AuditDraft;
  keyRemoved(keyId: number): AuthorityDraft;
}

/**
 * A store in one file of this machine, with operations that only a file store has. Only commands for the holder of the
 * file's key use these operations; handlers use `Store`. Paths are absolute.
 */
export interface FileStore extends Store {
  /**
   * Removes all tokens, tombstones and counters of a tenant, and these of its keys, in one step. Keeps the applications
   * and the stored replies. Resolves to the number of removed tokens, including expired ones.
   */
  removeAllTokens(tenantId: string, keyIds: readonly number[], entries: ResetEntries): Promise<number>;

  /** Limits the page cache to `kib` KiB, for a caller that reads each row once. */
  limitCache(kib: number): void;
}

/**
 * Returns the store in one SQLite file. Each method is one read or one transaction of its session; the modules of the
 * tables do the work. Other processes may have the same file open: the next call sees their commits.
 */
export function sqliteStore(session: Session): FileStore {
  const { connection } = session;
  const tenants = tenantRows(connection);
  const tokens = tokenRows(connection);
  const sets = containerSets(connection);
  const counts = tokenCounts(connection, tenants);
  const changes = tokenChanges(connection, { tenants, tokens, sets, index: tokenIndex(connection, sets), counts });
  const audits = auditRows(connection);
  const scan = authorityScan(connection);
  const lists = tokenLists(connection, tenants, sets);
  const dialect = fileDialect(connection, sets);
  const perform = performer(connection, record);

  /** Writes the entry and the reply of a change in its transaction. */
  function record(audit: AuditDraft | AuthorityDraft): void {
    audits.append('sealed' in audit ? audit : audits.placed(audit));
    if (audit.reply !== undefined) perform(insertReply(dialect, audit.reply));
  }

  /** Records a change if it was made. Returns `changed`. */
  function audited(changed: boolean, audit: AuditDraft): boolean {
    if (changed) record(audit);
    return changed;
  }

  const read: StepRunner['read'] = (steps) => session.read(() => perform(steps()));
  const runner: StepRunner = {
    read,
    readSlow: read,
    inspectSnapshot: read,
    async change(residue, steps) {
      const changed = await session.write(residue === 'added' ? residue : 'removed', () => perform(steps()));
      // Resolve after emptying the write-ahead log, unless another process reads the log until the deadline.
      if (residue === 'destroyed' && changed) await session.emptyLog();
      return changed;
    },
  };

  function findPresented(tenantId: string, id: string, now: Instant, tenant = tenants.find(tenantId)) {
    const record = tenant === undefined ? undefined : tokens.findPresented(tenantId, tenant, id);
    return record === undefined || isExpired(record, now) ? undefined : record;
  }

  /** Returns the result of a read in an open snapshot; if it fails, that of `again`, or the promise of its problem. */
  function orAgain<T>(query: () => T, again = query): T | Promise<T> {
    try {
      return query();
    } catch {
      return session.read(again);
    }
  }

  return {
    ...sharedMethods({ dialect, ...runner }),
    readNow(query) {
      /** The tenant of the last read. Its number cannot change within the snapshot. */
      let last: { readonly id: string; readonly tenant: number | undefined } | undefined;
      const reads: SnapshotReads = {
        followAudit: audits.read,
        findPresentedToken: (tenantId, id, now) =>
          orAgain(
            () => {
              if (last?.id !== tenantId) last = { id: tenantId, tenant: tenants.find(tenantId) };
              return findPresented(tenantId, id, now, last.tenant);
            },
            () => findPresented(tenantId, id, now),
          ),
        findTokens: (...query) => orAgain(() => lists.findTokens(...query)),
      };
      return session.readNow(() => query(reads));
    },
    ping: () => session.ping(),

    insertToken: (token, indexes, options, audit) =>
      session.write('added', () => {
        perform(requireFree(dialect, audit));
        const result = changes.insert(token, indexes, options);
        audited(result.outcome === 'inserted', audit);
        return result;
      }),
    insertTokens: (tokens, now, audit) =>
      session.write('added', () => {
        perform(requireFree(dialect, audit));
        const obstacles = changes.insertAll(tokens, now);
        if (obstacles.length > 0) throw new Rollback(obstacles);
        record(audit);
        return obstacles;
      }),
    findToken: (tenantId, id, now) =>
      session.read(() => {
        const tenant = tenants.find(tenantId);
        const record = tenant === undefined ? undefined : tokens.find(tenantId, tenant, id)?.record;
        return record === undefined || isExpired(record, now) ? undefined : record;
      }),
    findPresentedToken: (...query) => session.read(() => findPresented(...query)),
    findTokens: (...query) => session.read(() => lists.findTokens(...query)),
    walkTokens: (...query) => session.read(() => lists.walkTokens(...query)),
    scanTokens: (...query) => session.read(() => lists.scanTokens(...query)),
    findDuplicate: (...query) => session.read(() => changes.findDuplicate(...query)),
    replaceToken: (token, indexes, { revision, now }, audit) =>
      session.write('removed', () => audited(changes.replace(token, indexes, revision, now), audit)),
    resealTokens: (...resealed) => session.write('removed', () => changes.reseal(...resealed)),
    deleteToken: (tombstone, expectedRevision, audit) =>
      session.write('removed', () => audited(changes.delete(tombstone, expectedRevision), audit)),
    markActive: (tenantId, ids, month) => session.write('added', () => counts.markActive(tenantId, ids, month)),

    appendAudit: (drafts) => session.write('added', () => audits.append(...drafts)),
    appendAuthority: (draft) => session.write('added', () => audits.append(audits.placed(draft))),
    // Callers read right after this, on the same snapshot: for SQLite, locking and unlocking the file takes longer than
    // finding a row.
    followAudit: (...query) => session.read(() => audits.read(...query), true),
    scanAuthority: (limit) =>
      session.read(() => ({
        rows: audits.tail(limit),
        mac: readHeader(connection)?.mac ?? new Uint8Array(),
        ...scan(),
      })),
    acceptLoss() {
      throw new Problem('integrity_failure', { cause: new Error('the audit of the open file went back') });
    },
    readAudit: (after, limit) => session.read(() => audits.read(after, limit)),
    auditHead: () => session.read(() => audits.end()),
    logIndexEnd: () => session.read(() => audits.logEnd()),
    indexLog: (...added) => session.write('added', () => audits.indexLog(...added)),
    findLogged: (...query) => session.read(() => audits.findLogged(...query)),
    findUnlogged: (rows) => session.read(() => audits.findUnlogged(rows)),
    countLogIndex: (upTo) => session.read(() => audits.countLog(upTo)),
    moveBase: (...moved) => session.write('removed', () => audits.moveBase(...moved)),

    async removeAllTokens(tenantId, keyIds, entries) {
      const removed = await session.write('removed', () => {
        const tenant = tenants.find(tenantId);
        if (tenant === undefined) return 0;
        const entry = entries.tokensRemoved(tenants.tokensOf(tenant));
        const count = tenants.empty(tenant);
        audits.append(entry);
        for (const keyId of keyIds) {
          if (perform(removeKey(dialect, tenant, keyId))) record(entries.keyRemoved(keyId));
        }
        return count;
      });
      await session.emptyLog();
      return removed;
    },

    inspect: () => session.read(() => inspectTables(connection)),
    limitCache: (kib) => void connection.pragma(`cache_size = -${kib}`),
    close: () => session.close(),
  };
}
