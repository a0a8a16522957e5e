import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { type DaemonProcess, runVault, startDaemon } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { createExpectedState, verifyTokens, writeTokens } from './kill-writer.ts';
import { builtText, withPatch } from './patched-product.ts';
import { createCaller, type Perform, seededNumbers } from './perform.ts';
import { limitFileSize, mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { makeVaultFile, readTokens, type VaultFile } from './vault-file.ts';

/** The code in the built product that reports a file at its limit. */
const REPORTED = builtText('EFBIG:"no_space"');

const WRITERS = 8;
/** The number of bytes left free. They suffice for a few commits, so that the disk fills up during a commit. */
const LEFT = 150_000;
const MAX_RECOVERY_MS = 5_000;
const PROBLEM = 'urn:token-vault:problem:no_space';
const HINT = 'hint: make room on the disk and try again\n';
const TOLD = `vault: There is no space left for the vault.\n${HINT}`;
const LIMIT_HINT = 'hint: raise the limit of the file size (`ulimit -f`) and try again\n';
const COMPANION = /-(wal|shm)$/;

/** Runs writes and commands on a vault on a small disk, and tracks the expected tokens. */
function createUse({ file, everything }: VaultFile, disk: SmallDisk, random: () => number) {
  const expected = createExpectedState(false);
  const owned = Array.from({ length: WRITERS }, (): string[] => []);
  const counts = { acknowledged: 0, refused: 0, reads: 0, cli_runs: 0 };
  let daemon: DaemonProcess | undefined;
  let client = remoteClient({ url: 'http://127.0.0.1:1' });
  const call = createCaller(() => client, [503, 507]);

  /** Rejects for 503, and for a 507 of another problem. */
  const perform: Perform = async (...parts) => {
    const reply = await call(...parts);
    const { type } = reply.body;
    if (reply.status === 503 || (reply.status === 507 && type !== PROBLEM))
      throw new CheckFailure(`on a full disk, ${parts[1]} was answered ${reply.status} ${type}`, counts);
    return reply;
  };

  async function expectCli(args: readonly string[], exitCode: number, stderr?: string): Promise<void> {
    const ran = await runVault(args, { VAULT_API_KEY: everything }, disk.wrapper);
    counts.cli_runs += 1;
    if (ran.code === exitCode && (stderr === undefined || ran.stderr === stderr)) return;
    throw new CheckFailure(`vault ${args[0]} ${args[1] ?? ''} ends with ${ran.code}: ${ran.stderr}`, counts);
  }

  const anyId = () => expected.all()[0] ?? '';

  return {
    counts,
    expectCli: (args: readonly string[], exitCode: number, stderr?: string) =>
      expectCli([...args, '--file', file], exitCode, stderr),
    pid: () => daemon?.pid,

    async start(readyFile: string, bin?: string): Promise<void> {
      // With the default audit, plaintext reads would fail on a full disk.
      const flags = ['--audit', 'mutations'];
      daemon = await startDaemon({ file, readyFile, flags, bin });
      await client.close();
      client = remoteClient({ url: daemon.url });
    },
    async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
      await client.close();
      return (await daemon?.stop(signal)) ?? null;
    },

    /** Writes in parallel. Each writer stops after `count` writes or `most` refusals. */
    async writeMany(count: number, most: number): Promise<void> {
      const writers = owned.map((own) => {
        let [done, refusals] = [0, 0];
        const ended = () => done >= count || refusals >= most;
        const took = () => void done++;
        const refused = () => {
          refusals += 1;
          counts.refused += 1;
        };
        return writeTokens({ perform, key: everything, expected, random, own, ended, took, refused });
      });
      await Promise.all(writers);
      counts.acknowledged = expected.figures().acknowledged;
    },

    /** Reads all tokens, one by one and as a list, and compares them with the expected ones. */
    async readAll(): Promise<void> {
      await verifyTokens({ perform, key: everything }, expected, expected.all());
      const listed = await readTokens(perform, everything);
      for (const id of expected.all()) expected.finds(id, listed.get(id));
      counts.reads += expected.all().length;
      const [violation] = expected.violations();
      if (violation !== undefined) throw new CheckFailure(violation, counts);
    },

    /** Runs commands when no companion file fits. They must report the full disk and leave no files. */
    async expectNothingFits(): Promise<void> {
      const folder = dirname(file);
      const before = readdirSync(folder).filter((name) => !COMPANION.test(name));
      const hint = disk.way === 'tmpfs' ? HINT : LIMIT_HINT;
      const told = `vault: ${file} has no space left beside it\n${hint}`;
      for (const words of [['tokens', 'get', anyId()], ['tokens', 'list'], ['doctor'], ['keys', 'list', '--tenants']]) {
        await expectCli([...words, '--file', file], 1, told);
      }
      const copy = join(folder, 'copy.db');
      await expectCli(['backup', copy, '--file', file], 1);
      const made = `vault: there is no space left for ${copy}\n${hint}`;
      await expectCli(['init', '--file', copy, '--key-file', `${file}.key`], 1, made);
      // The file size limit is larger than a key.
      if (disk.way === 'tmpfs') {
        const key = join(folder, 'new.key');
        const noKey = `vault: --key-file: there is no space left for ${key}\n${HINT}`;
        await expectCli(['init', '--file', copy, '--key-file', key], 1, noKey);
      }
      const left = readdirSync(folder).filter((name) => !COMPANION.test(name) && !before.includes(name));
      if (left.length > 0) throw new CheckFailure(`left behind: ${left.join(', ')}`, counts);
    },

    /** Returns the milliseconds until a write is accepted. `freed` must be at least the size of the log. */
    async recovery(freed: number): Promise<number> {
      const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (freed < log) throw new Error(`the check's disk is too small: ${freed} bytes given back, the log has ${log}`);
      const started = performance.now();
      const body = { type: 'token', data: 'after the recovery' };
      while ((await perform(everything, 'createToken', { body })).status !== 201) {
        if (performance.now() - started > MAX_RECOVERY_MS) {
          throw new CheckFailure('there is space again, and writes are still refused', counts);
        }
        await sleep(20);
      }
      return Math.round(performance.now() - started);
    },

    anyId,
  };
}

