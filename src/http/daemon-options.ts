import type { Limits } from '../contract/limits.ts';
import { HEADER_PREFIX } from '../contract/schema.ts';
import { Fault } from '../core/fault.ts';
import type { Rate } from '../core/rate-limit.ts';
import { isOrigin } from './cors.ts';
import type { ConsoleContext, ConsoleRequests } from './endpoints.ts';
import type { RequestMeter } from './metrics.ts';
import { isLoopback } from './own-hosts.ts';
import type { LogFormat } from './request-log.ts';

/** Timeouts for slow clients, in milliseconds. */
export interface Timeouts {
  /**
   * The maximum time from the first byte of a request to the end of its headers. For the first request of a connection,
   * the time starts with the connection.
   */
  readonly headers: number;
  /** The maximum time from the first byte of a request to the end of its body. */
  readonly request: number;
  /**
   * The interval of checking `headers` and `request`. Node's default of 30 s would let a slow header live that long.
   */
  readonly check: number;
  /** How long a connection may be idle between two requests. */
  readonly keepAlive: number;
  /** How long a connection may be without traffic, for example when a client does not read its reply. */
  readonly stalled: number;
  /** How long `stop()` waits for open requests before it cuts their connections. */
  readonly stop: number;
  /**
   * How long to read from a client that keeps sending after a rejection, so that it reads the rejection instead of a
   * reset.
   */
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
    /** Returns how far this clock is ahead of the machine's clock. */
    offset(): number;
    /** Sets the clock. Like `advance` and `reset`, resolves to the number of expired records that were removed. */
    set(at: number): Promise<number>;
    advance(by: number): Promise<number>;
    reset(): Promise<number>;
    nextExpiry(): Promise<number | undefined>;
  };
  /**
   * The snapshots of the vault. Each function rejects with a fault. `save` and `load` wait until the calls in progress
   * have ended; new calls wait meanwhile.
   */
  readonly snapshots: {
    list(): Promise<readonly object[]>;
    save(name: string, options: { readonly replace: boolean }): Promise<object>;
    load(name: string): Promise<object>;
    delete(name: string): Promise<void>;
  };
  /** Restores the vault's initial state; absent for a persistent vault. */
  readonly reset?: (() => Promise<void>) | undefined;
}

export interface DaemonOptions {
  /** Whether the process may end while the daemon listens. */
  readonly background?: boolean | undefined;
  /** The address or name to listen on. Ignored when `socket` is given. */
  readonly host: string;
  /** The port to listen on; 0 chooses a free port. */
  readonly port: number;
  /** Path of a Unix socket, or name of a Windows pipe. */
  readonly socket?: string | undefined;
  /** The file descriptor of a socket that already listens. It replaces `host`, `port` and `socket`. */
  readonly passed?: number | undefined;
  /** The prefix of the header names: `SVC` gives `SVC-API-KEY` and `SVC-TRACE-ID` (decisions §1). */
  readonly headerPrefix: string;
  readonly limits: Limits;
  /** Checks the vault for `/readyz`. Rejects, preferably with a 503 problem, while the vault cannot answer. */
  readonly ready: () => Promise<void>;
  /** Resolves to sentences about paused or faulty parts, which `/readyz` returns. */
  readonly notices?: (() => Promise<readonly string[]>) | undefined;
  /** The format of the line that each request prints on stderr; false prints nothing. */
  readonly log: LogFormat | false;
  readonly version: string;
  /** Receives the requests, for metrics. */
  readonly meter?: RequestMeter | undefined;
  /** Names that a request's `Host` may have besides the loopback names. */
  readonly hostNames?: readonly string[] | undefined;
  /** Allows HTTP without TLS on an address that is not loopback. */
  readonly allowInsecureHost?: boolean | undefined;
  /** The certificate and its private key, as PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** The limit on the calls of each application. Default: none. */
  readonly rateLimit?: Rate | undefined;
  /** The maximum number of open connections; further ones are closed at once. Default: none. */
  readonly maxConnections?: number | undefined;
  /** Origins of web pages that may call, exactly as browsers write them (`https://shop.example`). */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Creates the web console. Called at the first request below `/ui/`, or at once with `isConsoleOnly`. */
  readonly console?: ((context: ConsoleContext) => Promise<ConsoleRequests>) | undefined;
  /** Whether to serve only the console. All other paths then return `route_not_found`. */
  readonly isConsoleOnly?: boolean | undefined;
  /** The controls of a `--dev` daemon; absent for other daemons. */
  readonly dev?: DevControls | undefined;
}

/** Throws the fault `usage` if the header prefix is not valid. */
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
      hint: 'write scheme, host and port as browsers do: https://shop.example, http://localhost:3000; `*` is not allowed',
    });
  }
  const exposed = options.socket === undefined && options.passed === undefined && !isLoopback(options.host);
  if (exposed && options.tls === undefined && options.allowInsecureHost !== true) {
    throw new Fault('usage', `${options.host} is not a loopback address, and API keys would travel in clear text`, {
      hint: 'pass --tls-cert and --tls-key, or --insecure-http',
    });
  }
}
