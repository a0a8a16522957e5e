import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServe } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';

const posix = process.platform !== 'win32';

let place: Place;
let managementKey = '';
beforeAll(async () => {
  place = makePlace();
  managementKey = await place.init('v');
  writeFileSync(place.inside('api.key'), managementKey, { mode: 0o600 });
  writeFileSync(place.inside('passphrase'), 'correct horse battery\n', { mode: 0o600 });
  writeFileSync(place.inside('wrong-passphrase'), 'incorrect horse battery\n', { mode: 0o600 });
  writeFileSync(place.inside('wrong.key'), randomBytes(32), { mode: 0o600 });
  writeFileSync(place.inside('short.key'), randomBytes(31), { mode: 0o600 });
  const made = await place.vault(['init', '--file', 'p.db', '--passphrase-file', 'passphrase']);
  if (made.exitCode !== 0) throw new Error(made.stderr);
});
afterAll(() => place.remove());

/** A copy of the vault, changed by somebody who has no key. */
function copyOf(name: string, sql: string): void {
  copyFileSync(place.inside('v.db'), place.inside(name));
  const connection = new Database(place.inside(name));
  connection.exec(sql);
  connection.close();
  chmodSync(place.inside(name), 0o600);
}

interface Case {
  readonly what: string;
  /** Makes the file `x.db`, which the command is pointed at. */
  readonly make?: () => void;
  readonly words?: readonly string[];
  readonly exitCode: number;
  readonly fact: string;
  readonly hint: string | undefined;
}

const LIST = ['tenant', 'list', '--file', 'x.db', '--key-file', 'v.db.key'];
const COPY = () => copyOf('x.db', '');
const CREDENTIAL_HINT = 'give the key file or the passphrase that the vault was made with';
const DAMAGED_HINT = '`vault doctor` names what is damaged; `vault restore` brings back a backup';
const UNSAFE_HINT = 'a vault is a regular file of your own, with mode 0600: `chmod 600 FILE`';

const ON_A_FILE: readonly Case[] = [
  {
    what: 'another key file',
    make: COPY,
    words: ['tenant', 'list', '--file', 'x.db', '--key-file', 'wrong.key'],
    exitCode: 10,
    fact: 'the key file does not open this vault',
    hint: CREDENTIAL_HINT,
  },
  {
    what: 'a key file of another size',
    make: COPY,
    words: ['tenant', 'list', '--file', 'x.db', '--key-file', 'short.key'],
    exitCode: 10,
    fact: 'short.key is not a key file: it does not hold 32 bytes',
    hint: CREDENTIAL_HINT,
  },
  {
    what: 'a wrong passphrase',
    words: ['tenant', 'list', '--file', 'p.db', '--passphrase-file', 'wrong-passphrase'],
    exitCode: 10,
    fact: 'the passphrase does not open this vault',
    hint: CREDENTIAL_HINT,
  },
  {
    what: 'a passphrase for a key file',
    make: COPY,
    words: ['tenant', 'list', '--file', 'x.db', '--passphrase-file', 'passphrase'],
    exitCode: 10,
    fact: 'no passphrase opens this vault',
    hint: 'it is opened by a key file',
  },
  {
    what: 'no key file where one is named',
    make: COPY,
    words: ['tenant', 'list', '--file', 'x.db', '--key-file', 'none.key'],
    exitCode: 2,
    fact: '--key-file: none.key cannot be read (ENOENT)',
    hint: undefined,
  },
  {
    what: 'nothing that opens it',
    make: COPY,
    words: ['tenant', 'list', '--file', 'x.db'],
    exitCode: 2,
    fact: 'nothing is named that opens x.db, and there is no x.db.key',
    hint: 'set --key-file (VAULT_KEY_FILE) or --passphrase-file (VAULT_PASSPHRASE_FILE)',
  },
  {
    what: 'no file',
    exitCode: 2,
    fact: 'there is no vault at <folder>/x.db',
    hint: 'make one with `vault init --file FILE`',
  },
  {
    what: 'a foreign file',
    make: () => writeFileSync(place.inside('x.db'), 'hello\n', { mode: 0o600 }),
    exitCode: 9,
    fact: '<folder>/x.db is not a vault',
    hint: 'the file was not made by `vault init`',
  },
  {
    what: 'an empty file',
    make: () => writeFileSync(place.inside('x.db'), '', { mode: 0o600 }),
    exitCode: 9,
    fact: '<folder>/x.db is empty',
    hint: 'the file was not made by `vault init`',
  },
  {
    what: 'another program’s database',
    make: () => copyOf('x.db', 'PRAGMA application_id = 1'),
    exitCode: 9,
    fact: '<folder>/x.db is not a vault',
    hint: 'the file was not made by `vault init`',
  },
  {
    what: 'a newer format',
    make: () => copyOf('x.db', 'PRAGMA user_version = 99'),
    exitCode: 9,
    fact: '<folder>/x.db has format 99; this vault reads <format>',
    hint: 'the file was made by a newer vault: update this one',
  },
  {
    what: 'a planted trigger',
    make: () => copyOf('x.db', 'CREATE TRIGGER t AFTER INSERT ON token BEGIN SELECT 1; END'),
    exitCode: 9,
    fact: 'the tables of <folder>/x.db are not those of a vault',
    hint: DAMAGED_HINT,
  },
  {
    what: 'an altered header',
    make: () => copyOf('x.db', 'UPDATE header SET mac = zeroblob(length(mac))'),
    exitCode: 9,
    fact: 'the header of the vault is damaged or was altered',
    hint: DAMAGED_HINT,
  },
  {
    what: 'an altered key slot',
    make: () => copyOf('x.db', 'UPDATE slot SET bytes = zeroblob(length(bytes))'),
    exitCode: 9,
    fact: 'key slot 0 is damaged',
    hint: DAMAGED_HINT,
  },
  {
    what: 'an altered row',
    make: () =>
      copyOf('x.db', "UPDATE tenant SET details = CAST(substr(details, 1, length(details) - 1) || x'00' AS BLOB)"),
    exitCode: 9,
    fact: 'A stored record is damaged or was altered outside the vault. Run `vault doctor`.',
    hint: DAMAGED_HINT,
  },
];

