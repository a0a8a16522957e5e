import { statSync } from 'node:fs';
import { DEFAULT_LIMITS, type Limits, MAX_DEPTH, MIN_RESPONSE } from '../../../contract/limits.ts';
import { AUDIT_LEVELS, type AuditLevel, DEFAULT_AUDIT_LEVEL } from '../../../core/audit/audit-level.ts';
import { Fault } from '../../../core/fault.ts';
import type { MetricsAddress } from '../../../http/metrics-listener.ts';
import { parseHostName } from '../../../http/own-hosts.ts';
import type { LogFormat } from '../../../http/request-log.ts';
import { passedSocket } from '../../../http/server.ts';
import { filePath } from '../../files/output-path.ts';
import { withoutForeign } from '../../flags/foreign-variables.ts';
import {
  type Environment,
  FLAGS,
  type FlagsOf,
  type FlagValues,
  flag,
  type Line,
  readFlags,
  switchWord,
} from '../../flags/global-flags.ts';
import { parseByteSize, parseChoice, parseDuration, parseRate, parseWhole } from '../../flags/quantities.ts';
import { includedActiveTokens } from '../../flags/target.ts';
import type { Retention } from './audit-retention.ts';

export const DEFAULT_HEADER_PREFIX = 'SVC';
const LEVELS = Object.keys(AUDIT_LEVELS) as AuditLevel[];
const METRICS_ADDRESS: MetricsAddress = { host: '127.0.0.1', port: 9484 };

/** The flags of `vault serve`, besides those that open the file. */
export const SERVE_FLAGS = {
  dev: flag('--dev', 'create a vault with its API keys; temporary without --file'),
  seedFile: flag('--seed-file <path...>', 'with --dev: seed files to apply before the first request'),
  ...FLAGS.seed,
  ui: flag('--ui', 'with --dev: serve the console to other machines, too', 'VAULT_DEV_UI'),
  noUi: flag('--no-ui', 'with --dev: serve no console', 'VAULT_DEV_UI'),
  host: flag('--host <address>', 'the address to listen on (default: 127.0.0.1)'),
  port: flag('--port <number>', 'the port to listen on, 0 for a free one (default: 8484)'),
  socket: flag('--socket <path>', 'a Unix socket to listen on, instead of a port'),
  storeWait: flag(
    '--store-wait <duration>',
    'how long to wait at the start for a --store that is not reachable: 0s, 2m (default: 30s)',
  ),
  headerPrefix: FLAGS.daemon.headerPrefix,
  readyFile: flag('--ready-file <path>', 'a file to write when the daemon is ready'),
  log: flag('--log [format]', 'one line per request on stderr: text, json or false (default: json; text with --dev)'),
  noLog: flag('--no-log', 'print no request lines', 'VAULT_LOG'),
  logFile: flag('--log-file <path>', 'a file to append the request lines to, instead of stderr; SIGUSR2 reopens it'),
  metrics: flag(
    '--metrics [address]',
    'an address that serves /metrics for Prometheus (without a value: 127.0.0.1:9484; default: off)',
  ),
  tlsCert: flag('--tls-cert <path>', 'the certificate for HTTPS, PEM; SIGHUP reloads it'),
  tlsKey: flag('--tls-key <path>', 'the key of the certificate, PEM'),
  hostName: flag(
    '--host-name <name...>',
    'a host that requests may name, besides localhost and --host: vault.test, *.vault.test; repeatable (comma-separated in VAULT_HOST_NAME)',
  ),
  ...FLAGS.fileSystem,
  insecureHttp: flag('--insecure-http', 'allow plain HTTP on an address that other machines can reach'),
  includedActiveTokens: flag(
    '--included-active-tokens <number>',
    'included_monthly_active_tokens of the usage report (default: 1000)',
  ),
  audit: flag(
    '--audit <level>',
    `the calls to record: ${Object.entries(AUDIT_LEVELS)
      .map(([level, what]) => `${level} (${what})`)
      .join(', ')}; default: ${DEFAULT_AUDIT_LEVEL}`,
  ),
  auditStrict: flag('--audit-strict', 'write the audit entry of a reveal to disk before the reply'),
  auditKeep: flag('--audit-keep <duration>', 'move audit entries older than this (400d) to --audit-archive'),
  auditArchive: flag('--audit-archive <folder>', 'the folder for the archives of --audit-keep'),
  corsOrigin: flag(
    '--cors-origin <origin...>',
    'an origin whose web pages may use public and expiring keys; repeatable (comma-separated in VAULT_CORS_ORIGIN)',
  ),
  rateLimit: flag(
    '--rate-limit <rate>',
    'the calls that each application may make: 100/s, 600/m or 5000/h (default: no limit)',
  ),
  maxConnections: flag('--max-connections <number>', 'the maximum number of open connections (default: no limit)'),
  maxBody: flag('--max-body <size>', 'the largest request body (default: 1MiB)'),
  maxUrl: flag('--max-url <size>', 'the longest request URL (default: 8KiB)'),
  maxHeaders: flag('--max-headers <size>', 'the largest request headers (default: 16KiB)'),
  maxDepth: flag('--max-depth <number>', `the maximum nesting of JSON in a body, 1 to ${MAX_DEPTH} (default: 64)`),
  maxResponse: flag('--max-response <size>', 'the largest response, at least 8MiB (default: 16MiB)'),
  maxExpiring: flag(
    '--max-expiring <number>',
    'the maximum number of valid expiring applications of one creator (default: 1000)',
  ),
};

