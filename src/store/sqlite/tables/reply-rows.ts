import { REPLY_LIFE_MS } from '../../../contract/limits.ts';
import type { DraftedReply } from '../../../core/audit/ports.ts';
import type { Instant } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { ResealedReply, StoredReply } from '../../../core/reply-ports.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { replyColumns } from '../../rows/record-columns.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey } from './uuid-bytes.ts';

export const REPLY_ROW = replyColumns(uuid);

export type ReplyRow = StoredRow<Omit<StoredReply, 'tenant_id'>>;

/** The functions for the table `reply`. All are synchronous; writes run in the transaction of the change. */
export function replyRows(connection: Connection, tenants: TenantRows) {
  const { rows } = statements(connection);
  const byKey = rows<[number, Buffer | null, Uint8Array, Instant], ReplyRow>(
    `SELECT ${REPLY_ROW.of('reply')} FROM reply
     WHERE tenant = +? AND application_id = +? AND key_hash = +? AND created_at > ?`,
  );
  const insertRow = rows<unknown[]>(REPLY_ROW.insertInto('reply', 'tenant'));
  const removeByKey = rows<[number, Buffer | null, Uint8Array]>(
    'DELETE FROM reply WHERE tenant = +? AND application_id = +? AND key_hash = +?',
  );
  const removeByApplication = rows<[number, Buffer | null]>(
    'DELETE FROM reply WHERE tenant = +? AND application_id = +?',
  );
  const removeOld = rows<[Instant, number]>(
    'DELETE FROM reply WHERE reply IN (SELECT reply FROM reply WHERE created_at <= ? LIMIT +?)',
  );

  const resealRow = rows<[number, Uint8Array, number, Buffer | null, Uint8Array, number]>(
    `UPDATE reply SET key_id = ?, sealed = ?
     WHERE tenant = +? AND application_id = +? AND key_hash = +? AND key_id = +?`,
  );

  function find(tenantId: string, applicationId: string, keyHash: Uint8Array, now: Instant): StoredReply | undefined {
    const tenant = tenants.find(tenantId);
    if (tenant === undefined) return undefined;
    const row = byKey().get(tenant, uuidKey(applicationId), keyHash, now - REPLY_LIFE_MS);
    return row && REPLY_ROW.read(row, { tenant_id: tenantId });
  }

  /**
   * Throws `write_conflict` if the idempotency key already has a reply. Call it before a change that would fail when
   * repeated.
   */
  function requireFree({ reply }: DraftedReply): void {
    if (reply === undefined) return;
    const { tenant_id, application_id, key_hash, created_at } = reply;
    if (find(tenant_id, application_id, key_hash, created_at) !== undefined) throw new Problem('write_conflict');
  }

  return {
    find,

    requireFree,

    /**
     * Stores the draft's reply. Throws `write_conflict` if the idempotency key already has one, or if the reply is
     * under an older data key.
     */
    insert(draft: DraftedReply): void {
      const { reply } = draft;
      if (reply === undefined) return;
      requireFree(draft);
      const tenant = tenants.need(reply.tenant_id);
      tenants.requireNewestKeys(tenant, { key_id: reply.key_id });
      removeByKey().run(tenant, uuidKey(reply.application_id), reply.key_hash);
      insertRow().run(...REPLY_ROW.values(reply), tenant);
    },

    /** Removes the replies that were stored for calls of removed applications. */
    removeOf(tenantId: string, applicationIds: readonly string[]): void {
      const tenant = tenants.need(tenantId);
      for (const id of applicationIds) removeByApplication().run(tenant, uuidKey(id));
    },

    /** Replaces the replies that are still those that were read. Returns their number. */
    reseal(tenantId: string, changes: readonly ResealedReply[]): number {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return 0;
      const replaced = changes.filter(({ before: { application_id, key_hash, key_id }, after }) => {
        const key = [tenant, uuidKey(application_id), key_hash, key_id] as const;
        return resealRow().run(after.key_id, after.sealed, ...key).changes > 0;
      });
      return replaced.length;
    },

    /** Removes at most `limit` expired replies. */
    removeOld: (now: Instant, limit: number): number => removeOld().run(now - REPLY_LIFE_MS, limit).changes,
  };
}