const UNSAFE: readonly Case[] = [
  {
    what: 'a file that others can read',
    make: () => {
      COPY();
      chmodSync(place.inside('x.db'), 0o644);
    },
    exitCode: 2,
    fact: '<folder>/x.db is open to other users',
    hint: UNSAFE_HINT,
  },
  {
    what: 'a link to a file',
    make: () => symlinkSync('v.db', place.inside('x.db')),
    exitCode: 2,
    fact: '<folder>/x.db is a symbolic link',
    hint: UNSAFE_HINT,
  },
];

const ELSEWHERE: readonly Case[] = [
  {
    what: 'no folder for a new file',
    words: ['init', '--file', 'no/x.db', '--key-file', 'v.db.key'],
    exitCode: 2,
    fact: '',
    hint: undefined,
  },
  {
    what: 'no folder for its key',
    words: ['init', '--file', 'y.db', '--key-file', 'no/y.key'],
    exitCode: 2,
    fact: '--key-file: no/y.key cannot be made (ENOENT)',
    hint: 'its folder must be there, and writable',
  },
  {
    what: 'a file that is there',
    words: ['init', '--file', 'v.db'],
    exitCode: 6,
    fact: 'v.db exists',
    hint: 'name another file; an existing one is never touched',
  },
  {
    what: 'a daemon that does not answer',
    words: ['tokens', 'list', '--url', 'http://127.0.0.1:1', '--api-key-file', 'api.key'],
    exitCode: 8,
    fact: 'cannot reach http://127.0.0.1:1: ECONNREFUSED',
    hint: 'is the daemon running? `vault serve`, then `vault wait`',
  },
  {
    what: 'a ready file that does not come',
    words: ['wait', '--ready-file', 'none.json', '--timeout', '200ms'],
    exitCode: 8,
    fact: 'none.json was not ready within 200ms: there is no such file',
    hint: 'is `vault serve` running? What it says on stderr may tell why; --timeout gives it longer',
  },
  {
    what: 'a ready file that is none',
    words: ['wait', '--ready-file', 'api.key', '--timeout', '5s'],
    exitCode: 2,
    fact: '--ready-file: api.key was not written by `vault serve --ready-file`',
    hint: undefined,
  },
  {
    what: 'two whereabouts',
    words: ['wait', '--ready-file', 'r', '--url', 'http://127.0.0.1:1'],
    exitCode: 2,
    fact: 'only one of --url and --ready-file can be given',
    hint: undefined,
  },
  {
    what: 'an address that is none',
    words: ['wait', '--url', 'nonsense'],
    exitCode: 2,
    fact: '--url (VAULT_URL) is http://host:port, https://host:port or unix:/path.sock',
    hint: undefined,
  },
  {
    what: 'a time that is none',
    words: ['wait', '--timeout', 'soon'],
    exitCode: 2,
    fact: '--timeout is a duration such as 500ms, 30s or 2m',
    hint: undefined,
  },
  {
    what: 'no name for a tenant',
    words: ['tenant', 'create', '--file', 'v.db'],
    exitCode: 2,
    fact: '--name (VAULT_TENANT_NAME) must be given',
    hint: undefined,
  },
  {
    what: 'a key file for the API key that is there',
    words: ['tenant', 'create', '--file', 'v.db', '--name', 'n', '--key-out', 'api.key'],
    exitCode: 6,
    fact: '--key-out: api.key exists',
    hint: 'name another file; an existing one is never touched',
  },
  {
    what: 'no folder for the API key',
    words: ['tenant', 'create', '--file', 'v.db', '--name', 'n', '--key-out', 'no/k'],
    exitCode: 2,
    fact: '--key-out: no/k cannot be made (ENOENT)',
    hint: 'its folder must be there, and writable',
  },
  {
    what: 'no tenant for a key',
    words: ['tenant', 'issue-key', '--file', 'v.db'],
    exitCode: 2,
    fact: '--tenant (VAULT_TENANT_ID) must be given',
    hint: undefined,
  },
  {
    what: 'an id that is none',
    words: ['tenant', 'issue-key', '--file', 'v.db', '--tenant', 'x'],
    exitCode: 2,
    fact: '--tenant is the id of a tenant, a UUID',
    hint: undefined,
  },
  {
    what: 'an unknown tenant',
    words: ['tenant', 'issue-key', '--file', 'v.db', '--tenant', '00000000-0000-4000-8000-000000000000'],
    exitCode: 3,
    fact: 'there is no tenant with this id',
    hint: '`vault tenant list` shows them',
  },
  {
    what: 'half a certificate',
    words: ['serve', '--file', 'v.db', '--tls-cert', 'api.key'],
    exitCode: 2,
    fact: '--tls-cert needs --tls-key',
    hint: 'HTTPS takes both (VAULT_TLS_CERT, VAULT_TLS_KEY)',
  },
  {
    what: 'no certificate',
    words: ['serve', '--file', 'v.db', '--tls-cert', 'api.key', '--tls-key', 'api.key'],
    exitCode: 2,
    fact: '--tls-cert and --tls-key are not a certificate and its key in PEM',
    hint: undefined,
  },
  {
    what: 'no folder for the ready file',
    words: ['serve', '--file', 'v.db', '--port', '0', '--ready-file', 'no/r'],
    exitCode: 2,
    fact: '--ready-file: no/r cannot be made (ENOENT)',
    hint: 'its folder must be there, and writable',
  },
  {
    what: 'no ready file for a shell',
    words: ['env', '--ready-file', 'none.json'],
    exitCode: 2,
    fact: '--ready-file: there is no none.json',
    hint: "vault wait --ready-file 'none.json'",
  },
  {
    what: 'nothing for a shell',
    words: ['env'],
    exitCode: 2,
    fact: 'there is nothing to print',
    hint: 'set --ready-file (VAULT_READY_FILE) or --profile (VAULT_PROFILE)',
  },
  {
    what: 'a profile that is not there',
    words: ['tokens', 'list', '--profile', 'none'],
    exitCode: 2,
    fact: 'there is no profile none',
    hint: '`vault profile list` shows them',
  },
  {
    what: 'an API key on the command line',
    words: ['profile', 'add', 'p', '--file', 'v.db', '--api-key', 'key_4242'],
    exitCode: 2,
    fact: '--api-key is `-`: a key on the command line is seen by everybody on the machine',
    hint: '`--api-key -` reads it from standard input, --api-key-file names a file',
  },
];

