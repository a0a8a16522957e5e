import type { Call, SentBody } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId, takesIdempotencyKey } from '../contract/operations.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../contract/patterns.ts';
import type { DraftedReply } from './audit/ports.ts';
import type { ChangeResult, Trail } from './audit/trail.ts';
import type { World } from './handler.ts';
import { type Printable, stringifyJson } from './json/stringify.ts';
import type { ApplicationRecord } from './ports.ts';
import { invalid, Problem } from './problem.ts';
import type { StoredReply } from './reply-ports.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);

/** The identity of a call with an idempotency key. */
type KeyedRequest = Pick<StoredReply, 'tenant_id' | 'application_id' | 'key_hash' | 'request_hash'>;

function isOnTokens(operation: OperationId): boolean {
  const { permission }: Operation = OPERATIONS[operation];
  return permission?.startsWith('token:') === true;
}

/**
 * Creates the functions that perform a change with an idempotency key only once. Stores the reply with the change, in
 * the same commit. Does not store a failure, or a success without a change.
 */
export function createIdempotency({ store, keyring, clock }: Pick<World, 'store' | 'keyring' | 'clock'>) {
  /**
   * The idempotency keys whose first call runs in this process. If two processes run the same call, the store rejects
   * the later commit.
   */
  const running = new Set<string>();

  function seal(request: KeyedRequest, entities: readonly string[], shown: Printable): StoredReply {
    const reply = { ...request, created_at: clock.now() };
    return { ...reply, sealed: keyring.sealReply(reply, `${JSON.stringify(entities)}\n${stringifyJson(shown)}`) };
  }

  /** Resolves to whether all tokens are live. The sweep empties the replies of expired tokens only later. */
  async function areLive(tenant_id: string, ids: readonly string[]): Promise<boolean> {
    const filter = { tenant_id, all: [{ id_in: ids }] };
    const { total } = await store.findTokens(filter, { offset: 0, limit: 0 }, clock.cutoff());
    return total === new Set(ids).size;
  }

  return {
    /**
     * Returns the identity of a call with an idempotency key. Returns undefined for a call without a key, or for an
     * operation that changes nothing. Throws 400 for an invalid key.
     */
    requestOf(call: Call, sent: SentBody, application: ApplicationRecord): KeyedRequest | undefined {
      const { operation, params, query, idempotencyKey: key } = call;
      if (key === undefined || !takesIdempotencyKey(OPERATIONS[operation])) return undefined;
      if (!KEY.test(key)) throw invalid('IDEMPOTENCY-KEY', IDEMPOTENCY_KEY_RULE);
      const { tenant_id, id } = application;
      const asked = [operation, JSON.stringify([params, query]), sent.bodyText ?? ''];
      return {
        tenant_id,
        application_id: id,
        key_hash: keyring.replyHash('key', tenant_id, id, key),
        request_hash: keyring.replyHash('request', ...asked),
      };
    },

    /**
     * Resolves to the stored reply of a request, or to undefined when there is none: its body, and the ids of its
     * records. Rejects with `idempotency_mismatch` when a different request used the key, when the stored reply was
     * emptied, or when one of its tokens has expired.
     */
    async find(request: KeyedRequest, operation: OperationId) {
      const { tenant_id, application_id, key_hash, request_hash } = request;
      const stored = await store.findReply(tenant_id, application_id, key_hash, clock.now());
      if (stored === undefined) return undefined;
      const isSame = Buffer.compare(stored.request_hash, request_hash) === 0;
      if (!isSame || stored.sealed.length === 0) throw new Problem('idempotency_mismatch');
      // Use the values of the request, not those of the row, so that a moved row does not open.
      const text = keyring.openReply({ ...request, created_at: stored.created_at, sealed: stored.sealed });
      const end = text.indexOf('\n');
      const entities = JSON.parse(text.slice(0, end)) as string[];
      if (isOnTokens(operation) && !(await areLive(tenant_id, entities))) throw new Problem('idempotency_mismatch');
      return { entities, bodyText: text.slice(end + 1) };
    },

    /**
     * Runs a call, stores the reply with the call's change, and resolves to the result. Rejects with
     * `idempotency_in_progress` while another call with the same key runs.
     */
    async run<T>(request: KeyedRequest, trail: Trail, work: (trail: Trail) => Promise<T>): Promise<T> {
      const key = Buffer.from(request.key_hash).toString('base64url');
      if (running.has(key)) throw new Problem('idempotency_in_progress', { retryAfter: 1 });
      running.add(key);
      try {
        const replyTo = (entities: readonly string[], { shown, besides = [] }: ChangeResult): Partial<DraftedReply> => {
          const { tenant_id } = request;
          const shows = besides.map((id) => keyring.auditSubject({ kind: 'token', tenant_id, id }));
          return { reply: seal(request, [...entities, ...besides], shown), shows };
        };
        return await work({
          ...trail,
          changed(entities, revision, result) {
            const draft = trail.changed(entities, revision, result);
            return result === undefined ? draft : { ...draft, ...replyTo(entities, result) };
          },
          changedAuthority(entities, revision, result) {
            const draft = trail.changedAuthority(entities, revision, result);
            return result === undefined ? draft : { ...draft, ...replyTo(entities, result) };
          },
        });
      } finally {
        running.delete(key);
      }
    },
  };
}
