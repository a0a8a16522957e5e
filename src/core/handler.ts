import type { Json } from '../contract/json.ts';
import type { Limits } from '../contract/limits.ts';
import type { OperationId, ResultOf } from '../contract/operations.ts';
import type { Grants } from './access/grants.ts';
import type { ApplicationKeyRecord } from './application-ports.ts';
import type { OpenedApplication } from './applications/application-codec.ts';
import type { Audit } from './audit/audit.ts';
import type { AuditRecorder } from './audit/audit-recorder.ts';
import type { Follower } from './audit/follower.ts';
import type { LogWatch } from './audit/log-watch.ts';
import type { JsonText } from './json/stringify.ts';
import type { Keyring, Random, Store } from './ports.ts';
import type { Quota } from './quota.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Request } from './request/validate.ts';
import type { StepsOrPromise } from './steps.ts';
import type { OpenedTenant } from './tenants/tenant-codec.ts';
import type { TickHolder } from './ticks.ts';
import type { Clock } from './time.ts';
import type { Activity } from './tokens/activity.ts';
import type { Work } from './work.ts';

/** The body of a reply. Its opened values may be JSON text. Optional members may be undefined and are then not printed. */
export type ReplyBody<T> = Json extends T
  ? Json | JsonText
  : T extends readonly (infer I)[]
    ? readonly (ReplyBody<I> | (I extends object ? JsonText : never))[]
    : T extends object
      ? {
          readonly [K in keyof T]:
            | ReplyBody<T[K]>
            | (NonNullable<T[K]> extends object ? JsonText : never)
            | (object extends Pick<T, K> ? undefined : never);
        }
      : T;

/**
 * A function that performs steps 6 and 7 of the request path for one operation. Fails with the problems 403 (no rule
 * matches), 404 and 409.
 */
export type Handler<Id extends OperationId> = (
  request: Request<Id>,
  caller: Caller,
  context: Context,
) => StepsOrPromise<ReplyBody<ResultOf<Id>> | JsonText>;

/** An API key with its owner: the application, its tenant with its keys, and its grants. */
export interface Identity {
  readonly application: OpenedApplication;
  readonly key: ApplicationKeyRecord;
  readonly tenant: OpenedTenant;
  readonly grants: Grants;
  /** The account for which the use of the caller is counted (`accountOf`). */
  readonly account: string;
}

/** The caller of one call. */
export interface Caller extends Identity {
  readonly recorder: AuditRecorder;
  readonly work: Work;
}

/** The core's dependencies. */
export interface Context {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly activity: Activity;
  readonly follower: Follower;
  readonly audit: Audit;
  readonly logWatch: LogWatch;
  /** The bytes of replies that are made or unread. */
  readonly replies: Quota;
  /** The tick in which several calls are answered together. */
  readonly ticks: TickHolder;
  /**
   * Limits updates that set expressions of a token without read access, because each update may try to learn the
   * token's data.
   */
  readonly limitUnread: RateLimit;
  /** Limits creates and updates that find a duplicate without read access, because each confirms a guess. */
  readonly limitUnreadDuplicates: RateLimit;
  /** `included_monthly_active_tokens` of the usage report (decisions §8). */
  readonly includedActiveTokens: number;
  /** Receives every error whose cause the caller does not see, and writes it to this machine's stderr. */
  readonly reportError: (error: unknown, traceId: string) => void;
}
