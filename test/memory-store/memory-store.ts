import { TOKEN_TYPE_NAMES } from '../../src/contract/token-types.ts';
import type { InsertObstacle } from '../../src/core/insert-ports.ts';
import type {
  ApplicationRecord,
  Instant,
  PresentedToken,
  Store,
  TokenIndexes,
  TokenRecord,
  VaultHeader,
} from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import type { ScanPosition, SnapshotReads } from '../../src/core/scan-ports.ts';
import { noLeftRows } from '../../src/store/rows/left-rows.ts';
import { requireRoom } from '../../src/store/rows/require-room.ts';
import { decoded } from '../../src/store/rows/stored-value.ts';
import { bytesKey, matchesToken } from './matches-token.ts';
import { blindsOf, MemoryState, memoryMaintenance, replyKey } from './memory-maintenance.ts';
import {
  type HeldToken,
  isLive,
  type MemoryTenant,
  memoryTenant,
  newestFirst,
  oldestFirst,
  pageOf,
  requireNewestKeys,
} from './memory-tenant.ts';

const NO_HEADER: VaultHeader = {
  vault_id: 'memory',
  format: 1,
  created_at: 0,
  generation: 1,
  slots: [],
  mac: new Uint8Array(0),
};

/**
 * Creates a store in memory for tests of the core. It shows the contract of the port in the plainest code. `daemons` is
 * the number of audit chains that take the changes of tokens and applications in turn.
 */
