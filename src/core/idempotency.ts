import type { Call, SentBody } from '../contract/call.ts';
import { OPERATIONS, type Operation, takesIdempotencyKey } from '../contract/operations.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../contract/schema.ts';
import type { AuditRecorder, ChangeResult } from './audit/audit-recorder.ts';
import type { DraftedReply } from './audit/ports.ts';
import type { Context } from './handler.ts';
import type { ApplicationRecord, TenantKeyring } from './ports.ts';
import { invalid, Problem } from './problem.ts';
import type { FoundReply } from './replay.ts';
import { openReply, sealReply } from './reply-codec.ts';
import type { StoredReply } from './reply-ports.ts';
import type { Steps } from './steps.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);

/** The identity of a call with an idempotency key. */
type KeyedRequest = Pick<StoredReply, 'tenant_id' | 'application_id' | 'key_hash' | 'request_hash'>;

/**
 * Creates the functions that perform a change with an idempotency key only once. Stores what a retry needs with the
 * change, in the same commit. Does not store a failure, or a success without a change.
 */
export function createIdempotency({ store, keyring, clock }: Pick<Context, 'store' | 'keyring' | 'clock'>) {
  /**
   * The idempotency keys whose first call runs in this process. If two processes run the same call, the store rejects
   * the later commit.
   */
  const running = new Set<string>();

  return {
    /**
     * Returns the identity of a call with an idempotency key. Returns undefined for an operation that changes nothing.
     * Throws 400 for an invalid key.
     */
    requestOf(key: string, call: Call, sent: SentBody, application: ApplicationRecord): KeyedRequest | undefined {
      const { operation, params, query } = call;
      if (!takesIdempotencyKey(OPERATIONS[operation])) return undefined;
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
     * Resolves to the stored reply of a request, or to undefined when there is none. Rejects with
     * `idempotency_mismatch` when a different request used the key.
     */
    async find(request: KeyedRequest, tenantKeys: TenantKeyring): Promise<FoundReply | undefined> {
      const { tenant_id, application_id, key_hash, request_hash } = request;
      const stored = await store.findReply(tenant_id, application_id, key_hash, clock.now());
      if (stored === undefined) return undefined;
      const isSame = Buffer.compare(stored.request_hash, request_hash) === 0;
      if (!isSame) throw new Problem('idempotency_mismatch');
      // Use the values of the request, not those of the row, so that a moved row does not open.
      return { ...openReply(tenantKeys, { ...stored, ...request }), created_at: stored.created_at };
    },

    /**
     * Runs a call, stores its reply with the call's change, and returns the result. Fails with
     * `idempotency_in_progress` while another call with the same key runs.
     */
    *run<T>(
      request: KeyedRequest,
      { operation }: Pick<Call, 'operation'>,
      tenantKeys: TenantKeyring,
      recorder: AuditRecorder,
      work: (recorder: AuditRecorder) => Steps<T>,
    ): Steps<T> {
      const key = Buffer.from(request.key_hash).toString('base64url');
      if (running.has(key)) throw new Problem('idempotency_in_progress', { retryAfter: 1 });
      running.add(key);
      const { status }: Operation = OPERATIONS[operation];
      try {
        const replyTo = (entities: readonly string[], result: ChangeResult = {}): DraftedReply => {
          const { revealed: _, ...shown } = result;
          const contents = { status, ids: entities, ...shown };
          return { reply: sealReply(tenantKeys, { ...request, created_at: clock.now() }, contents) };
        };
        return yield* work({
          ...recorder,
          changed(entities, revision, result) {
            const draft = recorder.changed(entities, revision, result);
            return { ...draft, ...replyTo(entities, result) };
          },
          changedAuthority(entities, revision, result) {
            const draft = recorder.changedAuthority(entities, revision, result);
            return { ...draft, ...replyTo(entities, result) };
          },
        });
      } finally {
        running.delete(key);
      }
    },
  };
}
