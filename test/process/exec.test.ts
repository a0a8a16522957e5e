import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Ran } from '../scripts/run-script.ts';
import { HAS_TERMINALS, makePlace, type Place, VAULT_BIN } from './cli-fixture.ts';

const posix = process.platform !== 'win32';
const SEED = `
apps: { web: { type: public, permissions: [token:create] } }
tokens: { visa: { type: card, data: { number: "4242424242424242" } }, cards: { generate: card, count: 3 } }
`;

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
  mkdirSync(place.inside('tmp'));
  writeFileSync(place.inside('seed.yaml'), SEED);
  writeFileSync(place.inside('show.mjs'), SHOW);
});

/** A command that prints its environment and the status of a request to the vault. */
const SHOW = `
const { VAULT_URL, VAULT_API_KEY } = process.env;
const own = Object.entries(process.env).filter(([name]) => /^(?:VAULT_|APP_|TOKEN_)/.test(name) && name !== 'VAULT_URL');
const reply = await fetch(VAULT_URL + '/tokens/' + (process.env.TOKEN_VISA ?? 'none'), { headers: { 'svc-api-key': VAULT_API_KEY } });
console.log(JSON.stringify({ status: reply.status, ...Object.fromEntries(own.sort()) }));
`;

const env = (more: Readonly<Record<string, string>> = {}) => ({
  TMPDIR: place.inside('tmp'),
  TEMP: place.inside('tmp'),
  TMP: place.inside('tmp'),
  ...more,
});

const exec = (words: readonly string[], more: Readonly<Record<string, string>> = {}, stdin = '') =>
  place.process(['exec', ...words], env(more), stdin);

/** Returns the words of a Node command, which runs on every system. */
const node = (text: string): readonly string[] => ['--', process.execPath, '-e', text];

describe('vault exec', () => {
  it.each([0, 7])('exits with the code %i of its command, and leaves no files', async (code) => {
    const ran = await exec(node(`console.log('out'); console.error('err'); process.exit(${code})`));
    expect(ran).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: code });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
    expect(existsSync(place.inside('vault.db'))).toBe(false);
  });

  it('passes on standard input and the flags after the command', async () => {
    const echo =
      'process.stdin.on("data", (d) => process.stdout.write(d)); process.stdout.write(process.argv.slice(1).join(" ") + "|")';
    const ran = await exec(['--', process.execPath, '-e', echo, '--', '--seed', '-x', 'a b'], {}, 'typed\n');
    expect(ran).toMatchObject({ exitCode: 0, stdout: '--seed -x a b|typed\n' });
  });

  it('gives the command a vault and its keys, and hides other vaults', async () => {
    const other = {
      VAULT_FILE: 'none.db',
      VAULT_PROFILE: 'none',
      VAULT_API_KEY_FILE: 'none',
      VAULT_HEADER_PREFIX: 'ABC',
      VAULT_READY_FILE: 'none.json',
      VAULT_ADDR: 'https://other.test',
    };
    const ran = await exec(['--', process.execPath, 'show.mjs'], other);
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(ran.stdout)).toEqual({
      status: 404,
      VAULT_CONFIG_DIR: expect.any(String),
      VAULT_ADDR: 'https://other.test',
      VAULT_API_KEY: expect.stringMatching(/^key_/),
      VAULT_MANAGEMENT_KEY: expect.stringMatching(/^key_/),
      VAULT_DEV_TENANT_ID: expect.any(String),
    });
  });

  it('creates the same ids and keys for the same --seed, which --file keeps, and others for another seed', {
    timeout: 60_000,
  }, async () => {
    const show = async (...words: readonly string[]) => {
      const ran = await exec(['--seed-file', 'seed.yaml', ...words, '--', process.execPath, 'show.mjs']);
      expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
      return JSON.parse(ran.stdout);
    };
    const first = await show('--seed', '7');
    expect(first).toMatchObject({ status: 200, TOKEN_VISA: 'visa', TOKEN_CARDS: 'cards', TOKEN_CARDS_COUNT: '3' });
    expect(first.APP_WEB_KEY).toMatch(/^key_/);
    // The second run with --file finds the vault of the first one.
    for (let run = 0; run < 2; run += 1) expect(await show('--file', 'dev.db', '--seed', '7')).toEqual(first);
    const kept = ['dev.db', 'dev.db.dev.json', 'dev.db.key'];
    expect(
      readdirSync(place.cwd)
        .filter((name) => name.startsWith('dev'))
        .toSorted(),
    ).toEqual(kept);
    for (const name of kept) if (posix) expect(statSync(place.inside(name)).mode & 0o777).toBe(0o600);
    expect(await place.vault('doctor --file dev.db')).toMatchObject({ exitCode: 0 });
    // The ids are the same on every machine.
    expect([first.APP_WEB_ID, first.VAULT_DEV_TENANT_ID]).toMatchInlineSnapshot(`
      [
        "fd9b8f90-ff30-43b8-aeb7-b5f2eb1e7d92",
        "aae65bca-2c99-4fc2-b60a-997a71b0f7e3",
      ]
    `);
    const [second, unseeded] = [await show('--seed', '8'), await show()];
    for (const name of ['APP_WEB_ID', 'APP_WEB_KEY', 'VAULT_API_KEY', 'VAULT_MANAGEMENT_KEY', 'VAULT_DEV_TENANT_ID']) {
      expect(new Set([first[name], second[name], unseeded[name]]).size).toBe(3);
    }
  });
});

