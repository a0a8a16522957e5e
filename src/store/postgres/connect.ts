import { readFile, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import type { Client } from 'pg';
import { Fault } from '../../core/fault.ts';
import { isOpenToOthers } from '../../core/open-to-others.ts';
import { homeFolder } from '../../paths/home-folder.ts';
import { type PgError, toPgError, treatmentOf } from './pg-error.ts';
import { PATH_COLUMNS, PATH_OPTION, requireSearchPath } from './search-path.ts';
import { type SqlClient, sqlClient } from './sql-client.ts';
import { hostText, type StoreHost, type StoreUrl } from './store-url.ts';

const CONNECT_TIMEOUT_MS = 5000;
const MIN_VERSION = 140_000;

/** The SQLSTATE of a pooler for options that it does not support, and for other refusals. */
const POOLER_REFUSAL = '08P01';

/**
 * Asks the server itself: behind a connection pooler, the parameter status may be outdated. Names the schema of each
 * function, because the search_path is not known yet.
 */
const SERVER = `SELECT ${PATH_COLUMNS}, ${setting('server_encoding')}, pg_catalog.pg_is_in_recovery(),
    ${setting('transaction_read_only')}, ${setting('server_version_num')}::int, ${setting('fsync')},
    ${setting('full_page_writes')}`;

function setting(name: string): string {
  return `pg_catalog.current_setting('${name}', true)`;
}

export interface ConnectOptions {
  /** The limit of one statement in milliseconds. Exceeding it cuts the connection. */
  readonly timeout: number;
  /** Allows a server that loses commits when the power fails. */
  readonly insecure?: boolean | undefined;
}

/**
 * Connects to the first host that accepts writes. Reads the password and the certificates anew each time. Rejects with
 * the faults `store_unreachable`, also when all hosts are standbys, `store_refused` and `store_insecure`. No fault
 * repeats a message of PostgreSQL.
 */
export async function connectStore(store: StoreUrl, options: ConnectOptions): Promise<SqlClient> {
  const reasons: string[] = [];
  let last: PgError | undefined;
  for (const host of store.hosts) {
    let client: SqlClient | undefined;
    try {
      client = await open(store, host, options.timeout);
      const reason = await refusal(client, store, options);
      if (reason === undefined) return client;
      reasons.push(`${hostText(host)}: ${reason}`);
      client.destroy();
    } catch (error) {
      client?.destroy();
      if (error instanceof Fault) throw error;
      const cause = toPgError(error);
      const { fault } = treatmentOf(cause, 'read');
      if (fault !== 'store_unreachable') {
        throw new Fault(fault, `${store.shown} cannot be used: ${hostText(host)} failed with ${cause.code}`, { cause });
      }
      last = cause;
      reasons.push(`${hostText(host)}: ${cause.code}`);
    }
  }
  throw new Fault('store_unreachable', `no server of ${store.shown} accepts writes`, { details: reasons, cause: last });
}

/**
 * Connects with the search_path of the vault. If a pooler refuses it, connects without: the role may have the path,
 * which `refusal` checks.
 */
async function open(store: StoreUrl, host: StoreHost, timeout: number): Promise<SqlClient> {
  try {
    return await openWith(PATH_OPTION, store, host, timeout);
  } catch (error) {
    if (error instanceof Fault || toPgError(error).code !== POOLER_REFUSAL) throw error;
    return openWith(undefined, store, host, timeout);
  }
}

async function openWith(options: string | undefined, store: StoreUrl, host: StoreHost, timeout: number) {
  const { Client } = await import('pg');
  const ssl = store.tls === 'disable' ? false : await tlsOptions(store);
  const socket = new Socket();
  const client = new Client({
    ...host,
    user: store.user,
    database: store.database,
    password: () => findPassword(store, host),
    ssl,
    enableChannelBinding: ssl !== false,
    application_name: 'vault',
    options,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: timeout,
    keepAlive: true,
    pipeline: true,
    sslnegotiation: 'postgres',
    stream: () => socket,
  });
  if (ssl === false && !host.host.startsWith('/')) answerOnlyScram(client, hostText(host));
  const wrapped = sqlClient(client);
  try {
    await client.connect();
  } catch (error) {
    const answer = socket.bytesRead;
    socket.destroy();
    // A server without TLS answers one byte, and the driver reports no code.
    if (ssl !== false && answer === 1) {
      const hint = 'set ssl = on in postgresql.conf; on this machine, ?sslmode=disable also works';
      throw new Fault('store_insecure', `${hostText(host)} offers no TLS`, { hint });
    }
    throw error;
  }
  return wrapped;
}

/** Sets explicitly the options that environment variables of Node could weaken. */
async function tlsOptions({ tls, sslrootcert, sslcert, sslkey }: StoreUrl): Promise<ConnectionOptions> {
  return {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(tls === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(sslrootcert !== undefined && { ca: await readOwnFile(sslrootcert) }),
    ...(sslcert !== undefined && { cert: await readOwnFile(sslcert) }),
    ...(sslkey !== undefined && { key: await readOwnFile(sslkey, { isSecret: true }) }),
  };
}

/**
 * Resolves to PGPASSWORD, or to the password in the first matching line of the password file. Rejects with the fault
 * `store_refused` without a password, and as `readOwnFile` does.
 */
async function findPassword({ user, database, passfile }: StoreUrl, { host, port }: StoreHost): Promise<string> {
  const { PGPASSWORD, PGPASSFILE } = process.env;
  if (PGPASSWORD !== undefined && PGPASSWORD !== '') return PGPASSWORD;
  const home = homeFolder();
  const file = passfile ?? (PGPASSFILE || (home && path.join(home, '.pgpass')));
  if (file === undefined) {
    throw new Fault('store_refused', `there is no password for ${user}: this user has no home folder for .pgpass`, {
      hint: 'set PGPASSFILE to a file of your own, or set PGPASSWORD',
    });
  }
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of (await readOwnFile(file, { isSecret: true })).split(/\r?\n/)) {
    const fields = line.startsWith('#') ? [] : fieldsOf(line);
    const fits = wanted.every((value, at) => fields[at] === '*' || fields[at] === value);
    if (fits && fields[4] !== undefined) return fields[4];
  }
  throw new Fault('store_refused', `${file} has no password for ${user} on ${host}:${port}/${database}`, {
    hint: 'write one line host:port:database:user:password, or set PGPASSWORD',
  });
}

/** Splits a line at its colons; a backslash escapes the next character. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|:)((?:[^:\\]|\\.)*)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
}

/**
 * Reads a file of the user. Rejects with the fault `store_refused` for an unreadable file, and with `store_insecure`
 * for a secret file that other users can access.
 */
async function readOwnFile(file: string, { isSecret = false } = {}): Promise<string> {
  try {
    if (!isSecret || process.platform === 'win32' || !isOpenToOthers(await stat(file)))
      return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Fault('store_refused', `cannot read ${file}, which the connection to the store needs`, {
      hint: 'check the path and its permissions',
      cause,
    });
  }
  throw new Fault('store_insecure', `other users can read ${file}`, { hint: `chmod 600 ${file}` });
}

/** Resolves to the reason to try another host, if any. Rejects with a fault when this server must not hold a vault. */
async function refusal(client: SqlClient, { shown }: StoreUrl, { insecure }: ConnectOptions) {
  const [row = []] = await client.run(SERVER);
  const [path, command, encoding, isStandby, readOnly, version, ...durable] = row;
  requireSearchPath([path, command], shown);
  if (isStandby !== false) return 'is a standby';
  if (readOnly !== 'off') return 'is read-only';
  if (encoding !== 'UTF8') {
    throw new Fault('store_refused', `${shown} does not store UTF-8`, { hint: 'create a database with ENCODING UTF8' });
  }
  if (typeof version === 'number' && version < MIN_VERSION) {
    throw new Fault('store_refused', `${shown} is older than PostgreSQL 14`, { hint: 'update the server' });
  }
  if (durable.includes('off') && insecure !== true) {
    throw new Fault('store_insecure', `${shown} loses commits when the power fails`, {
      hint: 'set fsync and full_page_writes to on, or pass --insecure-store',
    });
  }
  return undefined;
}

/** RFC 7677. The fewer the iterations, the faster a false server guesses the password from the answer. */
const MIN_ITERATIONS = 4096;

/**
 * Makes a connection without TLS answer only SCRAM, which never sends the password. Cuts the connection before the
 * driver answers another request, with the fault `store_refused`. Watches the connection until its end, because the
 * driver keeps the password and answers later requests, too. Call it before the client connects: the driver then sees
 * each message after this function.
 */
function answerOnlyScram({ connection }: Client, host: string): void {
  const refuse = (what: string, hint: string) =>
    void connection.stream.destroy(new Fault('store_refused', `${host} asks for ${what} without TLS`, { hint }));
  const useScram = 'use TLS or SCRAM: scram-sha-256 in pg_hba.conf, or as the auth_type of PgBouncer';
  connection.on('authenticationCleartextPassword', () => refuse('the password in clear text', useScram));
  connection.on('authenticationMD5Password', () => refuse('an MD5 hash of the password', useScram));
  connection.on('authenticationSASLContinue', ({ data }: { readonly data: string }) => {
    if (Number(/(?:^|,)i=(\d+)/.exec(data)?.[1] ?? 0) >= MIN_ITERATIONS) return;
    refuse('SCRAM with too few iterations', `use TLS, or set scram_iterations to ${MIN_ITERATIONS} or more`);
  });
}
