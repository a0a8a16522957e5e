import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inParallel } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const VAULT = fileURLToPath(new URL('../../bin/vault.js', import.meta.url));
const execute = promisify(execFile);

/** What a rotation under load came to. */
export interface RotationRun {
  /** Runs that SIGKILL stopped before they were done. */
  readonly killed: number;
  readonly acknowledged: number;
  /** Calls that were answered with anything but success while keys were rotated. */
  readonly refused: number;
  /** Acknowledged writes that are not there at the end. */
  readonly lost: number;
  readonly doctorOk: boolean;
  /** Keys of the tenant at the end: one data key and one index key. */
  readonly keys: number;
  /** Keys that were there at first and whose bytes are still in the file or its log. */
  readonly oldKeysLeft: number;
}

export interface RotationOptions {
  readonly tokens: number;
  readonly kills: number;
  readonly random: () => number;
  /** For a control: the last run is left out. */
  readonly unfinished?: boolean;
}

/** Rotates under writers over HTTP, kills the rotation at random moments, lets the last one finish, and looks at what is left. */
export async function rotateUnderLoad({
  tokens,
  kills,
  random,
  unfinished = false,
}: RotationOptions): Promise<RotationRun> {
  const vault = await serveVault();
  try {
    await vault.start();
    const written = new Map<string, number>();
    let refused = 0;
    let version = 0;
    await inParallel(tokens, 16, async (n) => {
      const body = { id: `rotated-${n}`, type: 'token', data: n, metadata: { tag: String(n) } };
      await vault.remote(vault.everything, 'createToken', { body });
      written.set(body.id, n);
    });
    const first = await wrappedKeys(vault);

    let running = true;
    const writers = [0, 1, 2].map(async (writer) => {
      while (running) {
        version += 1;
        const data = 1_000_000 + version;
        const id = random() < 0.5 ? `rotated-${Math.floor(random() * (tokens / 3)) * 3 + writer}` : `new-${version}`;
        const known = written.has(id);
        if (!known && id.startsWith('rotated-')) continue;
        const body = known ? { data } : { id, type: 'token', data };
        const operation = known ? 'updateToken' : 'createToken';
        const { status } = await vault.remote(vault.everything, operation, known ? { id, body } : { body });
        if (status < 300) written.set(id, data);
        else refused += 1;
        const { body: found } = await vault.remote(vault.everything, 'getToken', { id });
        if (found['data'] !== written.get(id)) refused += 1;
      }
    });
    let killed = 0;
    for (let run = 0; run < kills; run += 1) {
      const flags = [run % 2 === 0 ? [] : ['--indexes'], run % 5 === 4 ? ['--master'] : []].flat();
      if (await rotateFor(vault, flags, 60 + random() * 500)) killed += 1;
    }
    if (!unfinished) for (const flags of [['--indexes'], ['--indexes']]) await rotate(vault, flags);
    running = false;
    await Promise.all(writers);

    let lost = 0;
    await inParallel(written.size, 16, async (index) => {
      const [id, data] = [...written][index] ?? [];
      const { status, body } = await vault.remote(vault.everything, 'getToken', { id: id ?? '' });
      if (status !== 200 || body['data'] !== data) lost += 1;
    });
    const doctor = JSON.parse(await vault.cli(['doctor'], '').catch(() => '{"ok":false}'));
    const last = await wrappedKeys(vault);
    return {
      killed,
      acknowledged: written.size,
      refused,
      lost,
      doctorOk: doctor.ok,
      keys: last.length,
      oldKeysLeft: await countInFile(vault.file, first),
    };
  } finally {
    await vault.close();
  }
}

function rotate(vault: ServedVault, flags: readonly string[]): Promise<string> {
  return vault.cli(['keys', 'rotate', '--yes', ...flags], '');
}

/** Answers whether the run was killed before it was done. */
async function rotateFor(vault: ServedVault, flags: readonly string[], milliseconds: number): Promise<boolean> {
  const words = [VAULT, 'keys', 'rotate', '--yes', '--file', vault.file, ...flags];
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await Promise.race([sleep(milliseconds), ended]);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}

interface Statement {
  all(): readonly unknown[];
}

interface Database {
  prepare(sql: string): { pluck(): Statement };
  close(): void;
}

/** The wrapped keys' own bytes: nonce, ciphertext and tag. */
async function wrappedKeys({ file }: ServedVault): Promise<readonly string[]> {
  const { default: Driver } = await import('better-sqlite3');
  const database: Database = new Driver(file, { readonly: true });
  try {
    const rows = database.prepare('SELECT wrapped FROM tenant_key').pluck().all();
    return rows.map((bytes) => (bytes instanceof Uint8Array ? Buffer.from(bytes).subarray(5).toString('hex') : ''));
  } finally {
    database.close();
  }
}

/** In a process of its own: reading the bytes of a file that this one has open would drop its locks. */
async function countInFile(file: string, keys: readonly string[]): Promise<number> {
  const code = `
    const { existsSync, readFileSync } = require('node:fs');
    const [file, ...keys] = process.argv.slice(1);
    const all = Buffer.concat([file, file + '-wal'].filter(existsSync).map((name) => readFileSync(name)));
    process.stdout.write(String(keys.filter((key) => all.includes(Buffer.from(key, 'hex'))).length));`;
  const { stdout } = await execute(process.execPath, ['-e', code, file, ...keys]);
  return Number(stdout);
}