/** A command in `vault exec`, whether it has the management key, and what it prints. */
const INSIDE: readonly (readonly [line: string, isManagement: boolean, ran: Ran])[] = [
  ...[
    ['usage', 'report:read'],
    ['dev clock advance 1h', 'tenant:read'],
  ].map(([line = '', permission]) => {
    const hint = 'hint: use the management key: VAULT_API_KEY="$VAULT_MANAGEMENT_KEY" vault …\n';
    const stderr = `vault: The application does not hold the permission ${permission}.\n${hint}`;
    return [line, false, { exitCode: 5, stdout: '', stderr }] as const;
  }),
  ['usage --field token_report.monthly_active_tokens', true, { exitCode: 0, stdout: '0\n', stderr: '' }],
  [
    'tokens list',
    true,
    {
      exitCode: 5,
      stdout: '',
      stderr:
        'vault: The application does not hold the permission token:read. Management applications cannot hold it; create a private one with `vault apps create --name NAME --type private --permission token:read`.\n',
    },
  ],
  ['env', false, { exitCode: 2, stdout: '', stderr: expect.stringContaining('hint: VAULT_URL already names a vault') }],
  // This command ignores the tenant of the variables.
  ['export --plaintext --file other.db', false, { exitCode: 0, stdout: '', stderr: '' }],
];

it('commands in vault exec have its vault, and name the management key where they need it', async () => {
  await place.init('other');
  const text = `
    const { VAULT_API_KEY, VAULT_MANAGEMENT_KEY } = process.env;
    console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([line, isManagement]) => {
      process.env.VAULT_API_KEY = isManagement ? VAULT_MANAGEMENT_KEY : VAULT_API_KEY;
      const words = [process.argv[1], ...line.split(' ')];
      const { status, stdout, stderr } = require('child_process').spawnSync(process.execPath, words, { encoding: 'utf8' });
      return [line, isManagement, { exitCode: status, stdout, stderr }];
    })));`;
  const asked = INSIDE.map(([line, isManagement]) => [line, isManagement]);
  const ran = await exec([...node(text), VAULT_BIN, JSON.stringify(asked)]);
  expect(JSON.parse(ran.stdout)).toEqual(INSIDE);
});

/** Starts `vault exec` with this program and waits until it runs. */
async function start(text: string) {
  const child = place.start(
    ['exec', ...node(`require('fs').writeFileSync('up', String(process.pid)); ${text}`)],
    env(),
  );
  while (!existsSync(place.inside('up')) && child.exitCode === null) await sleep(20);
  await sleep(100);
  return child;
}

const isGone = (pid: number) => expect(() => process.kill(pid, 0)).toThrow('ESRCH');

describe.runIf(posix)('a signal to vault exec', () => {
  it.each(['SIGTERM', 'SIGHUP'] as const)('%s reaches the command, which sets the exit code', async (signal) => {
    const child = await start(
      `process.on('${signal}', () => { console.log('told'); process.exit(9); }); setInterval(() => {}, 1000);`,
    );
    child.kill(signal);
    expect(await child.ended).toMatchObject({ stdout: 'told\n', stderr: '', exitCode: 9 });
    isGone(Number(readFileSync(place.inside('up'), 'utf8')));
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a command without a handler: %i, and leaves no files', async (signal, code) => {
    const child = await start('setInterval(() => {}, 1000);');
    expect(readdirSync(place.inside('tmp'))).toHaveLength(1);
    child.kill(signal);
    expect(await child.ended).toMatchObject({ stderr: '', exitCode: code });
    isGone(Number(readFileSync(place.inside('up'), 'utf8')));
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('before the command starts leaves no files', async () => {
    const child = place.start(['exec', ...node('setTimeout(() => {}, 20_000)')], env());
    while (readdirSync(place.inside('tmp')).length === 0 && child.exitCode === null) await sleep(2);
    child.kill('SIGTERM');
    expect((await child.ended).exitCode).toBe(143);
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it.runIf(HAS_TERMINALS)('Ctrl-C on a terminal reaches the command once', async () => {
    const text =
      "let n = 0; process.on('SIGINT', () => { n += 1; setTimeout(() => { console.log('times ' + n); process.exit(4); }, 500); }); console.log('go'); setInterval(() => {}, 1000);";
    const typed = await place.onTerminal(`exec -- '${process.execPath}' -e "${text}"`, [['go', '\x03']], env());
    expect(typed).toMatchObject({ exitCode: 4, stdout: expect.stringContaining('times 1') });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });
});

describe('vault serve --dev --seed-file', () => {
  it('reports a bad seed before it listens', async () => {
    writeFileSync(place.inside('bad.yaml'), 'tokens:\n  bad: { type: card, data: { number: "4242424242424241" } }\n');
    const ran = await place.vault('serve --dev --port 0 --seed-file bad.yaml', env());
    expect(ran).toMatchObject({
      exitCode: 7,
      stdout: '',
      stderr: expect.stringContaining('bad.yaml:2: tokens.bad.data.number'),
    });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });
});
