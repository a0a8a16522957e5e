import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../free-port.ts';
import { HAS_TERMINALS, makePlace, VAULT_BIN } from '../process/cli-fixture.ts';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';
import { blocksOf, machine, POSIX, pageOf, shell } from './page-fixture.ts';

describe.runIf(POSIX)("the commands of the operators' pages", { timeout: 120_000 }, () => {
  it('back up, verify and restore', async () => {
    const { place, env } = await machine();
    const [backUp = '', restore = ''] = blocksOf('backup.md', 'Backup and restore', 'sh');
    expect(await shell(place, backUp)).toMatchObject({ exitCode: 0 });
    expect(readdirSync(place.inside('backups'))).toEqual([expect.stringMatching(/^vault-\d{8}T\d{6}Z\.db$/)]);
    expect(statSync(place.inside('host/vault.db')).mode & 0o777).toBe(0o600);
    const arrived = { ...env, VAULT_FILE: 'host/vault.db', VAULT_KEY_FILE: 'vault.db.key' };
    expect(await place.vault('doctor --field checked.tokens', arrived)).toMatchObject({ exitCode: 0, stdout: '30\n' });
    await place.vault('dev reset --yes', env);
    expect(await shell(place, restore)).toMatchObject({ exitCode: 0 });
    expect((await place.vault('tokens list --field pagination.total_items', env)).stdout).toBe('30\n');
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('run from the crontab', async () => {
    const { place } = await machine();
    const [table = ''] = blocksOf('backup.md', 'Backup and restore', 'crontab');
    const [variable, ...commands] = table
      .replaceAll(/^(\S+ ){5}/gm, '')
      .replaceAll('/mnt/backups', 'backups')
      .replaceAll('/var/lib/vault/vault.db', 'vault.db')
      .replaceAll('/etc/vault/vault.key', 'vault.db.key')
      .replaceAll('/usr/local/bin', place.inside('bin'))
      .trim()
      .split('\n');
    // As cron does: each line in its own shell, with few variables.
    const said: string[] = [];
    for (const command of commands) {
      const ended = await shell(place, `exec env -i ${variable} TMPDIR="$TMPDIR" sh -c '${command}'`);
      expect({ ...ended, command }).toMatchObject({ exitCode: 0, stderr: '' });
      said.push(ended.stdout);
    }
    expect(said).toEqual(['', expect.stringMatching(/^backups\/vault-\w+\.db: restored, 30 tokens\n$/)]);
  });

  it('find what a restored vault lacks', async () => {
    const { place, env } = await machine();
    await place.vault('backup monday.db', env);
    await place.vault('tokens get row-7', env);
    await shell(place, blocksOf('backup.md', 'Backup and restore', 'sh')[1] ?? '');
    const [, listed = ''] = /`(vault audit list --file .*?)`/.exec(pageOf('backup.md')) ?? [];
    const [aside = ''] = readdirSync(place.cwd).filter((name) => /\.aside-\w+$/.test(name));
    const reads = async (command: string) =>
      (await shell(place, `${command} --entity row-7 --operation getToken -q`)).stdout
        .trim()
        .split('\n')
        .filter(Boolean);
    expect(await reads(listed.replace(/vault\.db\.aside-TIME/, aside))).toHaveLength(1);
    expect(await reads(listed.replace(/vault\.db\.aside-TIME/, 'vault.db'))).toEqual([]);
  });

  it('replace the API key of an application', async () => {
    const { place, env } = await machine();
    await place.vault('tenant issue-key --key-out management.key -q', env);
    const rule = ['--rule', 'container=/ transform=mask permissions=token:read'];
    const create = 'apps create --name backend --type private --key-out backend.key --api-key-file management.key';
    const file = { VAULT_FILE: 'vault.db' };
    expect(await place.vault([...create.split(' '), ...rule], file)).toMatchObject({ exitCode: 0 });
    const [replace = ''] = blocksOf('keys.md', 'API keys', 'sh');
    const keys = await place.vault('apps keys list backend --api-key-file management.key -q', file);
    expect(await shell(place, replace.replace('KEY_ID', keys.stdout.trim()), file)).toMatchObject({ exitCode: 0 });
    const list = 'tokens list --field pagination.total_items --api-key-file';
    expect(await place.vault(`${list} backend.key`, file)).toMatchObject({ exitCode: 4 });
    expect(await place.vault(`${list} backend-2.key`, file)).toMatchObject({ exitCode: 0, stdout: '30\n' });
    expect(await shell(place, replace, file)).toMatchObject({ exitCode: 6 });
  });

  it('replace the key file, and the management key', async () => {
    const { place } = await machine();
    const [replace = ''] = blocksOf('keys.md', 'Keys and rotation', 'sh').map((block) =>
      block.replaceAll('/etc/vault', '.').replace(' N ', ' 0 '),
    );
    expect(await shell(place, replace)).toMatchObject({ exitCode: 0 });
    const [, issue = ''] = blocksOf('keys.md', 'API keys', 'sh');
    const issued = await shell(place, issue.replace(/\n.*apps delete.*/, ''), { VAULT_KEY_FILE: 'new.key' });
    expect(issued).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('management') });
  });

  it('replace a lost key file with the spare', async () => {
    const { place, env } = await machine();
    const [add = '', drill = ''] = blocksOf('keys.md', 'A lost key file', 'sh').map((block) =>
      block
        .replaceAll('/etc/vault/vault.key', 'vault.db.key')
        .replaceAll('/mnt/safe', '.')
        .replaceAll('/etc/vault', '.')
        .replace(' N ', ' 0 '),
    );
    expect(await shell(place, add)).toMatchObject({ exitCode: 0 });
    rmSync(place.inside('vault.db.key'));
    expect(await place.vault('keys list', env)).toMatchObject({ exitCode: 2 });
    expect(await shell(place, drill)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\ntrue\n$/) });
    const opened = { ...env, VAULT_KEY_FILE: 'new.key' };
    const left = await place.vault('keys list', opened);
    expect(JSON.parse(left.stdout).data.map(({ label }: { readonly label: string }) => label)).toEqual([
      'spare',
      'service',
    ]);
    const read = await place.vault('tokens list --field pagination.total_items', opened);
    expect(read).toMatchObject({ exitCode: 0, stdout: '30\n' });
  });

  it('prune the audit', async () => {
    const { place, env } = await machine();
    const [prune = ''] = blocksOf('audit.md', 'Retention of the audit', 'sh');
    const young = await shell(place, `export VAULT_FILE=vault.db; ${prune.split('\n')[0]}`);
    expect(young).toMatchObject({
      exitCode: 0,
      stderr: 'vault: the first write of the audit is not older than 400d\n',
    });
    const commands = prune.replaceAll('400d', '1ms').replace('$TOKEN', 'row-7');
    const ended = await shell(place, `export VAULT_FILE=vault.db; ${commands}`);
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\{"archive":"audit-1","entries":6/) });
    expect(ended.stdout.split('\n').slice(3, 5)).toEqual(['true', 'true']);
    expect(await place.vault('tokens get row-7 --field id', env)).toMatchObject({ exitCode: 0, stdout: 'row-7\n' });
    expect((await place.vault('audit list --operation pruneAudit -q', { ...env, VAULT_API_KEY: '' })).stdout).toMatch(
      /^\d+\.1\n$/,
    );
  });

  it.each([
    ['service.md', '"status":"ready"'],
    ['backup.md', '"ok":true'],
    ['keys.md', 'spare'],
    ['audit.md', 'tokenize'],
  ])('%s opens with three commands that work', async (name, shown) => {
    const { place } = await machine();
    const [daemon, metrics] = [await freePort(), await freePort()];
    const [block = ''] = blocksOf(name, undefined, 'sh');
    expect(block.trim().split('\n')).toHaveLength(3);
    const env = { VAULT_FILE: 'vault.db', VAULT_PORT: String(daemon), VAULT_URL: `http://127.0.0.1:${daemon}` };
    const local = block.replaceAll('8484', String(daemon)).replace('--metrics', `--metrics 127.0.0.1:${metrics}`);
    const ended = await shell(
      place,
      `TOKEN=row-7\n${local}kill %1 2>/dev/null && wait || true`,
      name === 'service.md' ? env : { VAULT_FILE: 'vault.db' },
    );
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(shown) });
  });

  it('show metrics', async () => {
    const { place } = await machine();
    const [daemon, metrics] = [await freePort(), await freePort()];
    const [block = ''] = blocksOf('service.md', 'Metrics', 'sh');
    const ports = `export VAULT_PORT=${daemon} VAULT_URL=http://127.0.0.1:${daemon}\n`;
    const ended = await shell(place, `${ports}${block.replaceAll('9484', String(metrics))}kill $!; wait`);
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('\nvault_tokens{type="token"} 30\n') });
  });

  it('give space back', async () => {
    const { place } = await machine();
    const before = statSync(place.inside('vault.db')).size;
    const [compact = ''] = blocksOf('service.md', 'Sizes', 'sh');
    const ended = await shell(place, compact);
    expect(ended).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('{"removed_tokens":30,"bytes_before":'),
    });
    expect(statSync(place.inside('vault.db')).size).toBeLessThan(before);
  });
});