export function createMemoryStore(header: VaultHeader = NO_HEADER, daemons = 0): Store {
  const state = new MemoryState(header, daemons);
  let sweptAt = 0;
  let clockNote = '';

  /** Returns the tenant of a write. Throws `unauthenticated` when it was deleted (decisions §8). */
  function need(id: string): MemoryTenant {
    state.writing();
    const held = state.tenants.get(id);
    if (held === undefined) throw new Problem('unauthenticated');
    return held;
  }

  function insert(held: MemoryTenant, token: TokenRecord, indexes: TokenIndexes): void {
    held.tokens.set(token.id, { record: token, blinds: blindsOf(indexes) });
    held.lastCreated.set(token.type, Math.max(token.created_at, held.lastCreated.get(token.type) ?? token.created_at));
    held.active.set(token.active_month, (held.active.get(token.active_month) ?? 0) + 1);
  }

  function addApplication(held: MemoryTenant, application: ApplicationRecord): void {
    const { id, parent_id } = application;
    requireNewestKeys(held, application);
    if (parent_id !== undefined && !held.applications.has(parent_id)) throw new Problem('unauthenticated');
    if (held.applications.has(id)) throw new Error('the id of the application is taken');
    held.applications.set(id, application);
    state.authorityChanges += 1;
  }

  /** Removes the children of an application, and itself with `own`. Returns the removed ids, its own first. */
  function removeApplication(held: MemoryTenant, id: string, own: readonly string[] = [id]): readonly string[] {
    const children = [...held.applications.values()].filter((other) => other.parent_id === id);
    const removed = [...own, ...children.map((child) => child.id)];
    for (const one of removed) held.applications.delete(one);
    for (const [key, { reply }] of held.replies) if (removed.includes(reply.application_id)) held.replies.delete(key);
    state.authorityChanges += 1;
    return removed;
  }

  function readToken(tenantId: string, id: string, now: Instant): TokenRecord | undefined {
    state.assertOpen();
    const record = state.tenants.get(tenantId)?.tokens.get(id)?.record;
    return record !== undefined && isLive(record, now) ? record : undefined;
  }

  const reads: SnapshotReads = {
    get authorityVersion() {
      state.assertOpen();
      return String(state.authorityChanges);
    },

    findPresentedToken(tenantId, id, now) {
      const record = readToken(tenantId, id, now);
      return record && presentedOf(record);
    },

    findTokens(filter, page, now) {
      state.assertOpen();
      const found = [...(state.tenants.get(filter.tenant_id)?.tokens.values() ?? [])]
        .filter((token) => isLive(token.record, now) && matchesToken(token, filter))
        .map((token) => token.record)
        .sort(newestFirst)
        .map(presentedOf);
      return pageOf(found, page);
    },
  };

  /** Returns the tokens after a position, in the order of lists. */
  function behind(tenantId: string, after: ScanPosition | undefined): readonly HeldToken[] {
    state.assertOpen();
    return [...(state.tenants.get(tenantId)?.tokens.values() ?? [])]
      .sort((a, b) => newestFirst(a.record, b.record))
      .filter(({ record }) => after === undefined || newestFirst(record, after) > 0);
  }

  return {
    ...memoryMaintenance(state),

    readNow: (query) => query(reads),

    async authorityVersion() {
      return reads.authorityVersion;
    },

    async findAuthority(keyHash, now) {
      state.assertOpen();
      for (const { record, keys, applications } of state.tenants.values()) {
        for (const application of applications.values()) {
          if (Buffer.compare(application.key_hash, keyHash) === 0 && isLive(application, now)) {
            return { application, tenant: record, keys };
          }
        }
      }
      return undefined;
    },

    async ping() {
      state.assertOpen();
    },

    async insertTenant(tenant, keys, application, audit) {
      state.writing();
      if (state.tenants.has(tenant.id)) throw new Error('the id of the tenant is taken');
      if (keys.some((key) => key.generation !== state.header.generation)) throw new Problem('write_conflict');
      const held = memoryTenant(tenant, keys);
      requireNewestKeys(held, tenant);
      addApplication(held, application);
      state.tenants.set(tenant.id, held);
      state.audited(audit, state.root);
    },

    async findTenant(id) {
      state.assertOpen();
      const held = state.tenants.get(id);
      return held && { tenant: held.record, keys: held.keys };
    },

    async listTenants() {
      state.assertOpen();
      const all = [...state.tenants.values()].sort((a, b) => oldestFirst(a.record, b.record));
      return all.map(({ record, keys }) => ({ tenant: record, keys }));
    },

    async replaceTenant(tenant, expectedRevision, audit) {
      state.writing();
      state.requireFree(audit);
      const held = state.tenants.get(tenant.id);
      if (held?.record.revision !== expectedRevision) return false;
      requireNewestKeys(held, tenant);
      const { owner_id, created_by, created_at } = held.record;
      held.record = { ...tenant, owner_id, created_by, created_at };
      state.authorityChanges += 1;
      state.audited(audit, state.root);
      return true;
    },

    async deleteTenant(id, audit) {
      state.writing();
      state.authorityChanges += 1;
      if (!state.tenants.delete(id)) return false;
      state.audited(audit, state.root);
      return true;
    },

    async usage(tenantId, month, now) {
      state.assertOpen();
      const held = state.tenants.get(tenantId);
      if (held === undefined) return { types: [], active: 0 };
      const live = [...held.tokens.values()].filter(({ record }) => isLive(record, now));
      const types = TOKEN_TYPE_NAMES.filter((type) => held.lastCreated.has(type)).map((type) => ({
        type,
        count: live.filter(({ record }) => record.type === type).length,
        last_created_at: held.lastCreated.get(type),
      }));
      return { types, active: held.active.get(month) ?? 0 };
    },

    async insertApplication(application, audit, minting) {
      state.requireFree(audit);
      const held = need(application.tenant_id);
      if (minting !== undefined) {
        const creator = held.applications.get(application.parent_id ?? '');
        if (Buffer.compare(creator?.key_hash ?? new Uint8Array(0), minting.key_hash) !== 0) {
          throw new Problem('unauthenticated');
        }
        const children = [...held.applications.values()].filter((other) => other.parent_id === creator?.id);
        const live = children.filter((child) => isLive(child, minting.now)).map((child) => child.expires_at ?? 0);
        const ends = live.filter((end) => end <= minting.latest);
        requireRoom(minting, ends.length, Math.min(...ends));
      }
      addApplication(held, application);
      state.audited(audit);
    },

    async findReply(tenantId, application_id, key_hash, now) {
      state.assertOpen();
      return state.findReply(tenantId, replyKey({ application_id, key_hash }), now);
    },

    async findApplication(tenantId, id, now) {
      state.assertOpen();
      const found = state.tenants.get(tenantId)?.applications.get(id);
      return found !== undefined && isLive(found, now) ? found : undefined;
    },

    async findApplications(filter, page, now) {
      state.assertOpen();
      const { tenant_id, ids, types, parent_id, latest = Number.POSITIVE_INFINITY } = filter;
      const found = [...(state.tenants.get(tenant_id)?.applications.values() ?? [])]
        .filter((application) => isLive(application, now))
        .filter(({ id, type }) => (ids?.includes(id) ?? true) && (types?.includes(type) ?? true))
        .filter((application) => parent_id === undefined || application.parent_id === parent_id)
        .filter(({ expires_at = latest }) => expires_at <= latest)
        .sort(newestFirst);
      return pageOf(found, page);
    },

    async replaceApplication(application, expectedRevision, audit, ended) {
      state.writing();
      state.requireFree(audit);
      const held = state.tenants.get(application.tenant_id);
      const stored = held?.applications.get(application.id);
      if (held === undefined || stored?.revision !== expectedRevision) return false;
      requireNewestKeys(held, application);
      const { type, parent_id, created_by, created_at } = stored;
      held.applications.set(application.id, { ...application, type, parent_id, created_by, created_at });
      state.authorityChanges += 1;
      const removed = ended === undefined ? [] : removeApplication(held, application.id, []);
      if (ended !== undefined && removed.length > 0) state.removed(ended(removed));
      state.audited(audit);
      return true;
    },

    async deleteApplication(tenantId, id, expectedRevision, audit) {
      state.writing();
      const held = state.tenants.get(tenantId);
      if (held === undefined || held.applications.get(id)?.revision !== expectedRevision) return false;
      state.removed(audit(removeApplication(held, id)));
      return true;
    },

    async insertTokens(members, now, audit) {
      state.requireFree(audit);
      for (const { token } of members) requireNewestKeys(need(token.tenant_id), token);
      const before = new Map([...state.tenants].map(([id, held]) => [id, copyOf(held)]));
      const obstacles: InsertObstacle[] = [];
      for (const [at, { token, indexes, deduplicate }] of members.entries()) {
        const held = need(token.tenant_id);
        const duplicate = deduplicate ? duplicateOf(held, indexes, now) : undefined;
        const isTaken = held.tokens.has(token.id) || held.tombstones.has(token.id);
        if (duplicate !== undefined || isTaken) obstacles.push({ at, duplicate });
        else insert(held, token, indexes);
      }
      if (obstacles.length === 0) state.audited(audit);
      else for (const [id, held] of before) state.tenants.set(id, held);
      return obstacles;
    },

    async insertToken(token, indexes, options, audit) {
      state.requireFree(audit);
      const held = need(token.tenant_id);
      // Look for a duplicate first: if there is one, nothing is stored and the id does not matter.
      requireNewestKeys(held, token);
      const duplicate = options.deduplicate ? duplicateOf(held, indexes, options.now) : undefined;
      if (duplicate !== undefined) return { outcome: 'duplicate', token: duplicate };
      if (held.tokens.has(token.id) || held.tombstones.has(token.id)) return { outcome: 'id_taken' };
      insert(held, token, indexes);
      state.audited(audit);
      return { outcome: 'inserted' };
    },

    async findToken(...query) {
      return readToken(...query);
    },

    async findPresentedToken(...query) {
      return reads.findPresentedToken(...query);
    },

    async findTokens(...query) {
      return reads.findTokens(...query);
    },

    async walkTokens(filter, { after, limit, skip, take }, now) {
      const slice = behind(filter.tenant_id, after).slice(0, limit);
      const found = slice.filter((token) => isLive(token.record, now) && matchesToken(token, filter));
      return {
        found: found.length,
        records: found.slice(skip, skip + take).map(({ record }) => presentedOf(record)),
        next: slice.length < limit ? undefined : slice.at(-1)?.record,
      };
    },
    async scanTokens(filter, { after, limit }, now) {
      const slice = behind(filter.tenant_id, after).slice(0, limit);
      return {
        records: slice
          .filter((token) => isLive(token.record, now) && matchesToken(token, filter))
          .map(({ record }) => presentedOf(record)),
        next: slice.length < limit ? undefined : slice.at(-1)?.record,
      };
    },

    async findDuplicate(tenantId, fingerprint, exceptId, now) {
      state.assertOpen();
      const held = state.tenants.get(tenantId);
      return held && oldestWith(held, fingerprint, exceptId, now);
    },

    async replaceToken(token, indexes, { revision, now }, audit) {
      state.writing();
      state.requireFree(audit);
      const held = state.tenants.get(token.tenant_id);
      const stored = held?.tokens.get(token.id)?.record;
      if (held === undefined || stored?.revision !== revision || !isLive(stored, now)) return false;
      requireNewestKeys(held, token);
      // Keep these members: the caller may have read the record before `markActive` changed its month.
      const { type, created_at, active_month } = stored;
      held.tokens.set(token.id, {
        record: { ...token, type, created_at, active_month },
        blinds: blindsOf(indexes),
      });
      state.audited(audit);
      return true;
    },

    async deleteToken(tombstone, expectedRevision, audit) {
      state.writing();
      const held = state.tenants.get(tombstone.tenant_id);
      if (held === undefined || held.tokens.get(tombstone.id)?.record.revision !== expectedRevision) return false;
      held.tokens.delete(tombstone.id);
      held.tombstones.set(tombstone.id, tombstone);
      state.removed(audit);
      return true;
    },

    async markActive(tenantId, ids, month) {
      state.writing();
      const held = state.tenants.get(tenantId);
      for (const id of ids) {
        const token = held?.tokens.get(id);
        if (held === undefined || token === undefined || token.record.active_month >= month) continue;
        held.tokens.set(id, { ...token, record: { ...token.record, active_month: month } });
        held.active.set(month, (held.active.get(month) ?? 0) + 1);
      }
    },

    async claimSweep(now, interval) {
      state.assertOpen();
      if (Math.abs(now - sweptAt) < interval) return false;
      state.writing();
      sweptAt = now;
      return true;
    },

    async clockNote() {
      state.assertOpen();
      return clockNote;
    },

    async replaceClockNote(note, expected) {
      state.assertOpen();
      if (clockNote !== expected) return false;
      state.writing();
      clockNote = note;
      return true;
    },

    async nextExpiry(now) {
      state.assertOpen();
      const all = [...state.tenants.values()].flatMap(({ tokens, applications }) => [
        ...[...tokens.values()].map(({ record }) => record.expires_at),
        ...[...applications.values()].map(({ expires_at }) => expires_at),
      ]);
      const next = Math.min(...all.map((at) => (at !== undefined && at > now ? at : Number.POSITIVE_INFINITY)));
      return Number.isFinite(next) ? next : undefined;
    },

    async latestExpiry(now) {
      state.assertOpen();
      let latest = 0;
      for (const { tokens, applications } of state.tenants.values()) {
        for (const { expires_at = 0 } of [
          ...[...tokens.values()].map(({ record }) => record),
          ...applications.values(),
        ]) {
          if (expires_at <= now) latest = Math.max(latest, expires_at);
        }
      }
      return latest;
    },

    async removeExpired(now, limit, expiryRecorder, left = noLeftRows()) {
      state.writing();
      let removed = 0;
      const { size } = left.token;
      for (const held of state.tenants.values()) {
        for (const { record } of [...held.tokens.values()]) {
          if (removed + left.token.size - size === limit) return removed;
          const row = `${record.tenant_id} ${record.id}`;
          if (isLive(record, now) || left.token.has(row)) continue;
          const expiry = decoded(() => expiryRecorder.recordExpiry(record, now));
          if (expiry === undefined) {
            left.token.add(row);
            continue;
          }
          const { tombstone, audit } = expiry;
          held.tokens.delete(record.id);
          held.tombstones.set(record.id, tombstone);
          state.removed(audit);
          removed += 1;
        }
        for (const application of [...held.applications.values()]) {
          if (removed + left.token.size - size === limit) return removed;
          if (isLive(application, now) || !held.applications.has(application.id)) continue;
          state.removed(expiryRecorder.recordRemoval(application.tenant_id, removeApplication(held, application.id)));
          removed += 1;
        }
      }
      return removed;
    },
    async removeOldReplies(now, limit) {
      state.writing();
      const all = [...state.tenants.values()].flatMap((held) =>
        [...held.replies].map((entry) => [held, entry] as const),
      );
      const old = all.filter(([, [key, { reply }]]) => state.findReply(reply.tenant_id, key, now) === undefined);
      for (const [held, [key]] of old.slice(0, limit)) held.replies.delete(key);
      return Math.min(limit, old.length);
    },

    async close() {
      state.closed = true;
    },
  };
}

function duplicateOf(held: MemoryTenant, { fingerprint, former = [] }: TokenIndexes, now: Instant) {
  return [fingerprint, ...former].map((blind) => oldestWith(held, blind, undefined, now)).find(Boolean);
}

/** Returns a copy with its own maps of tokens, creation times and active tokens. */
function copyOf(held: MemoryTenant): MemoryTenant {
  const { tokens, lastCreated, active } = held;
  return { ...held, tokens: new Map(tokens), lastCreated: new Map(lastCreated), active: new Map(active) };
}

function oldestWith(
  held: MemoryTenant,
  blind: Uint8Array,
  exceptId: string | undefined,
  now: Instant,
): TokenRecord | undefined {
  const wanted = bytesKey(blind);
  return [...held.tokens.values()]
    .filter((token: HeldToken) => token.blinds.has(wanted) && token.record.id !== exceptId && isLive(token.record, now))
    .map((token) => token.record)
    .sort(oldestFirst)[0];
}

/** Returns the columns that a read needs. */
export function presentedOf(record: TokenRecord): PresentedToken {
  const { id, tenant_id, expires_at, active_month, clear, presented, full } = record;
  return { id, tenant_id, expires_at, active_month, clear, presented, full };
}