/** The typed flags of `vault serve`. `log` and `metrics` are true for `--log` and `--metrics` without a value. */
export type ServeFlags = FlagsOf<typeof SERVE_FLAGS>;

type ServeValues = FlagValues<typeof SERVE_FLAGS>;

/** The checked options of `vault serve`. */
export type ServeOptions = ReturnType<typeof serveOptions>;

/** Returns the checked options from the flags and the environment. Throws the fault `usage`. */
export function serveOptions({ flags, env: given }: Line<ServeFlags>) {
  const { env, ignored } = withoutForeign(given);
  const values = readFlags(SERVE_FLAGS, { flags, env });
  const { dev, rateLimit, audit } = values;
  const log = logOf(values.log, dev ? 'text' : 'json');
  const whole = (name: 'port' | 'maxDepth' | 'maxConnections' | 'maxExpiring', min: number, max: number) => {
    const { flag, env: variable } = SERVE_FLAGS[name];
    const text = values[name];
    const message = `${flag.split(' ')[0]} (${variable}) must be a number from ${min} to ${max}`;
    return text === undefined ? undefined : parseWhole(text, min, max, message);
  };
  const size = (name: 'maxBody' | 'maxUrl' | 'maxHeaders' | 'maxResponse', preset: number) => {
    const text = values[name];
    return text === undefined ? preset : parseByteSize(SERVE_FLAGS[name].flag.replace(/ .*/, ''), text);
  };
  const response = size('maxResponse', DEFAULT_LIMITS.response);
  if (response < MIN_RESPONSE) {
    throw new Fault('usage', '--max-response must be at least 8MiB: a reply with one large token needs it');
  }
  const limits: Limits = {
    body: size('maxBody', DEFAULT_LIMITS.body),
    url: size('maxUrl', DEFAULT_LIMITS.url),
    headers: size('maxHeaders', DEFAULT_LIMITS.headers),
    response,
    depth: whole('maxDepth', 1, MAX_DEPTH) ?? DEFAULT_LIMITS.depth,
    expiring: whole('maxExpiring', 1, 1_000_000) ?? DEFAULT_LIMITS.expiring,
  };
  return {
    /** Sentences about variables that are for other programs. */
    ignored,
    dev,
    seed: values.seed,
    seedFiles: values.seedFile,
    ui: uiOf(flags, env, values),
    host: values.host ?? '127.0.0.1',
    port: whole('port', 0, 65_535) ?? 8484,
    socket: socketOf(flags, env),
    passed: passedOf(flags, env),
    storeWaitMs: parseDuration('--store-wait', values.storeWait ?? '30s', '0s, 30s or 2m'),
    headerPrefix: values.headerPrefix ?? DEFAULT_HEADER_PREFIX,
    readyFile: values.readyFile,
    metrics: metricsOf(values.metrics),
    log,
    logFile: logFileOf(flags, values, log),
    allowInsecureHost: values.insecureHttp,
    allowNetworkFilesystem: values.allowNetworkFilesystem,
    hostNames: values.hostName.map(parseHostName),
    tls: tlsOf(values),
    rateLimit: rateLimit === undefined ? undefined : parseRate('--rate-limit', rateLimit),
    maxConnections: whole('maxConnections', 1, 1_000_000),
    corsOrigins: flags.corsOrigin ?? env[SERVE_FLAGS.corsOrigin.env]?.split(/[\s,]+/).filter((text) => text !== ''),
    limits,
    retention: dev ? undefined : retentionOf(values),
    settings: {
      writerThread: true,
      limits,
      includedActiveTokens: includedActiveTokens(values.includedActiveTokens),
      auditLevel: audit === undefined ? undefined : parseChoice('--audit (VAULT_AUDIT)', audit, LEVELS),
      auditStrict: values.auditStrict,
    },
  };
}

/** The minimum of `--audit-keep`, in milliseconds. */
const MIN_KEEP_MS = 24 * 60 * 60 * 1000;

