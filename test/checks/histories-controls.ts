import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CheckFailure } from './check.ts';
import type { HistoryPlaces } from './histories-place.ts';
import { copySources, type SourceGuard } from './mutants-run.ts';

const WALK = 'src/core/audit/walk-audit.ts';
const CHECK_LEDGER = 'src/maintenance/check-ledger.ts';
const LEDGER = 'src/maintenance/ledger.ts';

/** Guards of doctor. Without each of them, it must miss an attack. */
const GUARDS: readonly SourceGuard[] = [
  {
    name: 'witnesses of entries',
    file: WALK,
    from: 'if (!isKnown) throw',
    to: 'if (isKnown === undefined) throw',
  },
  {
    name: 'revisions of rows',
    file: CHECK_LEDGER,
    from: 'else if (facts !== undefined && expected !== facts.revision) report(table, tenantId, id, PUT_BACK);',
    to: '',
  },
  {
    name: 'rows that are not in the audit',
    file: CHECK_LEDGER,
    from: 'if (expected === undefined) report(table, tenantId, id, UNKNOWN);\n      else if',
    to: 'if (expected === undefined) return;\n      else if',
  },
  {
    name: 'rows that were removed',
    file: CHECK_LEDGER,
    from: 'if (!removed) report(table, tenantId, id, REMOVED);\n          else if',
    to: 'if (removed)\n          if',
  },
  {
    name: 'tombstones that were removed',
    file: CHECK_LEDGER,
    from: "else if (table === 'token') report('tombstone', tenantId, id, REMOVED);",
    to: '',
  },
  {
    name: 'changes of older rows',
    file: LEDGER,
    from: 'else if ((before ?? 0) !== from) reject(placed,',
    to: 'else if ((before ?? 0) !== from && before === -2) reject(placed,',
  },
  {
    name: 'the header',
    file: CHECK_LEDGER,
    from: "if (ledger.header() !== headerMark(mac)) report('header', '', '', PUT_BACK);",
    to: 'if (mac === undefined) return;',
  },
];

/** The guards whose attacks are the most frequent. */
export const FREQUENT_GUARDS = GUARDS.filter(({ name }) =>
  ['revisions of rows', 'rows that were removed', 'the header'].includes(name),
);

/** Histories of a copy of the sources. */
interface ControlOptions {
  readonly seed: number;
  /** The maximum number of histories up to the first miss. */
  readonly limit: number;
  readonly guards?: readonly SourceGuard[];
  /** Resolves to the places of the copy, from the function that loads a module of its checks. */
  places(load: <Module>(name: string) => Promise<Module>): Promise<HistoryPlaces>;
}

/**
 * Runs histories on a copy of the sources without each guard, as the control of a check. Rejects with a `CheckFailure`
 * if doctor misses an attack each time, as it must, and resolves if `limit` histories show no miss.
 */
export async function removeHistoryGuards({ guards = GUARDS, ...options }: ControlOptions): Promise<void> {
  const found: string[] = [];
  for (const guard of guards) {
    const copy = copySources();
    try {
      copy.removeGuard(guard);
      const after = await historiesUntilMiss(copy.folder, options);
      if (after === undefined) {
        process.stderr.write(`histories: without ${guard.name}, doctor misses nothing\n`);
        return;
      }
      found.push(`without ${guard.name}: missed in history ${after}`);
    } finally {
      copy.remove();
    }
  }
  throw new CheckFailure(found.join('; '));
}

/** Resolves to the number of histories up to the first miss, or to undefined without one. */
async function historiesUntilMiss(
  folder: string,
  { seed, limit, places: placesOf }: ControlOptions,
): Promise<number | undefined> {
  const load = (name: string) => import(pathToFileURL(join(folder, 'test', 'checks', name)).href);
  const { runHistory } = (await load('histories-run.ts')) as typeof import('./histories-run.ts');
  const places = await placesOf(load);
  try {
    for (let index = 0; index < limit; index += 1) {
      const { wrong } = await runHistory(places, { seed: seed + index, maxAttacks: [1] });
      if (wrong?.is === 'missed') return index + 1;
    }
    return undefined;
  } finally {
    await places.remove();
  }
}
