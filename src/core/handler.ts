import type { Json } from '../contract/json.ts';
import type { Limits } from '../contract/limits.ts';
import type { OperationId, ResultOf } from '../contract/operations.ts';
import type { Grants } from './access/grants.ts';
import type { MinuteLimit } from './access/minute-limit.ts';
import type { ApplicationKeyRecord } from './application-ports.ts';
import type { OpenedApplication } from './applications/application-codec.ts';
import type { Audit, AuditedChange } from './audit/audit.ts';
import type { Follower } from './audit/follower.ts';
import type { LogWatch } from './audit/log-watch.ts';
import type { Trail } from './audit/trail.ts';
import type { Clock } from './clock.ts';
import type { NewToken } from './insert-ports.ts';
import type { JsonText } from './json/stringify.ts';
import type { Instant, Keyring, Random, Store } from './ports.ts';
import type { Problem } from './problem.ts';
import type { BodyValidators, Request } from './request/validate.ts';
import type { SnapshotReads } from './scan-ports.ts';
import type { OpenedTenant } from './tenants/tenant-codec.ts';
import type { Activity } from './tokens/activity.ts';

/**
 * A result in which an opened value may still be JSON text. Optional members may be undefined and are then not printed.
 */
export type Shown<T> = Json extends T
  ? Json | JsonText
  : T extends readonly (infer I)[]
    ? readonly (Shown<I> | (I extends object ? JsonText : never))[]
    : T extends object
      ? {
          readonly [K in keyof T]:
            | Shown<T[K]>
            | (NonNullable<T[K]> extends object ? JsonText : never)
            | (object extends Pick<T, K> ? undefined : never);
        }
      : T;

/**
 * A function that performs steps 6 and 7 of the request path for one operation. Rejects with the problems 403 (no rule
 * matches), 404 and 409.
 */
export type Handler<Id extends OperationId> = (
  request: Request<Id>,
  caller: Caller,
  world: World,
) => Promise<Shown<ResultOf<Id>> | JsonText>;

/** A turn of the event loop, in which several calls are answered together. */
export interface Turn {
  readonly reads: SnapshotReads;
  /** The cutoff of the clock in this turn. */
  readonly cutoff: Instant;
  readonly bodies: BodyValidators;
  /** The results of the authenticator's `known` in this turn, by API key. */
  readonly known: Map<string | undefined, Identity | Problem | undefined>;
  /** The number of bytes of sealed values that lists may still read in this turn. */
  room: number;
  /**
   * Inserts a token together with the other tokens of the turn. Returns `shown`, to be sent once the insert is on disk.
   */
  insert<T>(token: NewToken, change: AuditedChange, shown: T): Written<T>;
}

/**
 * A result to send once its change is on disk. `written` resolves at that time and rejects with `write_conflict` when
 * the call must be repeated.
 */
export class Written<T> {
  readonly shown: T;
  readonly written: Promise<void>;

  constructor(shown: T, written: Promise<void>) {
    this.shown = shown;
    this.written = written;
  }
}

/** A handler that answers synchronously within a turn. Returns a problem, or undefined for a call that must wait. */
export type HandlerNow<Id extends OperationId> = (
  request: Request<Id>,
  caller: Caller,
  world: World,
  turn: Turn,
) => NowResult<Shown<ResultOf<Id>> | JsonText>;

type NowResult<T> = T | Written<T> | Problem | undefined;

/** An API key with its owner: the application, its tenant with its keys, and its grants. */
export interface Identity {
  readonly application: OpenedApplication;
  readonly key: ApplicationKeyRecord;
  readonly tenant: OpenedTenant;
  readonly grants: Grants;
}

/** The caller of one call. */
export interface Caller extends Identity {
  readonly trail: Trail;
}

/** The core's dependencies. */
export interface World {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly activity: Activity;
  readonly follower: Follower;
  readonly audit: Audit;
  readonly logWatch: LogWatch;
  /**
   * Limits updates that set expressions of a token without read access, because each update may try to learn the
   * token's data.
   */
  readonly limitUnread: MinuteLimit;
  /** Limits creates and updates that find a duplicate without read access, because each confirms a guess. */
  readonly limitUnreadDuplicates: MinuteLimit;
  /** `included_monthly_active_tokens` of the usage report (decisions §8). */
  readonly includedActiveTokens: number;
  /** Receives every error whose cause the caller does not see, and writes it to this machine's stderr. */
  readonly reportError: (error: unknown, traceId: string) => void;
}
