import { Fault } from '../../core/fault.ts';

export interface StoreHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

const TLS_MODES = ['verify-full', 'verify-ca', 'disable'] as const;
const FILES = ['passfile', 'sslrootcert', 'sslcert', 'sslkey'] as const;
const PARAMETERS: readonly string[] = ['schema', 'sslmode', ...FILES];

/**
 * The location of a vault's tables: `postgres://user@host[:port][,host2]/database?schema=vault&sslrootcert=FILE`.
 * Contains no secret; the files are read at each connect.
 */
export interface StoreUrl extends Readonly<Partial<Record<(typeof FILES)[number], string>>> {
  readonly user: string;
  readonly hosts: readonly StoreHost[];
  readonly database: string;
  readonly schema: string;
  readonly tls: (typeof TLS_MODES)[number];
  /** The text for messages: `postgres://user@host:port/database`, with a schema other than the default. */
  readonly shown: string;
  /** The URL with its parameters, as it was given. */
  readonly whole: string;
}

const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)\/([^@/?#]*)(?:\?([^#]*))?$/;
const HOST = /^(\[[\da-f:.]+\]|[^[\]:]+)(?::(\d{1,5}))?$/i;
/** Matches IPv4 addresses of this machine. Commands on files load this module, so it does not import node:net. */
const LOOPBACK = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;
const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = 'vault';
/** PostgreSQL reserves names that start with `pg_`, and truncates longer names. */
const SCHEMA_NAME = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

/**
 * Parses `--store`. `insecure` allows a connection to another machine without TLS. Throws the faults `usage` and
 * `store_insecure`, which repeat no part of a malformed URL, since that may hold a password.
 */
export function parseStoreUrl(text: string, { insecure = false } = {}): StoreUrl {
  const [, userInfo = '', hostList = '', database = '', query = ''] = URL_PARTS.exec(text) ?? malformed();
  if (userInfo.includes(':')) refuse('holds a password', 'put it into ~/.pgpass (PGPASSFILE) or PGPASSWORD');
  const user = decode(userInfo);
  if (user === '') refuse('names no user', EXAMPLE);
  if (database === '') refuse('names no database', EXAMPLE);

  const parameters = parametersOf(query);
  const schema = parameters.get('schema') ?? DEFAULT_SCHEMA;
  if (!SCHEMA_NAME.test(schema)) refuse('has an unusable schema', 'use lower-case letters, digits and _');
  const tls = TLS_MODES.find((mode) => mode === (parameters.get('sslmode') ?? 'verify-full'));
  if (tls === undefined) {
    const modes = TLS_MODES.join(', ');
    refuse('has an unknown sslmode', `use ${modes}: the other modes of PostgreSQL do not verify the server`);
  }
  if (parameters.has('sslcert') !== parameters.has('sslkey')) refuse('needs both sslcert and sslkey, or neither');

  const hosts = hostList.split(',').map(parseHost);
  const base = `postgres://${userInfo}@${hosts.map(hostText).join(',')}/${database}`;
  const shown = schema === DEFAULT_SCHEMA ? base : `${base}?schema=${schema}`;
  if (tls === 'disable' && !insecure && !hosts.every(isLocal)) {
    const reason = 'is on another machine, and sslmode=disable sends everything in clear text';
    const hint = 'remove sslmode=disable, or pass --insecure-store';
    throw new Fault('store_insecure', `${shown} ${reason}`, { hint });
  }
  const files = FILES.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name)]] : []));
  const whole = query === '' ? base : `${base}?${query}`;
  return { user, hosts, database: decode(database), schema, tls, shown, whole, ...Object.fromEntries(files) };
}

const EXAMPLE = 'write postgres://user@host:port/database?schema=vault';

function refuse(what: string, hint?: string): never {
  throw new Fault('usage', `the URL of the store ${what}`, { hint });
}

function malformed(): never {
  return refuse('is malformed', EXAMPLE);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return malformed();
  }
}

function parametersOf(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'password') refuse('holds a password', 'name a file with passfile=FILE');
    if (!PARAMETERS.includes(name)) refuse('has an unknown parameter', `use ${PARAMETERS.join(', ')}`);
    if (parameters.has(name) || value === '') refuse(`needs one value for ${name}`);
    parameters.set(name, value);
  }
  return parameters;
}

function parseHost(text: string): StoreHost {
  const [, host = '', port = DEFAULT_PORT] = HOST.exec(text) ?? malformed();
  if (Number(port) < 1 || Number(port) > 65_535) malformed();
  return { host: decode(host.replace(/^\[|\]$/g, '')), port: Number(port) };
}

/** Returns `host:port` as URLs have it: `[host]:port` for IPv6, `%2Ffolder:port` for a socket. */
export function hostText({ host, port }: StoreHost): string {
  return `${/^[\da-f]*:/i.test(host) ? `[${host}]` : encodeURIComponent(host)}:${port}`;
}

function isLocal({ host }: StoreHost): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || LOOPBACK.test(host);
}