interface Options extends CheckOptions {
  readonly bin?: string;
}

async function fillUp(disk: SmallDisk, { seed, quick, bin }: Options) {
  using elsewhere = makeFolder();
  const readyFile = join(elsewhere.path, 'ready.json');
  const rounds = quick ? 1 : 5;
  const use = createUse(await makeVaultFile(disk.folder), disk, seededNumbers(seed));
  let slowest = 0;
  try {
    await use.start(readyFile, bin);
    for (let round = 0; round < rounds; round += 1) {
      await use.writeMany(8, 1);
      disk.leave(LEFT, use.pid());
      await use.writeMany(200, 3);
      disk.leave(0, use.pid());
      const refused = use.counts.refused;
      // Keep writing until the disk is full, because an emptied log has room for a few more writes.
      await use.writeMany(200, 3);
      if (use.counts.refused === refused)
        throw new CheckFailure('the disk is full, and no write was refused', use.counts);
      await use.readAll();
      await use.expectCli(['tokens', 'create', '--type', 'token', '--data', '1'], 1, TOLD);
      // List a type without tokens: showing plaintext needs an audit entry, which may not fit.
      await use.expectCli(['tokens', 'list', '--type', 'bank'], 0, '');
      await use.expectCli(['doctor'], 0);
      const killed = round % 2 === 1;
      if (killed) await use.stop('SIGKILL');
      const freed = disk.free(killed ? undefined : use.pid());
      if (killed) await use.start(readyFile, bin);
      slowest = Math.max(slowest, await use.recovery(freed));
      await use.readAll();
    }
    const exitCode = await use.stop('SIGTERM');
    if (exitCode !== 0) throw new CheckFailure(`the daemon ended with ${exitCode}`, use.counts);
    disk.leave(0, undefined);
    await use.expectNothingFits();
    disk.free(undefined);
    await use.start(readyFile, bin);
    await use.readAll();
    return { ...use.counts, lost: 0, rounds, slowest_recovery_ms: slowest };
  } finally {
    await use.stop('SIGKILL');
    disk.remove();
  }
}

const prefixed = (way: string, figures: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${way}_${name}`, value]));

const limited = () => limitFileSize((folder) => join(folder, 'vault.db-wal'));

/** Runs with a file size limit, and also on a full file system if one can be mounted. */
async function run(options: CheckOptions) {
  const mounted = mountSmallDisk();
  const full = mounted ? await fillUp(mounted, options) : {};
  return {
    mounted: mounted !== undefined,
    ...prefixed('tmpfs', full),
    ...prefixed('limit', await fillUp(limited(), options)),
  };
}

/** Runs a product that reports a full disk as another process's lock. */
const control = (options: CheckOptions) =>
  withPatch([REPORTED, 'EFBIG:"vault_busy"'], (bin) => fillUp(limited(), { ...options, quick: true, bin }));

export const CHECK: Check = { number: 6, name: 'full disk', quick: false, run, control };
