import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ConnectOptions, connectStore } from '../../src/store/postgres/connect.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { startPostgres, type TestServer } from './start-postgres.ts';

const folder = temporaryFolder();
const file = (name: string): string => path.join(folder, name);

let primary: TestServer;
let standby: TestServer;
/** The URL of the run's server, which offers no TLS. */
let plain = '';

/** Creates a self-signed certificate for `localhost`. */
function createCertificate(name: string): void {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'].concat(
    ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)],
  );
  execFileSync('openssl', args, { stdio: 'ignore' });
}

beforeAll(async () => {
  for (const name of ['server', 'other']) createCertificate(name);
  writeFileSync(file('passwords'), '# comment\nlocalhost:1:*:*:no\nlocalhost:*:post\\gres:secretive:a\\:\\\\b\n', {
    mode: 0o600,
  });
  writeFileSync(file('shown'), '*:*:*:*:p\n', { mode: 0o644 });
  const read = (name: string) => readFileSync(file(name), 'utf8');
  [primary, standby, plain] = await Promise.all([
    startPostgres({
      settings: { ssl: 'on' },
      files: { 'server.crt': read('server.crt'), 'server.key': read('server.key') },
    }),
    startPostgres({ files: { 'standby.signal': '' } }),
    createDatabase(),
  ]);
  const admin = await connect(
    `postgres@${encodeURIComponent(primary.folder)}:${primary.port}/postgres?sslmode=disable`,
  );
  await admin.run({ text: "CREATE USER secretive PASSWORD 'a:\\b'" });
  await admin.close();
});
afterAll(async () => {
  await Promise.all([primary?.stop(), standby?.stop()]);
});

const connect = (url: string, options: Partial<ConnectOptions> = {}): Promise<SqlClient> =>
  connectStore(parseStoreUrl(`postgres://${url}`), { timeout: 5000, ...options });

async function open(url: string, options?: Partial<ConnectOptions>): Promise<SqlClient> {
  const client = await connect(url, options);
  onTestFinished(() => client.close());
  return client;
}

const onPrimary = (host: string, query: string, user = 'postgres'): string =>
  `${user}@${host}:${primary.port}/postgres?${query}`;
const trusted = (name: string): string => `sslrootcert=${file(`${name}.crt`)}`;

