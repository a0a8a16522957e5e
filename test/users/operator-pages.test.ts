import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Ended, endOf, makePlace, type Place, startOnTerminal, VAULT_BIN } from '../process/cli-fixture.ts';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';

const RECIPES = fileURLToPath(new URL('../recipes/', import.meta.url));
const POSIX = process.platform !== 'win32';

/** Returns the code blocks of a section of a page of docs/, by its heading. */
function blocksOf(name: string, heading: string, language: string): readonly string[] {
  const page = readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');
  const [section = ''] = page.split(`\n## ${heading}\n`).slice(1);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/```(\w+)\n(.*?)```/gs)].flatMap(([, found, code]) =>
    found === language && code ? [code] : [],
  );
}

/** Creates a vault with 30 tokens, and programs as the page names them. `ssh HOST COMMAND` runs the command here. */
async function machine() {
  const place = makePlace(onTestFinished);
  const key = await place.application('vault', await place.init('vault'), 'token:create,token:read');
  const env = { VAULT_FILE: 'vault.db', VAULT_API_KEY: key };
  const rows = Array.from(
    { length: 30 },
    (_, n) => `${JSON.stringify({ id: `row-${n}`, type: 'token', data: 'x'.repeat(900) })}\n`,
  );
  writeFileSync(place.inside('rows'), rows.join(''));
  expect(await place.vault('import rows', env)).toMatchObject({ exitCode: 0 });
  for (const name of ['bin', 'tmp', 'backups', 'host']) mkdirSync(place.inside(name));
  const programs = {
    vault: `exec '${process.execPath}' '${VAULT_BIN}' "$@"`,
    ssh: 'cd host && exec sh -c "$2"',
    'restore-drill.sh': `exec '${RECIPES}restore-drill.sh' "$@"`,
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(place.inside(`bin/${name}`), `#!/bin/sh\n${text}\n`);
    chmodSync(place.inside(`bin/${name}`), 0o755);
  }
  return { place, env };
}

/** Returns a port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function shell(place: Place, code: string): Promise<Ended> {
  const env = cleanEnvironment({
    PATH: [place.inside('bin'), process.env['PATH'] ?? ''].join(path.delimiter),
    TMPDIR: place.inside('tmp'),
    VAULT_CONFIG_DIR: place.inside('config'),
  });
  return endOf(spawn('bash', ['-euo', 'pipefail', '-c', code], { cwd: place.cwd, env }), 60_000);
}

describe.runIf(POSIX)("the commands of the operators' pages", { timeout: 120_000 }, () => {
  it('back up, verify and restore', async () => {
    const { place, env } = await machine();
    const [backUp = '', restore = ''] = blocksOf('backup.md', 'Backup and restore', 'sh');
    expect(await shell(place, backUp)).toMatchObject({ exitCode: 0 });
    expect(readdirSync(place.inside('backups'))).toEqual([expect.stringMatching(/^vault-\d{8}T\d{6}Z\.db$/)]);
    const arrived = { ...env, VAULT_FILE: 'host/vault.db', VAULT_KEY_FILE: 'vault.db.key' };
    expect(await place.vault('doctor --field checked.tokens', arrived)).toMatchObject({ exitCode: 0, stdout: '30\n' });
    await place.vault('reset --yes', env);
    expect(await shell(place, restore)).toMatchObject({ exitCode: 0 });
    expect((await place.vault('tokens list --field pagination.total_items', env)).stdout).toBe('30\n');
    expect(readdirSync(place.inside('tmp'))).toEqual([]);
  });

  it('run from the crontab', async () => {
    const { place } = await machine();
    const [table = ''] = blocksOf('backup.md', 'Backup and restore', 'crontab');
    const commands = table
      .replaceAll(/^(\S+ ){5}/gm, '')
      .replaceAll('/mnt/backups', 'backups')
      .replaceAll('/var/lib/vault/vault.db', 'vault.db')
      .replaceAll('/etc/vault/vault.key', 'vault.db.key');
    expect(await shell(place, commands)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^backups\/vault-\w+\.db: restored, 30 tokens\n$/),
    });
  });

  it('replace a lost key file with the spare', async () => {
    const { place, env } = await machine();
    const [add = '', drill = ''] = blocksOf('keys.md', 'A lost key file', 'sh').map((block) =>
      block
        .replaceAll('/etc/vault/vault.key', 'vault.db.key')
        .replaceAll('/mnt/safe', '.')
        .replaceAll('/etc/vault', '.'),
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
    const ended = await shell(place, `export VAULT_FILE=vault.db; ${prune}`);
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\{"archive":"audit-1","entries":4/) });
    expect(ended.stderr).toContain('vault: no entry is older than 400d\n');
    expect(ended.stdout.split('\n').slice(-3)).toEqual(['true', 'true', '']);
    expect(readdirSync(place.cwd)).not.toContain('audit-2');
    expect(await place.vault('tokens get row-7 --field id', env)).toMatchObject({ exitCode: 0, stdout: 'row-7\n' });
    expect((await place.vault('audit list --action pruneAudit -q', env)).stdout).toMatch(/^\d+\.1\n$/);
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

it('compacts nothing while a daemon serves the file, and removes no token', { timeout: 60_000 }, async () => {
  const place = makePlace(onTestFinished);
  const key = await place.application('vault', await place.init('vault'), 'token:create,token:read');
  const env = { VAULT_FILE: 'vault.db', VAULT_API_KEY: key };
  await place.vault('tokens create --id one --type token --text x', env);
  const daemon = await startServe(place.cwd, ['--file', 'vault.db', '--no-log']);
  for (const command of ['compact', 'reset --yes --compact']) {
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
  const onTerminal = await startOnTerminal('backup - --file copy.db --key-file vault.db.key', { cwd: place.cwd });
  if (onTerminal === undefined) return;
  expect(onTerminal).toMatchObject({ exitCode: 2 });
  expect(onTerminal.stdout).toContain('a backup cannot be printed on a terminal');
});
