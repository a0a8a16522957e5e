import { REPLY_LIFE_MS } from '../../../contract/limits.ts';
import type { DraftedReply } from '../../../core/audit/ports.ts';
import type { Instant } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredReply } from '../../../core/reply-ports.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { replyColumns } from '../../rows/record-columns.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { TenantRows } from './tenant-rows.ts';
import { uuid, uuidKey } from './uuid-bytes.ts';

export const REPLY = replyColumns(uuid);

export type ReplyRow = StoredRow<Omit<StoredReply, 'tenant_id'>>;

/**
 * The tables `reply` and `reply_subject`; removing a reply also removes its subjects. All functions are synchronous;
 * writes run in the transaction of the change.
 */
export function replyRows(connection: Connection, tenants: TenantRows) {
  const { rows } = statements(connection);
  const byKey = rows<[number, Buffer | null, Uint8Array, Instant], ReplyRow>(
    `SELECT ${REPLY.of('reply')} FROM reply
     WHERE tenant = +? AND application_id = +? AND key_hash = +? AND created_at > ?`,
  );
  const insertRow = rows<unknown[]>(REPLY.insertInto('reply', 'tenant'));
  const insertSubject = rows<[number | bigint, Uint8Array]>(
    'INSERT OR IGNORE INTO reply_subject (reply, blind) VALUES (?, ?)',
  );
  const emptyRows = rows<[Uint8Array]>(
    "UPDATE reply SET sealed = x'' WHERE reply IN (SELECT reply FROM reply_subject WHERE blind = +?)",
  );
  const removeByKey = rows<[number, Buffer | null, Uint8Array]>(
    'DELETE FROM reply WHERE tenant = +? AND application_id = +? AND key_hash = +?',
  );
  const removeByApplication = rows<[number, Buffer | null]>(
    'DELETE FROM reply WHERE tenant = +? AND application_id = +?',
  );
  const removeOld = rows<[Instant, number]>(
    'DELETE FROM reply WHERE reply IN (SELECT reply FROM reply WHERE created_at <= ? LIMIT +?)',
  );

  function find(tenantId: string, applicationId: string, keyHash: Uint8Array, now: Instant): StoredReply | undefined {
    const tenant = tenants.find(tenantId);
    if (tenant === undefined) return undefined;
    const row = byKey().get(tenant, uuidKey(applicationId), keyHash, now - REPLY_LIFE_MS);
    return row && REPLY.read(row, { tenant_id: tenantId });
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

    /** Stores the draft's reply. Throws `write_conflict` if the idempotency key already has one. */
    insert(draft: DraftedReply): void {
      const { reply, subjects, shows = [] } = draft;
      if (reply === undefined) return;
      requireFree(draft);
      const tenant = tenants.need(reply.tenant_id);
      removeByKey().run(tenant, uuidKey(reply.application_id), reply.key_hash);
      const { lastInsertRowid } = insertRow().run(...REPLY.values(reply), tenant);
      for (const blind of [...subjects.map((subject) => subject.blind), ...shows]) {
        insertSubject().run(lastInsertRowid, blind);
      }
    },

    /** Empties the stored replies that show a removed record. */
    empty({ subjects }: DraftedReply): void {
      for (const { blind } of subjects) emptyRows().run(blind);
    },

    /** Removes the replies to removed applications. */
    removeOf(tenantId: string, applicationIds: readonly string[]): void {
      const tenant = tenants.need(tenantId);
      for (const id of applicationIds) removeByApplication().run(tenant, uuidKey(id));
    },

    /** Removes at most `limit` expired replies. */
    removeOld: (now: Instant, limit: number): number => removeOld().run(now - REPLY_LIFE_MS, limit).changes,
  };
}
