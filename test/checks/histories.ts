import { type Check, CheckFailure, type Figures } from './check.ts';
import { ALL_GUARDS, removeHistoryGuards } from './histories-controls.ts';
import { fileLocations, type HistoryLocations } from './histories-location.ts';
import { type HistoryResult, runHistory, shorten, type Verdict } from './histories-run.ts';

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

/**
 * Runs random histories of calls and attacks, and compares `vault doctor` with an oracle that ignores keys, links and
 * digests. Resolves to the figures. Rejects with a `CheckFailure` that names the shortest history found.
 */
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
