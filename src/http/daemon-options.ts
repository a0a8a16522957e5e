import type { Limits } from '../contract/limits.ts';
import { HEADER_PREFIX } from '../contract/patterns.ts';
import { Fault } from '../core/fault.ts';
import { isOrigin } from './cors.ts';
import type { ConsoleContext, ConsoleRequests } from './endpoints.ts';
import { isLoopback } from './own-hosts.ts';
import type { LogFormat } from './request-log.ts';

/** Timeouts for slow clients, in milliseconds. */
export interface Timeouts {
  /** From the first byte of a request, or from the connection, to the end of its headers. */
  readonly headers: number;
  /** From the first byte of a request to the end of its body. */
  readonly request: number;
  /** The interval of checking the two above; Node's 30 s would let a slow header live that long. */
  readonly check: number;
  /** An idle connection between two requests. */
  readonly keepAlive: number;
  /** A connection without any traffic, such as a client that does not read its reply. */
  readonly stalled: number;
  /** From `stop()` until connections with open requests are cut. */
  readonly stop: number;
  /** For a client that keeps sending after a rejection, so that it reads the rejection instead of a reset. */
  readonly linger: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  headers: 10_000,
  request: 30_000,
  check: 1_000,
  keepAlive: 65_000,
  stalled: 120_000,
  stop: 9_000,
  linger: 1_000,
};

/** The controls of a `--dev` daemon for a management key. Times and durations are in milliseconds. */
export interface DevControls {
  readonly clock: {
    now(): number;
    /** The offset ahead of the machine's clock. */
    offset(): number;
    /** Each resolves to the number of expired records that it removed. */
    set(at: number): Promise<number>;
    advance(by: number): Promise<number>;
    reset(): Promise<number>;
    nextExpiry(): Promise<number | undefined>;
  };
  /** The states that the vault can go back to. Each rejects with a fault. */
  readonly snapshots: {
    list(): Promise<readonly object[]>;
    save(name: string, options: { readonly replace: boolean }): Promise<object>;
    /** Calls under way end before it, others continue after it. */
    load(name: string): Promise<object>;
    delete(name: string): Promise<void>;
  };
  /** Restores the vault's initial state; absent for a persistent vault. */
  readonly reset?: (() => Promise<void>) | undefined;
}

/** The address of a daemon. */
export interface DaemonOptions {
  /** Ignored when `socket` is given. */
  readonly host: string;
  /** 0 means a free port. */
  readonly port: number;
  /** Path of a Unix socket, or name of a Windows pipe. */
  readonly socket?: string | undefined;
  /** `SVC` makes `SVC-API-KEY` and `SVC-TRACE-ID` (decisions §1). */
  readonly headerPrefix: string;
  readonly limits: Limits;
  /** Rejects, best with a 503 problem, while the vault cannot answer. */
  readonly ready: () => Promise<void>;
  /** Sentences about paused or faulty parts, for the body of `/readyz`. */
  readonly notices?: (() => Promise<readonly string[]>) | undefined;
  /** Prints one line for each request on stderr. */
  readonly log: LogFormat | false;
  readonly version: string;
  /** Names that `Host` may have besides the loopback ones. */
  readonly hostNames?: readonly string[] | undefined;
  /** Allows other addresses than loopback in clear text. */
  readonly allowInsecureHost?: boolean | undefined;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Origins of web pages that may call, exactly as browsers write them (`https://shop.example`). */
  readonly corsOrigins?: readonly string[] | undefined;
  /** The number of processes on this address: the limits of a peer are divided among them. Default: 1. */
  readonly processes?: number | undefined;
  /** Makes the web console, at the first request below `/ui/`. */
  readonly console?: ((context: ConsoleContext) => Promise<ConsoleRequests>) | undefined;
  /** There is nothing but the console. */
  readonly isConsoleOnly?: boolean | undefined;
  /** Further controls for a management key, in tests. */
  readonly dev?: DevControls | undefined;
}

/** Throws the fault `usage`. */
export function checkHeaderPrefix(prefix: string): void {
  if (new RegExp(HEADER_PREFIX).test(prefix)) return;
  throw new Fault('usage', 'the header prefix must be letters, digits and `-`, beginning with a letter');
}

/** Throws the fault `usage` for options that would expose the vault or cannot work. */
export function checkDaemonOptions(options: DaemonOptions): void {
  checkHeaderPrefix(options.headerPrefix);
  const stray = options.corsOrigins?.find((origin) => !isOrigin(origin));
  if (stray !== undefined) {
    throw new Fault('usage', `--cors-origin ${stray} is not an origin`, {
      hint: 'write scheme, host and port as browsers do: https://shop.example, http://localhost:3000; there is no `*`',
    });
  }
  const exposed = options.socket === undefined && !isLoopback(options.host);
  if (exposed && options.tls === undefined && options.allowInsecureHost !== true) {
    throw new Fault('usage', `${options.host} is not a loopback address, and API keys would travel in clear text`, {
      hint: 'pass --tls-cert and --tls-key, or --insecure-http',
    });
  }
}
