import type { EndedApplications, Removal } from '../../core/application-ports.ts';
import type { AuditDraft, AuthorityDraft } from '../../core/audit/ports.ts';
import type { Instant, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { SnapshotReads } from '../../core/scan-ports.ts';
import { isExpired } from '../../core/time.ts';
import { Rollback } from '../rows/rollback.ts';
import type { Session } from './commit/session.ts';
import { readHeader } from './file/header-table.ts';
import { inspectTables } from './file/inspect-tables.ts';
import { applicationKeyRows } from './tables/application-key-rows.ts';
import { applicationRows } from './tables/application-rows.ts';
import { auditRows } from './tables/audit-rows.ts';
import { changeRow } from './tables/change-row.ts';
import { containerSets } from './tables/container-sets.ts';
import { expiredRows } from './tables/expired-rows.ts';
import { keyRotation } from './tables/key-rotation.ts';
import { replyRows } from './tables/reply-rows.ts';
import { rowInspection } from './tables/row-inspection.ts';
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
  const keys = applicationKeyRows(connection, tenants);
  const applications = applicationRows(connection, tenants, keys);
  const tokens = tokenRows(connection);
  const sets = containerSets(connection);
  const counts = tokenCounts(connection, tenants);
  const changes = tokenChanges(connection, { tenants, tokens, sets, index: tokenIndex(connection, sets), counts });
  const rotation = keyRotation(connection, tenants);
  const expired = expiredRows(connection);
  const inspection = rowInspection(connection, tenants, sets);
  const change = changeRow(connection);
  const audits = auditRows(connection);
  const lists = tokenLists(connection, tenants, sets);
  const replies = replyRows(connection, tenants);

  /** Writes the entry and the reply in the change's transaction, if the change was made. Returns `changed`. */
  function audited(changed: boolean, audit: AuditDraft | AuthorityDraft | undefined): boolean {
    if (!changed || audit === undefined) return changed;
    audits.append('sealed' in audit ? audit : audits.placed(audit));
    replies.insert(audit);
    return true;
  }

  /** Writes the entry of removed applications and keys, and removes the replies to the applications. */
  function recordEnd(tenantId: string, ended: EndedApplications, removal: Removal): void {
    audited(true, removal.entry(ended));
    replies.removeOf(
      tenantId,
      ended.applications.map(({ id }) => id),
    );
  }

  /** Records what a change has removed. Returns whether it has removed something. */
  function removed(tenantId: string, ended: EndedApplications | undefined, removal: Removal): boolean {
    if (ended !== undefined) recordEnd(tenantId, ended, removal);
    return ended !== undefined;
  }

  /**
   * Runs a change that destroys data. Resolves after emptying the write-ahead log, unless another process reads the log
   * until the deadline.
   */
  async function destroy(write: () => boolean): Promise<boolean> {
    const changed = await session.write('removed', write);
    if (changed) await session.emptyLog();
    return changed;
  }

  function findPresented(tenantId: string, id: string, now: Instant, tenant = tenants.find(tenantId)) {
    const record = tenant === undefined ? undefined : tokens.findPresented(tenantId, tenant, id);
    return record === undefined || isExpired(record, now) ? undefined : record;
  }

  const followAudit = (first: number, limit: number) => audits.read(first - 1, limit);

  /** Returns the reads of one snapshot. Finds a tenant's number once, since it cannot change within the snapshot. */
  function snapshotReads(): SnapshotReads {
    let last: { readonly id: string; readonly tenant: number | undefined } | undefined;
    return {
      followAudit,
      findPresentedToken(tenantId, id, now) {
        if (last?.id !== tenantId) last = { id: tenantId, tenant: tenants.find(tenantId) };
        return findPresented(tenantId, id, now, last.tenant);
      },
      findTokens: lists.findTokens,
    };
  }

  return {
    readNow: (query) => session.readNow(() => query(snapshotReads())),
    findAuthority: (keyHash, now) =>
      session.read(() => {
        const found = keys.findByHash(keyHash, now);
        const owner = found && tenants.findWithKeysByNumber(found.tenant);
        const application = found && applications.find(found.record.tenant_id, found.record.application_id, now);
        return owner && application && { key: found.record, application, ...owner };
      }),
    ping: () => session.ping(),

    insertTenant: (tenant, tenantKeys, { application, key }, audit) =>
      session.write('added', () => {
        tenants.insert(tenant, tenantKeys);
        applications.insert(application);
        keys.insert(key);
        audited(true, audit);
      }),
    findTenant: (id) => session.read(() => tenants.findWithKeys(id)),
    listTenantIds: () => session.read(() => tenants.listIds()),
    replaceTenant: (tenant, expectedRevision, audit) =>
      session.write('removed', () => audited(tenants.replace(tenant, expectedRevision), audit)),
    deleteTenant: (id, audit) => destroy(() => audited(tenants.remove(id), audit)),
    usage: (tenantId, month, now) => session.read(() => counts.usage(tenantId, month, now)),

    insertApplication: (application, audit, { key, minting } = {}) =>
      session.write('added', () => {
        applications.insert(application, minting);
        if (key !== undefined) keys.insert(key);
        audited(true, audit);
      }),
    findApplication: (tenantId, id, now) => session.read(() => applications.find(tenantId, id, now)),
    findApplications: (filter, page, now) => session.read(() => applications.page(filter, page, now)),
    replaceApplication: (application, expectedRevision, audit, regenerated) =>
      session.write('removed', () => {
        if (!applications.replace(application, expectedRevision)) return false;
        if (regenerated !== undefined) {
          if (!keys.insert(regenerated.key)) throw new Rollback(false);
          const { key, removal } = regenerated;
          const ended = applications.removeKeys(application, key, removal);
          if (ended.applications.length + ended.keys.length > 0) recordEnd(application.tenant_id, ended, removal);
        }
        return audited(true, audit);
      }),
    deleteApplication: (tenantId, id, revision, removal) =>
      session.write('removed', () => removed(tenantId, applications.remove(tenantId, id, revision, removal), removal)),
    findApplicationKey: (...query) => session.read(() => keys.find(...query)),
    findApplicationKeys: (...query) => session.read(() => keys.list(...query)),
    insertApplicationKey: (key, { most, now }, audit) =>
      session.write('added', () => {
        replies.requireFree(audit);
        keys.requireQuota(key, most, now);
        return audited(keys.insert(key), audit);
      }),
    deleteApplicationKey: (tenantId, applicationId, id, removal) =>
      session.write('removed', () =>
        removed(tenantId, applications.removeKey(tenantId, applicationId, id, removal), removal),
      ),
    markKeysUsed: (...used) => session.write('added', () => keys.markUsed(...used)),
    findReply: (...query) => session.read(() => replies.find(...query)),

    insertToken: (token, indexes, options, audit) =>
      session.write('added', () => {
        replies.requireFree(audit);
        const result = changes.insert(token, indexes, options);
        audited(result.outcome === 'inserted', audit);
        return result;
      }),
    insertTokens: (tokens, now, audit) =>
      session.write('added', () => {
        replies.requireFree(audit);
        const obstacles = changes.insertAll(tokens, now);
        if (obstacles.length > 0) throw new Rollback(obstacles);
        audited(true, audit);
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
    deleteToken: (tombstone, expectedRevision, audit) =>
      session.write('removed', () => audited(changes.delete(tombstone, expectedRevision), audit)),
    markActive: (tenantId, ids, month) => session.write('added', () => counts.markActive(tenantId, ids, month)),

    appendAudit: (drafts) => session.write('added', () => audits.append(...drafts)),
    appendAuthority: (draft) => session.write('added', () => audits.append(audits.placed(draft))),
    // Callers read right after this, on the same snapshot: for SQLite, locking and unlocking the file takes longer than
    // finding a row.
    followAudit: (...query) => session.read(() => followAudit(...query), true),
    scanAuthority: (limit) =>
      session.read(() => ({
        rows: audits.tail(limit),
        mac: readHeader(connection)?.mac ?? new Uint8Array(),
        tenants: tenants.revisions(),
        applications: applications.revisions(),
        keys: keys.revisions(),
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

    findExpired: (table, ...query) => session.read(() => expired[table](...query)),
    removeOldReplies: (now, limit) => session.write('removed', () => replies.removeOld(now, limit)),
    async claimSweep(now, interval) {
      // Read first: most callers do not get the claim, and a read needs no commit.
      if (!(await session.read(() => change.isSweepDue(now, interval)))) return false;
      return session.write('added', () => change.claimSweep(now, interval));
    },
    clockNote: () => session.read(() => change.clockNote()),
    replaceClockNote: (note, expected) => session.write('added', () => change.replaceClockNote(note, expected)),
    latestExpiry: (now) => session.read(() => change.latestExpiry(now)),
    nextExpiry: (now) => session.read(() => change.nextExpiry(now)),

    async header() {
      const header = await session.read(() => readHeader(connection));
      if (header === undefined) throw new Problem('integrity_failure');
      return header;
    },
    replaceHeader: (header, expected, audit) => destroy(() => audited(rotation.replaceHeader(header, expected), audit)),
    replaceMasterKey: (header, expected, keys, audit) =>
      destroy(() => {
        if (!rotation.replaceMasterKey(header, expected, keys)) throw new Rollback(false);
        return audited(true, audit);
      }),
    addTenantKey: (tenantId, key, audit) =>
      session.write('added', () => audited(rotation.addKey(tenantId, key), audit)),
    removeTenantKey: (tenantId, keyId, audit) => destroy(() => audited(rotation.removeKey(tenantId, keyId), audit)),
    countStale: (...query) => session.read(() => rotation.countStale(...query)),
    resealApplicationKeys: (...resealed) => session.write('removed', () => keys.reseal(...resealed)),
    resealTokens: (...resealed) => session.write('removed', () => changes.reseal(...resealed)),
    resealReplies: (tenantId, resealed) => session.write('removed', () => replies.reseal(tenantId, resealed)),
    async removeAllTokens(tenantId, keyIds, entries) {
      const removed = await session.write('removed', () => {
        const tenant = tenants.find(tenantId);
        if (tenant === undefined) return 0;
        const entry = entries.tokensRemoved(tenants.tokensOf(tenant));
        const count = tenants.empty(tenant);
        audits.append(entry);
        for (const keyId of keyIds) {
          if (rotation.removeKey(tenantId, keyId)) audited(true, entries.keyRemoved(keyId));
        }
        return count;
      });
      await session.emptyLog();
      return removed;
    },

    moveBase: (...moved) => session.write('removed', () => audits.moveBase(...moved)),
    inspect: () => session.read(() => inspectTables(connection)),
    inspectRows: (...query) => session.read(() => inspection.inspectRows(...query)),
    revisionsOf: (...query) =>
      session.read(() => ({ head: audits.end().sequence, rows: inspection.revisions(...query) })),

    limitCache: (kib) => void connection.pragma(`cache_size = -${kib}`),
    close: () => session.close(),
  };
}
