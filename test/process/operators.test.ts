import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makePlace, send } from './cli-fixture.ts';

const POSIX = process.platform !== 'win32';
const PERMISSIONS = 'token:create,token:read';

async function vaultWithToken() {
  const place = makePlace(onTestFinished);
  const key = await place.application('v', await place.init('v'), PERMISSIONS);
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
  await place.vault('tokens create --id one --type token --text x', env);
  return { place, key, env };
}

it('restores beside a left-over log only when both files are kept', async () => {
  const { place, env } = await vaultWithToken();
  expect(await place.vault('backup night.db', env)).toMatchObject({ exitCode: 0 });
  // A copy taken while a daemon runs has its last writes in the log.
  const daemon = await place.serve(['--file', 'v.db']);
  const remote = { ...env, VAULT_FILE: '', VAULT_URL: daemon.url };
  await place.vault('tokens create --id late --type token --text y', remote);
  for (const name of ['v.db', 'v.db-wal']) cpSync(place.inside(name), place.inside(`left-${name}`));
  await daemon.stop();
  for (const name of readdirSync(place.cwd).filter((one) => /^v\.db(-|$)/.test(one))) rmSync(place.inside(name));
  for (const name of ['v.db', 'v.db-wal']) renameSync(place.inside(`left-${name}`), place.inside(name));

  const refused = await place.vault('restore night.db', env);
  expect(refused).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('--move-aside') });
  renameSync(place.inside('v.db'), place.inside('gone.db'));
  const log = await place.vault('restore night.db', env);
  expect(log).toMatchObject({ exitCode: 6 });
  expect(log.stderr).toContain('v.db-wal belongs to an older v.db, and may hold its last writes');
  renameSync(place.inside('gone.db'), place.inside('v.db'));

  const kept = ['v.db', 'v.db-wal'].map((name) => readFileSync(place.inside(name)));
  expect(await place.vault('restore night.db --move-aside', env)).toMatchObject({ exitCode: 0 });
  expect(await place.vault('tokens get late', env)).toMatchObject({ exitCode: 3 });
  const [aside = ''] = readdirSync(place.cwd).filter((name) => /^v\.db\.aside-\w+$/.test(name));
  expect([aside, `${aside}-wal`].map((name) => readFileSync(place.inside(name)))).toEqual(kept);
  const old = { ...env, VAULT_FILE: aside, VAULT_KEY_FILE: 'v.db.key' };
  expect(await place.vault('tokens get late --field data', old)).toMatchObject({ stdout: 'y\n' });
});

it.runIf(POSIX)('opens a vault that others can read, and doctor warns of it', async () => {
  const { place, env } = await vaultWithToken();
  chmodSync(place.inside('v.db'), 0o644);
  expect(await place.vault('tokens get one --field data', env)).toMatchObject({ stdout: 'x\n', stderr: '' });
  const doctor = await place.vault('doctor --field ok', env);
  expect(doctor).toMatchObject({ exitCode: 0, stdout: 'true\n' });
  expect(doctor.stderr).toContain('v.db is readable by other users');
  chmodSync(place.inside('v.db'), 0o600);
  expect((await place.vault('doctor', env)).stderr).not.toContain('readable');
});

it.runIf(POSIX)('a daemon whose log was unlinked rejects writes and loses none', async () => {
  const { place, env } = await vaultWithToken();
  const daemon = await place.serve(['--file', 'v.db']);
  const remote = { VAULT_URL: daemon.url, VAULT_API_KEY: env.VAULT_API_KEY };
  rmSync(place.inside('v.db-wal'));
  const lost = await place.vault('tokens create --id two --type token --text y', remote);
  expect(lost).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('moved or replaced') });
});

it.runIf(POSIX)('an interrupted import prints what it created and how to continue', async () => {
  const { place, env } = await vaultWithToken();
  const rows = Array.from(
    { length: 20_000 },
    (_, n) => `${JSON.stringify({ id: `row-${n}`, type: 'token', data: n })}\n`,
  );
  writeFileSync(place.inside('rows.ndjson'), rows.join(''));
  const child = place.start('import rows.ndjson --resume journal', env);
  const journal = place.inside('journal');
  const hasRows = () => existsSync(journal) && JSON.parse(readFileSync(journal, 'utf8')).rows > 0;
  while (child.exitCode === null && !hasRows()) await new Promise((go) => setTimeout(go, 5));
  child.kill('SIGINT');
  const { exitCode, stderr } = await child.ended;
  expect(exitCode).toBe(130);
  expect(stderr).toMatch(/^vault: the import was interrupted: \d+ created, 0 already existed, 0 rejected$/m);
  expect(stderr).toMatch(/^hint: .*--resume journal/m);
});

it.runIf(POSIX)('the ready file contains the absolute path of a socket', async () => {
  const { place } = await vaultWithToken();
  const daemon = await place.serve(['--file', 'v.db', '--socket', 'v.sock']);
  expect(path.isAbsolute(daemon.url.slice('unix:'.length))).toBe(true);
  expect(await place.vault('wait --ready-file ready.json')).toMatchObject({ exitCode: 0 });
});

it('--dev prints a readable line a request, or JSON, or nothing', async () => {
  const place = makePlace(onTestFinished);
  for (const [words, line] of [
    [[], /^vault: GET \/tokens\/\{id\} 404 \d+\.\d ms application [-0-9a-f]{36} token_not_found$/m],
    [['--log', 'json'], /^\{"time":.*"route":"\/tokens\/\{id\}","operation":"getToken","status":404,/m],
    [['--no-log'], /^vault: listening on \S+\nvault: stopping after SIGTERM\n$/],
  ] as const) {
    const daemon = await place.serve(['--dev', ...words]);
    const asked = await send(daemon.url, 'GET /tokens/secret-id', String(daemon.ready['private_key']));
    expect(asked.status).toBe(404);
    await daemon.stop();
    expect(daemon.told()).toMatch(line);
    expect(daemon.told()).not.toContain('secret-id');
  }
});

it('a daemon that stops leaves the ready file of another one, and removes its own', async () => {
  const { place } = await vaultWithToken();
  const serve = () => place.serve(['--file', 'v.db']);
  const older = await serve();
  const newer = await serve();
  await older.stop();
  expect(await place.vault('wait --ready-file ready.json')).toMatchObject({ exitCode: 0 });
  await newer.stop();
  expect(existsSync(place.inside('ready.json'))).toBe(false);
});
