import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CheckFailure } from './check.ts';
import type { HistoryLocations } from './histories-location.ts';
import { copySources, guard, type SourceGuard } from './mutants-run.ts';

const COMPARE = 'src/history/compare-records.ts';

/** Guards of doctor. Without each of them, it must miss an attack. */
const GUARDS: readonly SourceGuard[] = [
  guard('sums of tokens', COMPARE, 'is.tokens !== logged.tokens', 'is.tokens === -1n'),
  guard(
    'sums of tenants, their keys and applications',
    COMPARE,
    'is.authority !== logged.authority',
    'is.authority === -1n',
  ),
  guard(
    'the header',
    COMPARE,
    'known.header !== headerMark(scan.mac)',
    'known.header === headerMark(new Uint8Array())',
  ),
];

const RARE_GUARDS: readonly SourceGuard[] = [
  guard(
    'tombstones in the sums',
    'src/keyring/keyring.ts',
    '      records.reset();',
    "      if (table === 'tombstone') return 0n;\n      records.reset();",
  ),
  guard('the witnesses', 'src/core/audit/walk-audit.ts', 'if (sequence >= row.sequence) return false;', 'return true;'),
  guard(
    'sums in which equal changes do not cancel each other out',
    'src/core/audit/record-digest.ts',
    'return BigInt.asUintN(BITS, a + b);',
    'return BigInt.asUintN(BITS, a < 0n ? -a : a) ^ BigInt.asUintN(BITS, b < 0n ? -b : b);',
  ),
];

export const ALL_GUARDS = [...GUARDS, ...RARE_GUARDS];

/** Histories of a copy of the sources. */
interface ControlOptions {
  readonly seed: number;
  /** The maximum number of histories up to the first miss. */
  readonly limit: number;
  readonly guards?: readonly SourceGuard[];
  locations(load: <Module>(name: string) => Promise<Module>): Promise<HistoryLocations>;
}

/**
 * Runs histories on a copy of the sources without each guard, as the control of a check. Rejects with a `CheckFailure`
 * if doctor misses an attack each time, as it must, and resolves if `limit` histories show no miss.
 */
export async function removeHistoryGuards({ guards = GUARDS, ...options }: ControlOptions): Promise<void> {
  const found: string[] = [];
  for (const removed of guards) {
    using copy = copySources();
    copy.removeGuard(removed);
    const after = await historiesUntilMiss(copy.folder, options);
    if (after === undefined) {
      process.stderr.write(`histories: without ${removed.name}, doctor misses nothing\n`);
      return;
    }
    found.push(`without ${removed.name}: missed in history ${after}`);
  }
  throw new CheckFailure(found.join('; '));
}

/** Resolves to the number of histories up to the first miss, or to undefined without one. */
async function historiesUntilMiss(
  folder: string,
  { seed, limit, locations: locationsOf }: ControlOptions,
): Promise<number | undefined> {
  const load = (name: string) => import(pathToFileURL(join(folder, 'test', 'checks', name)).href);
  const { runHistory } = (await load('histories-run.ts')) as typeof import('./histories-run.ts');
  const locations = await locationsOf(load);
  try {
    for (let index = 0; index < limit; index += 1) {
      const { wrong } = await runHistory(locations, { seed: seed + index, maxAttacks: [1] });
      if (wrong?.is === 'missed') return index + 1;
    }
    return undefined;
  } finally {
    await locations.remove();
  }
}
