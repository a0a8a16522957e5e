import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { fileLocations, type HistoryLocations } from './histories-location.ts';
import { type HistoryResult, runHistory, shorten, type Verdict } from './histories-run.ts';
import { copySources, guard, IMPORTED, type SourceGuard } from './mutants-run.ts';

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

interface ControlOptions {
  readonly seed: number;
  readonly limit: number;
  readonly guards?: readonly SourceGuard[];
  locations(load: <Module>(name: string) => Promise<Module>): Promise<HistoryLocations>;
}

/** Runs histories without each guard. Rejects with a `CheckFailure` if doctor misses an attack each time. */
export async function removeHistoryGuards({ guards = GUARDS, ...options }: ControlOptions): Promise<void> {
  const found: string[] = [];
  for (const removed of guards) {
    using copy = copySources(IMPORTED);
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

const HISTORIES = 3000;
const QUICK_HISTORIES = 250;
/** The maximum numbers of histories in which doctor must miss an attack without a guard. Quick runs have fewer guards. */
const [MAX_QUICK_CONTROL, MAX_CONTROL] = [800, 4_000];

/** Histories of different seeds do not overlap. */
const SEEDS = 100_000;

const VERDICTS: readonly Verdict[] = ['sound', 'found', 'missed', 'false', 'beyond', 'unclear', 'strict'];

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const groups = Map.groupBy(names, (name) => name);
  return new Map([...groups].map(([name, all]) => [name, all.length]));
}

function figuresOf(results: readonly HistoryResult[], seconds: number): Figures {
  const verdicts = results.flatMap((result) => result.verdicts);
  const attacks = results.flatMap((result) => result.attacks);
  const counts = countBy(verdicts);
  return {
    histories: results.length,
    verdicts: verdicts.length,
    untampered: results.reduce((sum, { untampered }) => sum + untampered, 0),
    ...Object.fromEntries(VERDICTS.map((verdict) => [verdict, counts.get(verdict) ?? 0])),
    attacks: attacks.length,
    kinds: [...countBy(attacks)].map(([name, count]) => `${name} ${count}`).join('; '),
    histories_a_second: Math.round((results.length / seconds) * 10) / 10,
  };
}

/** Runs random histories and compares doctor with an oracle. Rejects with the shortest wrong history found. */
async function runHistories(locations: HistoryLocations, seed: number, count: number): Promise<Figures> {
  const results: HistoryResult[] = [];
  const wrong: string[] = [];
  const started = performance.now();
  for (let index = 0; index < count; index += 1) {
    const options = { seed: (seed % SEEDS) * SEEDS + index };
    const result = await runHistory(locations, options);
    results.push(result);
    if (result.wrong === undefined) continue;
    const { wrong: { is, why, steps } = result.wrong } = await shorten(locations, options, result);
    wrong.push(`history ${index}, ${is}: ${why}; after ${steps.join(', ')}`);
  }
  const figures = figuresOf(results, (performance.now() - started) / 1000);
  if (wrong.length > 0) throw new CheckFailure(wrong.join('\n'), figures);
  return figures;
}

export async function runHistoriesIn(create: () => Promise<HistoryLocations>, seed: number, count: number) {
  const locations = await create();
  try {
    return await runHistories(locations, seed, count);
  } finally {
    await locations.remove();
  }
}

export const CHECK: Check = {
  number: 41,
  name: 'histories',
  quick: true,
  run: ({ seed, quick }) => runHistoriesIn(fileLocations, seed, quick ? QUICK_HISTORIES : HISTORIES),
  control: ({ seed, quick }) =>
    removeHistoryGuards({
      seed,
      limit: quick ? MAX_QUICK_CONTROL : MAX_CONTROL,
      ...(quick ? {} : { guards: ALL_GUARDS }),
      locations: async (load) =>
        (await load<typeof import('./histories-location.ts')>('histories-location.ts')).fileLocations(),
    }),
};
