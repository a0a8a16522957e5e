import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VAULT_BIN } from './daemon-process.ts';
import { inParallel } from './perform.ts';
import { countInFile, tenantKeyBytes } from './rotation-keys.ts';
import { killRotations } from './rotation-kills.ts';
import { startLoad } from './rotation-load.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const CALLERS = 32;
/** The number of tokens that one call reads back. */
const PAGE = 100;

/** The result of rotations under load. */
export interface RotationRun {
  /** The number of rotations that SIGKILL stopped before their end. */
  readonly killed: number;
  readonly acknowledged: number;
  /** The number of calls that failed or returned wrong data during the rotations. */
  readonly refused: number;
  readonly firstRefusal: string;
  /** The number of acknowledged writes that are missing at the end. */
  readonly lost: number;
  readonly doctorOk: boolean;
  /** The number of tenant keys at the end. Only one data key and one index key may remain. */
  readonly keys: number;
  /** The number of initial keys whose bytes, wrapped or unwrapped, are still in the file or its log. */
  readonly oldKeysLeft: number;
  /**
   * The 99th percentile of read times in milliseconds: before the first rotation, and during the rotations that were
   * not killed.
   */
  readonly readP99Before: number;
  readonly readP99During: number;
  readonly readsDuring: number;
  readonly rotationMs: number;
}

export interface RotationOptions {
  readonly tokens: number;
  readonly kills: number;
  /** The time to measure reads before the first rotation, in milliseconds. */
  readonly beforeMs?: number;
  readonly random: () => number;
  /** Skips the final rotations, for the control. */
  readonly unfinished?: boolean;
}

/**
 * Rotates keys while callers use HTTP, kills the rotation at random moments, lets the last rotations finish, and
 * reports the result.
 */
export async function rotateUnderLoad(options: RotationOptions): Promise<RotationRun> {
  const { tokens, kills, beforeMs = 0, random, unfinished = false } = options;
  await using vault = await serveVault();
  await vault.start();
  const written = new Map<string, number>();
  await inParallel(tokens, CALLERS, async (n) => {
    const body = { id: `rotated-${n}`, type: 'token', data: n, metadata: { tag: String(n) } };
    await vault.remote(vault.everything, 'createToken', { body });
    written.set(body.id, n);
  });
  const credential = { kind: 'key_file', key: new Uint8Array(readFileSync(`${vault.file}.key`)) } as const;
  const first = await tenantKeyBytes(vault.file, credential);

  const load = startLoad(vault, { written, random });
  // Wait until the daemon has emptied the log and Node has compiled the hot code.
  await sleep(beforeMs / 2);
  load.readsSince();
  await sleep(beforeMs);
  const before = load.readsSince();
  const words = [VAULT_BIN, 'keys', 'rotate', '--yes', '--file', vault.file];
  const spawnRotation = (...flags: readonly string[]) =>
    spawn(process.execPath, [...words, ...flags], { stdio: 'ignore' });
  const killed = await killRotations(spawnRotation, { kills, random });
  load.readsSince();
  const started = performance.now();
  if (!unfinished) for (const flags of [['--indexes'], ['--indexes']]) await rotate(vault, flags);
  const rotationMs = Math.round(performance.now() - started);
  const during = load.readsSince();
  await load.stop();

  let lost = 0;
  const acknowledged = [...written];
  await inParallel(Math.ceil(acknowledged.length / PAGE), 2, async (page) => {
    const asked = acknowledged.slice(page * PAGE, (page + 1) * PAGE);
    const query = [`size=${PAGE}`, ...asked.map(([id]) => `id=${id}`)].join('&');
    const { body } = await vault.remote(vault.everything, 'listTokens', { query });
    const listed = (body['data'] ?? []) as readonly { readonly id: string; readonly data: unknown }[];
    const found = new Map(listed.map(({ id, data }) => [id, data]));
    for (const [id, data] of asked) if (found.get(id) !== data) lost += 1;
  });
  const doctor = JSON.parse(await vault.cli(['doctor'], '').catch(() => '{"ok":false}'));
  const last = await tenantKeyBytes(vault.file, credential);
  const old = first.flatMap(({ wrapped, unwrapped }) => [wrapped, unwrapped]);
  return {
    killed,
    acknowledged: acknowledged.length,
    refused: load.refused(),
    firstRefusal: load.firstRefusal(),
    lost,
    doctorOk: doctor.ok,
    keys: last.length,
    oldKeysLeft: await countInFile(vault.file, old),
    readP99Before: before.p99,
    readP99During: during.p99,
    readsDuring: during.reads,
    rotationMs,
  };
}

function rotate(vault: ServedVault, flags: readonly string[]): Promise<string> {
  return vault.cli(['keys', 'rotate', '--yes', ...flags], '');
}
