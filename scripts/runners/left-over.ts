import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment, start } from './execute.ts';
import { temporaryOf, vaultsIn } from './run-calls.ts';

const MAX_START_MS = 60_000;
/** A daemon stops within 10 s. */
const MAX_STOP_MS = 15_000;

interface Program {
  readonly folder: string;
  readonly bin: string;
  readonly signal?: NodeJS.Signals | undefined;
  readonly maxStopMs?: number;
}

/** Resolves to whether `holds` returns true in time. */
async function until(holds: () => boolean, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline) {
    if (holds()) return true;
    await sleep(50);
  }
  return false;
}

/** Returns whether a process runs. One that has ended exists until the first process of a container collects it. */
function runs(id: number): boolean {
  const status = `/proc/${id}/stat`;
  try {
    process.kill(id, 0);
    return !existsSync(status) || !readFileSync(status, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/**
 * Runs a program that starts a child vault and never stops it. With a signal, sends it to the program when the vault is
 * ready. Without one, the program must end with exit code 1. Throws when the process of the vault or its folder is
 * left, and ends that process.
 */
export async function checkNothingLeft(line: string, { folder, bin, signal, maxStopMs = MAX_STOP_MS }: Program) {
  const { temporary, variables } = temporaryOf(folder);
  const place = { cwd: folder, env: environment([bin], variables) };
  const { child, ended } = start(`exec ${line}`, place);
  const report = path.join(folder, 'forgotten');
  if (!(await until(() => existsSync(report), MAX_START_MS))) {
    child.kill('SIGKILL');
    throw new Error(`\`${line}\` started no vault: ${(await ended).output}`);
  }
  const { url, ids }: { readonly url: string; readonly ids: readonly number[] } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  if (signal !== undefined) {
    const reply = await fetch(`${url}/livez`, { headers: { connection: 'close' } });
    if (reply.status !== 200 || ids.length !== 1 || vaultsIn(temporary).length !== 1) {
      throw new Error(`\`${line}\` has no running vault`);
    }
    child.kill(signal);
  }
  const { code, output } = await ended;
  if (signal === undefined && code !== 1) throw new Error(`\`${line}\` ended with ${code}: ${output}`);
  const left = () => [...vaultsIn(temporary), ...ids.filter(runs).map((id) => `process ${id}`)];
  if (await until(() => left().length === 0, maxStopMs)) return;
  const found = left();
  for (const id of ids.filter(runs)) process.kill(id, 'SIGKILL');
  throw new Error(`\`${line}\`${signal === undefined ? '' : ` after ${signal}`} left ${found.join(', ')}`);
}
