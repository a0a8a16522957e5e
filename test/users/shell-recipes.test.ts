import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { tamperFile } from '../checks/tamper-file.ts';
import { type Ended, endOf, makePlace, RUN_VAULT } from '../process/cli-fixture.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { POSIX, pageOf, writePrograms } from './page-fixture.ts';

const RECIPES = fileURLToPath(new URL('../recipes/', import.meta.url));

const place = makePlace();
/** The folder with the commands of devDependencies. */
const LOCAL_BIN = 'node_modules/.bin';
/** Returns PATH with these folders in front. */
const pathOf = (...names: readonly string[]) =>
  [...names.map((name) => place.inside(name)), process.env['PATH'] ?? ''].join(path.delimiter);

beforeAll(() => {
  mkdirSync(place.inside('tmp'));
  writePrograms(place, LOCAL_BIN, { vault: RUN_VAULT, 'token-vault': RUN_VAULT });
  // Replaces the tests of a project.
  const npm = '[ "$1" = ci ] || npx token-vault tokens create --type token --text "$*" --id tested -q';
  writePrograms(place, 'bin', { npm });
});

/** Runs a shell script as a user or a CI runner would. */
function shell(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn('bash', [...words], {
    cwd: place.cwd,
    env: cleanEnvironment({
      PATH: pathOf('bin', LOCAL_BIN),
      TMPDIR: place.inside('tmp'),
      VAULT_CONFIG_DIR: place.inside('config'),
      ...env,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return endOf(child, 30_000);
}

const recipe = (name: string, words: readonly string[] = [], env = {}) => shell([`${RECIPES}${name}`, ...words], env);

describe('recipes', () => {
  it('are all tested', () => {
    expect(readdirSync(RECIPES).sort()).toEqual([
      'back-to-a-snapshot.sh',
      'ci-job.yml',
      'copy-between-vaults.sh',
      'exit-codes.sh',
      'restore-drill.sh',
      'seed.yaml',
      'seeded.sh',
      'test_tokens.py',
      'time-and-faults.sh',
      'tokens.jest.cjs',
      'tokens.vitest.mjs',
      'with-a-daemon.sh',
      'without-a-daemon.sh',
    ]);
  });

  it.each([
    ['seeds.md', 'seed.yaml', 1],
    ['backup.md', 'restore-drill.sh', 0],
  ])('docs/%s contains %s unchanged', (page, name, from) => {
    const text = readFileSync(`${RECIPES}${name}`, 'utf8').split('\n').slice(from).join('\n');
    expect(pageOf(page)).toContain(`\n\`\`\`${name.replace(/.*\./, '')}\n${text}\`\`\`\n`);
  });
});

describe.runIf(POSIX)('a recipe', () => {
  it('with-a-daemon.sh runs a command on a seeded vault, ends with its exit code and leaves nothing', async () => {
    const ran = await recipe('with-a-daemon.sh', [
      'sh',
      '-c',
      'vault tokens get "$CARD_TOKEN" --field data.number; echo "$VAULT_PID" > pid; exit 7',
    ]);
    expect(ran).toMatchObject({ exitCode: 7, stdout: '4242424242424242\n' });
    expect(() => process.kill(Number(readFileSync(place.inside('pid'), 'utf8')), 0)).toThrow('ESRCH');
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('seeded.sh runs a command on the data of seed.yaml, with the same ids and keys in every run', async () => {
    const command =
      'VAULT_API_KEY=$APP_SUPPORT_KEY vault tokens get "$TOKEN_VISA" --field data.number; echo "$APP_WEB_ID"; exit 7';
    const ran = await recipe('seeded.sh', ['sh', '-c', command]);
    expect(ran).toMatchObject({
      exitCode: 7,
      stderr: '',
      stdout: expect.stringMatching(/^XXXXXXXXXXXX4242\n[0-9a-f-]{36}\n$/),
    });
    expect((await recipe('seeded.sh', ['sh', '-c', command])).stdout).toBe(ran.stdout);
    const count = 'vault tokens list --field pagination.total_items; echo "$TOKEN_CARDS_COUNT"';
    // The Visa token, 20 customers and 100 cards.
    expect((await recipe('seeded.sh', ['sh', '-c', count])).stdout).toBe('121\n100\n');
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('without-a-daemon.sh masks', async () => {
    expect(await recipe('without-a-daemon.sh')).toMatchObject({ exitCode: 0, stdout: 'XXX-XX-6789\n', stderr: '' });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('time-and-faults.sh sees a token expire and a third try succeed', { timeout: 60_000 }, async () => {
    expect(await recipe('time-and-faults.sh')).toMatchObject({ exitCode: 0, stdout: '1\n3\n' });
  });

  it('back-to-a-snapshot.sh gives each test the same tokens', async () => {
    writeFileSync(place.inside('seed.ndjson'), '{"id":"card-1","type":"token","data":"as seeded"}\n');
    const ran = await recipe('back-to-a-snapshot.sh', [
      'seed.ndjson',
      'vault tokens delete card-1 --yes; vault tokens create --type token --text x -q --id other',
      'vault tokens list -q; vault tokens get card-1 --field data',
    ]);
    expect(ran).toMatchObject({ exitCode: 0, stdout: 'other\ncard-1\nas seeded\n', stderr: '' });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('copy-between-vaults.sh copies what its key may read', async () => {
    const keys: string[] = [];
    for (const name of ['from', 'to']) {
      const env = { VAULT_FILE: `${name}.db`, VAULT_API_KEY: await place.init(name) };
      const rights = ['--permission', 'token:create', '--permission', 'token:update'];
      const words = ['apps', 'create', '--name', 'p', '--type', 'private', ...rights, '--field', 'key'];
      keys.push((await place.vault(words, env)).stdout.trim());
    }
    const created = await place.vault('tokens create --type token --text x --id carried', {
      VAULT_FILE: 'from.db',
      VAULT_API_KEY: keys[0] ?? '',
    });
    expect(created.exitCode).toBe(0);
    const ran = await recipe('copy-between-vaults.sh', ['from.db', 'to.db'], { VAULT_API_KEY: keys[1] ?? '' });
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ran.stdout).toContain('"created":1');
    const copied = await place.vault('export --plaintext', { VAULT_FILE: 'to.db' });
    expect(copied.stdout).toContain('"id":"carried"');
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('exit-codes.sh distinguishes failures', async () => {
    const env = { VAULT_FILE: 'e.db', VAULT_API_KEY: await place.init('e') };
    const made = await place.vault('apps create --name p --type private --permission token:read --field key', env);
    const reader = { ...env, VAULT_API_KEY: made.stdout.trim() };
    expect(await recipe('exit-codes.sh', ['none'], reader)).toMatchObject({ exitCode: 0, stdout: 'gone\n' });
    const refused = { exitCode: 1, stdout: '', stderr: expect.stringContaining('ask for a key that may read it') };
    expect(await recipe('exit-codes.sh', ['none'], env)).toMatchObject(refused);
    expect(
      await recipe('exit-codes.sh', ['none'], {
        VAULT_URL: 'http://127.0.0.1:1',
        VAULT_API_KEY: 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo',
      }),
    ).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the daemon does not answer') });
  });

  it('restore-drill.sh restores the newest backup, and fails for a wrong key, damage and an old backup', {
    timeout: 60_000,
  }, async () => {
    const env = { VAULT_FILE: 'drill.db', VAULT_API_KEY: await place.init('drill') };
    // In the shell of an administrator.
    const shellOf = { ...env, VAULT_KEY_COMMAND: 'false', VAULT_STORE: 'postgres://nobody@db.test/none' };
    mkdirSync(place.inside('backups'));
    for (const name of ['vault-20260101T000000Z.db', 'vault-20260102T000000Z.db']) {
      expect(await place.vault(`backup backups/${name}`, env)).toMatchObject({ exitCode: 0 });
      await place.vault('tenant create --name more', env);
    }
    const drill = (key = 'drill.db.key') => recipe('restore-drill.sh', ['backups', key], shellOf);
    const newest = 'backups/vault-20260102T000000Z.db';
    expect(await drill()).toMatchObject({ exitCode: 0, stdout: `${newest}: restored, 0 tokens\n`, stderr: '' });
    await place.init('unrelated');
    const wrong = { exitCode: 10, stdout: '', stderr: expect.stringContaining('does not open this vault') };
    expect(await drill('unrelated.db.key')).toMatchObject(wrong);
    await tamperFile(place.inside(newest), (connection) => connection.exec('DELETE FROM application'));
    expect(await drill()).toMatchObject({ exitCode: 9, stdout: '' });
    utimesSync(place.inside(newest), 0, 0);
    expect(await drill()).toMatchObject({ exitCode: 1, stderr: `${newest} is older than 26 hours\n` });
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('ci-job.yml: its steps, each in its own shell, start, use and stop a vault from devDependencies', async () => {
    const job = parse(readFileSync(`${RECIPES}ci-job.yml`, 'utf8'));
    const steps: readonly { readonly run?: string }[] = job.jobs.tests.steps;
    const runs = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
    expect(runs).toHaveLength(4);
    const said: string[] = [];
    for (const [at, run] of runs.entries()) {
      writeFileSync(place.inside(`step-${at}.sh`), run);
      // Use the runner's shell options.
      const ended = await shell(['--noprofile', '--norc', '-eo', 'pipefail', `step-${at}.sh`], {
        RUNNER_TEMP: place.inside('tmp'),
        PATH: pathOf('bin'),
        npm_config_loglevel: 'error',
      });
      expect({ run, stderr: ended.stderr, exitCode: ended.exitCode }).toEqual({ run, stderr: '', exitCode: 0 });
      said.push(ended.stdout);
    }
    expect(said.slice(0, 3)).toEqual(['', '', 'tested\n']);
    expect(said[3]).toMatch(/^vault: listening on http:\/\/127\.0\.0\.1:\d+\n/);
    for (let tries = 0; tries < 100 && existsSync(place.inside('tmp/vault.json')); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(existsSync(place.inside('tmp/vault.json'))).toBe(false);
  });
});