describe('TLS', () => {
  const connections = { text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' };

  it.each([
    ['localhost', 'server', ''],
    ['127.0.0.1', 'server', '&sslmode=verify-ca'],
  ])('connects to %s, which shows the certificate of %s %s', async (host, name, more) => {
    const client = await open(onPrimary(host, trusted(name) + more));
    expect(await client.run(connections)).toEqual([[true]]);
  });

  it.each([
    ['127.0.0.1', 'server', '', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['localhost', 'other', '', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['localhost', 'other', '&sslmode=verify-ca', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('refuses %s that does not show the certificate of %s %s', async (host, name, more, code) => {
    await expect(connect(onPrimary(host, trusted(name) + more))).rejects.toMatchObject({
      code: 'store_insecure',
      message: expect.stringContaining(code),
    });
  });

  it('refuses a certificate of an unknown issuer, whatever the environment of Node says', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    onTestFinished(() => {
      warning.mockRestore();
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    });
    await expect(connect(onPrimary('localhost', ''))).rejects.toMatchObject({ code: 'store_insecure' });
  });

  it('refuses a server without TLS', async () => {
    await expect(connect(plain.slice('postgres://'.length))).rejects.toMatchObject({
      code: 'store_insecure',
      message: expect.stringContaining('offers no TLS'),
    });
  });

  it('names a certificate that cannot be read', async () => {
    await expect(connect(onPrimary('localhost', 'sslrootcert=/missing.crt'))).rejects.toMatchObject({
      code: 'store_refused',
      message: 'cannot read /missing.crt, which the connection to the store needs',
    });
  });
});

describe('the password', () => {
  const url = (query = ''): string => onPrimary('localhost', `${trusted('server')}${query}`, 'secretive');
  const setVariables = (variables: Readonly<Record<string, string>>): void => {
    for (const [name, value] of Object.entries({ PGPASSWORD: '', PGPASSFILE: '', ...variables })) {
      vi.stubEnv(name, value);
    }
    onTestFinished(() => void vi.unstubAllEnvs());
  };

  it.each([
    ['the file of the URL', () => `&passfile=${file('passwords')}`, () => ({})],
    ['PGPASSFILE', () => '', () => ({ PGPASSFILE: file('passwords') })],
    ['PGPASSWORD', () => '&passfile=/missing', () => ({ PGPASSWORD: 'a:\\b' })],
  ])('comes from %s', async (_, query, environment) => {
    setVariables(environment());
    const client = await open(url(query()));
    expect(await client.run({ text: 'SELECT current_user::text' })).toEqual([['secretive']]);
  });

  it.runIf(process.getuid?.() === 0)('comes from a file of root that a group of this process may read', async () => {
    copyFileSync(file('passwords'), file('mounted'));
    chmodSync(file('mounted'), 0o440);
    setVariables({ PGPASSFILE: file('mounted') });
    const client = await open(url());
    expect(await client.run({ text: 'SELECT current_user::text' })).toEqual([['secretive']]);
    chmodSync(file('mounted'), 0o444);
    await expect(connect(url())).rejects.toMatchObject({ code: 'store_insecure' });
  });

  it('answers SCRAM without TLS', async () => {
    setVariables({ PGPASSWORD: 'a:\\b' });
    const client = await open(onPrimary('127.0.0.1', 'sslmode=disable', 'secretive'));
    expect(await client.run({ text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' })).toEqual([[false]]);
  });

  it.each([
    ['wrong', { PGPASSWORD: 'hunter2' }, 'store_refused', '28P01'],
    ['in no home folder', { HOME: '' }, 'store_refused', 'this user has no home folder for .pgpass'],
    ['in no readable file', { PGPASSFILE: '/missing' }, 'store_refused', 'cannot read /missing,'],
    ['readable by others', { PGPASSFILE: file('shown') }, 'store_insecure', 'other users can read'],
    ['in no line of the file', { PGPASSFILE: file('server.key') }, 'store_refused', 'has no password for secretive'],
  ])('%s is refused', async (_, environment, code, message) => {
    setVariables(environment);
    const error = await connect(url()).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('hosts', () => {
  const local = (port: number): string => `127.0.0.1:${port}`;
  const several = (...ports: readonly number[]): string =>
    `postgres@${ports.map(local).join()}/postgres?sslmode=disable`;

  it('takes the first that accepts writes', async () => {
    const client = await open(several(1, standby.port, primary.port));
    expect(await client.run({ text: 'SELECT inet_server_port()' })).toEqual([[primary.port]]);
  });

  it('names what is wrong with each', async () => {
    const reader = await openClient(plain);
    const [[name = ''] = []] = await reader.run({ text: 'SELECT current_database()::text' });
    await reader.run({ text: `ALTER DATABASE ${name} SET default_transaction_read_only = on` });
    await expect(connect(several(1, standby.port))).rejects.toMatchObject({
      code: 'store_unreachable',
      details: ['127.0.0.1:1: ECONNREFUSED', `${local(standby.port)}: is a standby`],
    });
    await expect(connect(`${plain.slice('postgres://'.length)}?sslmode=disable`)).rejects.toMatchObject({
      code: 'store_unreachable',
      details: [expect.stringMatching(/: is read-only$/)],
    });
  });

  it('refuses a database that is not there, or not in UTF-8', async () => {
    const client = await open(several(primary.port));
    await client.run({
      text: "CREATE DATABASE ascii ENCODING SQL_ASCII LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
    });
    await expect(connect(several(primary.port).replace('/postgres?', '/absent?'))).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringContaining('3D000'),
    });
    await expect(connect(several(primary.port).replace('/postgres?', '/ascii?'))).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringContaining('UTF-8'),
    });
  });

  it('refuses a server that loses commits, unless that is allowed', async () => {
    const client = await open(several(primary.port));
    await client.run({ text: 'ALTER SYSTEM SET fsync = off' });
    await client.run({ text: 'SELECT pg_reload_conf()' });
    await expect
      .poll(() =>
        connect(several(primary.port)).then(
          (each) => each.close(),
          (error) => error,
        ),
      )
      .toMatchObject({ code: 'store_insecure', message: expect.stringContaining('loses commits') });
    await open(several(primary.port), { insecure: true });
  });
});
