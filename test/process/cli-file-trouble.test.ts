import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { isThere, makePlace, VAULT_BIN } from './cli-fixture.ts';

const place = makePlace();
beforeAll(async () => {
  await place.init('v');
});

const superuser = process.getuid?.() === 0;

/**
 * Returns a command prefix that makes the superuser obey file modes. Returns undefined when there is none, or when
 * files have no modes.
 */
function obeyingModes(): readonly string[] | undefined {
  if (process.getuid === undefined) return undefined;
  if (!superuser) return [];
  return isThere('setpriv') ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : undefined;
}

function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly stderr: string }> {
  const options = { cwd: place.cwd, env: cleanEnvironment({ VAULT_CONFIG_DIR: place.inside('config') }) };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, _stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}

function runObeying(prefix: readonly string[], words: readonly string[]) {
  const [program = '', ...args] = [...prefix, process.execPath, VAULT_BIN, ...words];
  return run(program, args);
}

/** Copies the vault into its own folder. Returns the path of the copy. */
function copyInto(folder: string): string {
  mkdirSync(place.inside(folder), { recursive: true });
  const name = `${folder}/x.db`;
  copyFileSync(place.inside('v.db'), place.inside(name));
  chmodSync(place.inside(name), 0o600);
  return name;
}

const told = (fact: string, hint?: string) => `vault: ${fact}\n${hint === undefined ? '' : `hint: ${hint}\n`}`;
const on = (file: string) => ['--file', file, '--key-file', 'v.db.key'];
const FOLDER_HINT = 'make the folder of the vault writable; the log file is also written there';
const DAMAGED_HINT =
  'run `vault doctor` to find the damage, or restore a backup: `vault restore` (database: pg_restore)';

describe('a file or folder whose mode forbids it', () => {
  const prefix = obeyingModes();

  const obey = async (words: readonly string[], exitCode: number, stderr: string) => {
    // Without setpriv, the superuser is stopped by no mode.
    if (prefix === undefined) expect(superuser || process.platform === 'win32').toBe(true);
    else expect([words, await runObeying(prefix, words)]).toEqual([words, { exitCode, stderr }]);
  };

  it('a folder that cannot be written: 2, for every command', async () => {
    const file = copyInto('closed');
    chmodSync(place.inside('closed'), 0o500);
    const refused = told(`the folder of ${place.inside(file)} cannot be written`, FOLDER_HINT);
    for (const words of [['tenant', 'list'], ['doctor'], ['serve', '--port', '0']]) {
      await obey([...words, ...on(file)], 2, refused);
    }
    await obey(
      ['init', ...on('closed/y.db')],
      2,
      told(`${place.inside('closed/y.db')} cannot be written`, FOLDER_HINT),
    );
    chmodSync(place.inside('closed'), 0o700);
    expect(readdirSync(place.inside('closed'))).toEqual(['x.db']);
    await obey(['tenant', 'list', ...on(file)], 0, '');
  });

  it('a vault that cannot be written: 2', async () => {
    const file = copyInto('fixed');
    chmodSync(place.inside(file), 0o400);
    const hint = 'make the vault a regular file of your own with mode 0600: `chmod 600 FILE`';
    await obey(['tenant', 'list', ...on(file)], 2, told(`${place.inside(file)} cannot be written`, hint));
  });

  it('a key file that cannot be read: 2', async () => {
    copyFileSync(place.inside('v.db.key'), place.inside('closed.key'));
    chmodSync(place.inside('closed.key'), 0o000);
    const words = ['tenant', 'list', '--file', 'v.db', '--key-file', 'closed.key'];
    await obey(words, 2, told('--key-file: closed.key cannot be read (EACCES)'));
  });
});

describe('a file that another process holds', () => {
  it('is awaited, then 8: busy for a writer, locked for a reader', { timeout: 60_000 }, async () => {
    const [written, held] = [copyInto('written'), copyInto('held')];
    const [writer, holder] = [new Database(place.inside(written)), new Database(place.inside(held))];
    writer.exec('BEGIN IMMEDIATE');
    holder.pragma('locking_mode = EXCLUSIVE');
    holder.exec('BEGIN EXCLUSIVE');
    try {
      const [read, busy, locked] = await Promise.all([
        runObeying([], ['tenant', 'list', ...on(written)]),
        runObeying([], ['tenant', 'create', '--name', 'n', ...on(written)]),
        runObeying([], ['tenant', 'list', ...on(held)]),
      ]);
      expect(read).toEqual({ exitCode: 0, stderr: '' });
      expect(busy).toEqual({ exitCode: 8, stderr: told('The vault is busy; try again.', 'try again') });
      expect(locked).toEqual({
        exitCode: 8,
        stderr: told(
          `${place.inside(held)} is locked by another process`,
          'try again; if the file was renamed or mounted elsewhere, stop the process that has it open',
        ),
      });
    } finally {
      writer.close();
      holder.close();
    }
    expect(await runObeying([], ['tenant', 'create', '--name', 'n', ...on(written)])).toMatchObject({ exitCode: 0 });
  });
});

describe('a folder that was removed under the shell', () => {
  it.each(['exec -- true', 'backup b.db --file "$V" --key-file "$V.key"', 'profile add p --file v.db'])(
    '%s: 2',
    async (line) => {
      // Windows does not remove a folder that is in use.
      if (process.platform === 'win32') return;
      mkdirSync(place.inside('gone'), { recursive: true });
      const script = `V=$PWD/v.db; cd gone && rmdir ../gone && exec '${process.execPath}' '${VAULT_BIN}' ${line}`;
      expect(await run('sh', ['-c', script])).toEqual({
        exitCode: 2,
        stderr: told('the current folder is gone', 'change to an existing folder'),
      });
    },
  );
});

describe('a file whose bytes were lost', () => {
  const LOSSES: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ['its second half', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['all but its first page', (bytes) => Buffer.from(bytes).fill(0xff, 4096)],
  ];

  it.each(LOSSES)('%s: 9, and backup makes no copy', async (_what, lose) => {
    const file = copyInto('lost');
    writeFileSync(place.inside(file), lose(readFileSync(place.inside('v.db'))));
    const fact = `${place.inside(file)} is damaged`;
    for (const [words, stderr] of [
      [['tenant', 'list'], told(fact, DAMAGED_HINT)],
      [['backup', 'copy.db'], told(`${file} is damaged`, DAMAGED_HINT)],
      [['doctor'], told('1 finding', 'restore a backup: `vault restore` (database: pg_restore)')],
    ] as const) {
      expect(await place.vault([...words, ...on(file)])).toMatchObject({ exitCode: 9, stderr });
    }
    expect(existsSync(place.inside('copy.db'))).toBe(false);
  });
});