/** Returns how long to keep audit entries, and the folder of their archives. Throws the fault `usage`. */
function retentionOf({ auditKeep: keep, auditArchive }: ServeValues): Retention | undefined {
  const folder = filePath('--audit-archive', auditArchive);
  if (keep === undefined && folder === undefined) return undefined;
  if (keep === undefined || folder === undefined) {
    const fact = keep === undefined ? '--audit-archive needs --audit-keep' : '--audit-keep needs --audit-archive';
    const hint = 'set both to archive old audit entries (VAULT_AUDIT_KEEP, VAULT_AUDIT_ARCHIVE)';
    throw new Fault('usage', fact, { hint });
  }
  const keepMs = parseDuration('--audit-keep', keep, '400d');
  if (keepMs < MIN_KEEP_MS) throw new Fault('usage', '--audit-keep must be at least 1d');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault('usage', `--audit-archive: there is no folder ${folder}`, { hint: 'create the folder' });
  }
  return { keepMs, folder };
}

/** Returns whether to serve the console; undefined without a flag or variable. */
function uiOf(flags: ServeFlags, env: Environment, { ui, dev }: ServeValues): boolean | undefined {
  if (flags.ui && !dev)
    throw new Fault('usage', '--ui needs --dev', { hint: 'to open any other vault in the browser, run `vault ui`' });
  return flags.ui === undefined && !env[SERVE_FLAGS.ui.env] ? undefined : ui;
}

/**
 * Returns the path of the socket; undefined to listen on a port. Typed flags override the environment. Throws the fault
 * `usage` for a socket and a port that are both typed or both in the environment.
 */
function socketOf(flags: ServeFlags, env: Environment): string | undefined {
  for (const name of ['port', 'host'] as const) {
    if (flags.socket !== undefined && flags[name] !== undefined) {
      throw new Fault('usage', `only one of --socket and --${name} can be given`);
    }
  }
  if (flags.socket !== undefined) return flags.socket;
  if (flags.port !== undefined || flags.host !== undefined) return undefined;
  const socket = env[SERVE_FLAGS.socket.env] || undefined;
  if (socket !== undefined && env[SERVE_FLAGS.port.env]) {
    throw new Fault('usage', 'only one of VAULT_SOCKET and VAULT_PORT can be set');
  }
  return socket;
}

/** Returns the systemd socket, which the environment cannot override. Throws the fault `usage` for a typed address. */
function passedOf(flags: ServeFlags, env: Environment): number | undefined {
  const passed = passedSocket(env);
  const typed = (['socket', 'port', 'host'] as const).find((name) => flags[name] !== undefined);
  if (passed === undefined || typed === undefined) return passed;
  throw new Fault('usage', `--${typed} has no effect on the socket that systemd passed (LISTEN_FDS)`, {
    hint: `remove --${typed}, or start the daemon without a socket unit`,
  });
}

/** Returns the paths of the PEM files; undefined for plain HTTP. Throws the fault `usage` for only one path. */
function tlsOf({
  tlsCert: cert,
  tlsKey: key,
}: ServeValues): { readonly cert: string; readonly key: string } | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  throw new Fault('usage', `${cert === undefined ? '--tls-key needs --tls-cert' : '--tls-cert needs --tls-key'}`, {
    hint: 'set both for HTTPS (VAULT_TLS_CERT, VAULT_TLS_KEY)',
  });
}

/** Returns the address of the metrics; undefined when they are off. Throws the fault `usage`. */
function metricsOf(word = ''): MetricsAddress | undefined {
  const [, host, digits] = /^(\[[0-9a-f:.]+\]|[^\s:/]+):(\d{1,5})$/i.exec(word) ?? [];
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
  const isOn = switchWord(word);
  if (isOn !== undefined) return isOn ? METRICS_ADDRESS : undefined;
  const fact = `--metrics (${SERVE_FLAGS.metrics.env}) must be an address such as 127.0.0.1:9484 or [::1]:9484`;
  throw new Fault('usage', fact);
}

function logOf(word: string | undefined, usual: LogFormat): LogFormat | false {
  if (word === 'json' || word === 'text') return word;
  const isOn = word === undefined || (word === '' ? undefined : switchWord(word));
  if (isOn !== undefined) return isOn ? usual : false;
  throw new Fault('usage', `--log (${SERVE_FLAGS.log.env}) must be text, json, true or false`);
}

/**
 * Returns the path of the log file; undefined for stderr. Ignores the variable if a flag turns the log off. Throws the
 * fault `usage` for a typed file without a log.
 */
function logFileOf(flags: ServeFlags, { logFile }: ServeValues, log: LogFormat | false): string | undefined {
  if (log === false && flags.logFile === undefined) return undefined;
  if (log === false) {
    throw new Fault('usage', '--log-file needs the log, which --no-log (VAULT_LOG) turns off');
  }
  return logFile && filePath('--log-file', logFile, 'without --log-file, the log goes to standard error');
}