async function check({ words = LIST, make, exitCode, fact, hint }: Case): Promise<void> {
  make?.();
  const before = readdirSync(place.cwd);
  const ran = await place.vault(words);
  rmSync(place.inside('x.db'), { force: true });
  expect({ exitCode: ran.exitCode, stdout: ran.stdout }).toEqual({ exitCode, stdout: '' });
  const [told = '', ...others] = ran.stderr.trimEnd().replaceAll(place.cwd, '<folder>').split('\n');
  expect(told.replace(/(this vault reads )\d+/, '$1<format>')).toBe(fact === '' ? told : `vault: ${fact}`);
  expect(told).toMatch(/^vault: ./);
  if (hint !== undefined) expect(others).toEqual([`hint: ${hint}`]);
  expect(ran.stderr).not.toMatch(/4242|horse/);
  expect(ran.stderr).not.toContain(managementKey);
  // Whatever failed left nothing behind.
  expect(readdirSync(place.cwd).filter((name) => !before.includes(name))).toEqual([]);
}

describe('a file that does not open', () => {
  it('opens with its key', async () => {
    COPY();
    expect(await place.vault(LIST)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await place.vault(['tenant', 'list', '--file', 'p.db', '--passphrase-file', 'passphrase'])).toMatchObject({
      exitCode: 0,
    });
    rmSync(place.inside('x.db'));
  });

  it.each(ON_A_FILE)('$what: $exitCode', (row) => check(row));

  it.each(UNSAFE)('$what: $exitCode, where files have modes', async (row) => {
    if (posix) await check(row);
    else expect(process.getuid).toBeUndefined();
  });

  it('tells each apart', () => {
    const facts = [...ON_A_FILE, ...UNSAFE].map(({ what, fact }) => (what.endsWith('database') ? what : fact));
    expect(new Set(facts).size).toBe(facts.length);
  });
});