it('compacts and replaces no file that a daemon serves, and removes no token', { timeout: 60_000 }, async () => {
  const place = makePlace(onTestFinished);
  const key = await place.application('vault', await place.init('vault'), 'token:create,token:read');
  const env = { VAULT_FILE: 'vault.db', VAULT_API_KEY: key };
  await place.vault('tokens create --id one --type token --text x', env);
  expect(await place.vault('backup night.db', env)).toMatchObject({ exitCode: 0 });
  const daemon = await startServe(place.cwd, ['--file', 'vault.db', '--no-log']);
  for (const command of ['compact', 'dev reset --yes --compact', 'restore night.db --move-aside']) {
    const refused = await place.vault(command, env);
    expect(refused).toMatchObject({ exitCode: 8, stdout: '' });
    expect(refused.stderr).toContain('vault.db is in use by another process\nhint: stop the daemon');
  }
  const remote = { VAULT_URL: String(daemon.ready['url']), VAULT_API_KEY: key };
  expect(await place.vault('tokens get one --field data', remote)).toMatchObject({ exitCode: 0, stdout: 'x\n' });
  await daemon.stop();
  expect(await place.vault('compact --field checked.tokens', env)).toMatchObject({ exitCode: 0, stdout: '1\n' });
  expect(
    readdirSync(place.cwd)
      .filter((name) => name.includes('vault.db'))
      .sort(),
  ).toEqual(['vault.db', 'vault.db.key']);
});

