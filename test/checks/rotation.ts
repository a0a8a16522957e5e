import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Credential } from '../../src/keyring/credential.ts';
import { unlockMasterKey } from '../../src/keyring/master-key.ts';
import { loadSodium } from '../../src/keyring/sodium.ts';
import { deriveFromMaster } from '../../src/keyring/sub-keys.ts';
import { tenantKeyWrapper } from '../../src/keyring/tenant-keyring.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { seededNumbers } from './perform.ts';
import { rotateBesideLoad } from './rotation-load.ts';
import { startServedVault } from './served-vault.ts';

const execute = promisify(execFile);

/** A stored tenant key without the prefix that all keys share, and the unwrapped key, which must never be stored. */
interface TenantKeyBytes {
  readonly wrapped: string;
  readonly unwrapped: string;
}

/** The offset of the nonce. The ciphertext and the tag follow. */
const WRAPPED_FROM = 5;

async function tenantKeyBytes(file: string, credential: Credential): Promise<readonly TenantKeyBytes[]> {
  const { header, store } = await openVaultFile(file);
  try {
    const sodium = await loadSodium();
    const master = await unlockMasterKey(header, credential);
    const { unwrap } = tenantKeyWrapper(sodium, deriveFromMaster(sodium, master, 'tenant_key_wrapping'), header);
    const found = await Promise.all((await store.listTenantIds()).map((id) => store.findTenant(id)));
    return found.flatMap((one) =>
      (one?.keys ?? []).map((key) => ({
        wrapped: Buffer.from(key.wrapped).subarray(WRAPPED_FROM).toString('hex'),
        unwrapped: Buffer.from(unwrap(one?.tenant.id ?? '', key)).toString('hex'),
      })),
    );
  } finally {
    await store.close();
  }
}

/** Counts the byte strings in the file or its log, in another process: reading here would drop locks. */
async function countInFile(file: string, texts: readonly string[]): Promise<number> {
  const code = `
    const { readFileSync } = require('node:fs');
    const [files, texts] = process.argv.slice(1).map((text) => JSON.parse(text));
    const all = files.map((name) => readFileSync(name));
    const there = (text) => all.some((bytes) => bytes.includes(Buffer.from(text, 'hex')));
    process.stdout.write(String(texts.filter(there).length));`;
  const files = [file, `${file}-wal`].filter((name) => existsSync(name));
  const { stdout } = await execute(process.execPath, ['-e', code, JSON.stringify(files), JSON.stringify(texts)]);
  return Number(stdout);
}

interface RotationOptions {
  readonly tokens: number;
  readonly kills: number;
  readonly beforeMs?: number;
  readonly random: () => number;
  readonly unfinished?: boolean;
}

/** Rotates the keys of a served file under load. No bytes of the initial keys may remain. */
export async function rotateUnderLoad({ unfinished = false, ...options }: RotationOptions) {
  await using vault = await startServedVault();
  const { file, remote, everything } = vault;
  const credential = { kind: 'key_file', key: new Uint8Array(readFileSync(`${file}.key`)) } as const;
  let first: readonly TenantKeyBytes[] = [];
  const words = [VAULT_BIN, 'keys', 'rotate', '--yes', '--file', file];
  const spawnRotation = (...flags: readonly string[]) =>
    spawn(process.execPath, [...words, ...flags], { stdio: 'ignore' });
  const { figures, countLost } = await rotateBesideLoad(
    { remote, everything, spawnRotation },
    {
      ...options,
      async onTokens() {
        first = await tenantKeyBytes(file, credential);
      },
      async finish() {
        for (let times = unfinished ? 2 : 0; times < 2; times += 1)
          await vault.cli(['keys', 'rotate', '--yes', '--indexes'], '');
      },
    },
  );
  const lost = await countLost();
  const doctor = JSON.parse(await vault.cli(['doctor'], '').catch(() => '{"ok":false}'));
  const { length: keys } = await tenantKeyBytes(file, credential);
  const old = first.flatMap(({ wrapped, unwrapped }) => [wrapped, unwrapped]);
  const oldKeysLeft = await countInFile(file, old);
  return { ...figures, lost, doctorOk: doctor.ok === true, keys, oldKeysLeft };
}

const SIZES = {
  quick: { tokens: 300, kills: 3 },
  full: { tokens: 100_000, kills: 25, beforeMs: 4000 },
} as const;

/** The largest factor by which a rotation may slow down the slowest reads. */
const MAX_SLOWER = 2;

/** Removes a slot while a daemon runs. Resolves to the exit code with the removed key, and a status. */
async function removedSlotExit() {
  await using vault = await startServedVault();
  const other = `${vault.file}.other`;
  await vault.cli(['keys', 'add', '--new-key-file', other], '');
  await vault.cli(['keys', 'remove', '--slot', '0', '--yes', '--key-file', other], '');
  const exit = await vault.cli(['keys', 'list'], '').then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
  const { status } = await vault.remote(vault.everything, 'listTokens');
  return { exit, served: status };
}

function judge(run: Awaited<ReturnType<typeof rotateUnderLoad>>, least: number): void {
  const { killed, refused, lost, doctorOk, keys, oldKeysLeft } = run;
  const sound = refused === 0 && lost === 0 && doctorOk && keys === 2 && oldKeysLeft === 0;
  if (!sound) throw new CheckFailure('a rotation lost, refused or left something', { ...run });
  if (killed < least) throw new CheckFailure('too few rotations were killed on the way', { ...run });
}

/** Checks that killed rotations lose nothing, that old keys are destroyed, and a removed slot opens nothing. */
export const CHECK: Check = {
  number: 18,
  name: 'rotation',
  quick: false,
  runs: 'alone',
  async run({ seed, quick }: CheckOptions) {
    const size = quick ? SIZES.quick : SIZES.full;
    const run = await rotateUnderLoad({ ...size, random: seededNumbers(seed) });
    judge(run, size.kills);
    // A few reads give no useful 99th percentile.
    if (!quick && run.readP99During > MAX_SLOWER * run.readP99Before) {
      throw new CheckFailure('reads are slow while keys are rotated', { ...run });
    }
    const { exit, served } = await removedSlotExit();
    if (exit !== 10 || served !== 200) throw new CheckFailure('a removed slot', { exit, served });
    return { ...run, removed_slot_exit: exit };
  },
  /** Skips the final rotations, so that old keys remain in the file. */
  async control({ seed }: CheckOptions) {
    const run = await rotateUnderLoad({ tokens: 2000, kills: 1, random: seededNumbers(seed), unfinished: true });
    judge(run, 0);
  },
};