describe('commands without an endpoint fail with their own words', () => {
  it.each(ELSEWHERE)('$what: $exitCode', (row) => check(row));

  it('a daemon that is not ready in time: 8', async () => {
    const server = createServer((_request, response) => response.writeHead(503).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const ran = await place.vault(['wait', '--url', url, '--timeout', '2s']);
    expect(ran).toMatchObject({ exitCode: 8, stdout: '' });
    expect(ran.stderr.split('\n')[0]).toBe(`vault: ${url} was not ready within 2s: it answers 503`);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('a port in use: 8', async () => {
    const daemon = await startServe(place.cwd, ['--file', 'v.db', '--log', 'false']);
    const port = new URL(String(daemon.ready['url'])).port;
    const ran = await place.vault(['serve', '--file', 'v.db', '--port', port]);
    expect(await daemon.stop()).toBe(0);
    expect(ran).toMatchObject({ exitCode: 8, stdout: '' });
    expect(ran.stderr).toContain(`hint: choose another --port, or 0 for a free one\n`);
  });

  it('the API key of --key-out is in the file only, and works', async () => {
    const words = ['tenant', 'create', '--file', 'v.db', '--name', 'second', '--key-out', 'second.key'];
    const made = await place.vault(words);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    const key = readFileSync(place.inside('second.key'), 'utf8').trim();
    expect(key).toMatch(/^key_\w+$/);
    expect(made.stdout).not.toContain(key);
    const { tenant, application } = JSON.parse(made.stdout);
    expect(application).not.toHaveProperty('key');
    const env = { VAULT_FILE: 'v.db' };
    expect(await place.vault(['tenant', 'get', '-q', '--api-key-file', 'second.key'], env)).toMatchObject({
      stdout: `${tenant.id}\n`,
    });
    const issued = await place.vault(
      ['tenant', 'issue-key', '--tenant', tenant.id, '--key-out', 'third.key', '--field', 'tenant_id'],
      env,
    );
    expect(issued).toMatchObject({ stdout: `${tenant.id}\n`, exitCode: 0 });
    expect(await place.vault(['tenant', 'get', '-q', '--api-key-file', 'third.key'], env)).toMatchObject({
      stdout: `${tenant.id}\n`,
    });
    const list = await place.vault(['tenant', 'list', '--field', 'data[1].name'], env);
    expect(list).toMatchObject({ stdout: 'second\n' });
  });
});