it('writes a backup to a pipe, and refuses a terminal', { timeout: 60_000 }, async () => {
  const place = makePlace(onTestFinished);
  await place.init('vault');
  mkdirSync(place.inside('tmp'));
  const env = cleanEnvironment({ VAULT_FILE: 'vault.db', TMPDIR: place.inside('tmp'), TEMP: place.inside('tmp') });
  const child = spawn(process.execPath, [VAULT_BIN, 'backup', '-'], { cwd: place.cwd, env });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  expect(await once(child, 'close')).toEqual([0, null]);
  writeFileSync(place.inside('copy.db'), Buffer.concat(pieces), { mode: 0o600 });
  const verified = await place.vault('backup --verify copy.db', { VAULT_FILE: 'vault.db' });
  expect(verified).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readdirSync(place.inside('tmp'))).toEqual([]);

  // The backup of a damaged vault has no bytes.
  rmSync(place.inside('vault.db'));
  writeFileSync(place.inside('vault.db'), Buffer.concat(pieces).subarray(0, -4096), { mode: 0o600 });
  const damaged = await place.vault('backup -', { VAULT_FILE: 'vault.db' });
  expect(damaged).toMatchObject({ exitCode: 9, stdout: '' });
  if (!HAS_TERMINALS) return;
  const onTerminal = await place.onTerminal('backup - --file copy.db --key-file vault.db.key');
  expect(onTerminal).toMatchObject({ exitCode: 2 });
  expect(onTerminal.stdout).toContain('a backup cannot be printed on a terminal');
});
