import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CheckFailure } from './check.ts';
import { copySources, type SourceGuard } from './mutants-run.ts';

const WALK = 'src/core/audit/walk-audit.ts';
const CHECK_LEDGER = 'src/maintenance/check-ledger.ts';
const LEDGER = 'src/maintenance/ledger.ts';

/** Guards of doctor. Without each of them, it must miss an attack. */
const GUARDS: readonly SourceGuard[] = [
  {
    name: 'links of entries',
    file: WALK,
    from: 'if (Buffer.compare(keyring.auditLink(head.link, { sequence, at, sealed }), link) !== 0) {',
    to: 'if (keyring === undefined) {',
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
    from: 'reject(placed, table, entity, SKIPPED);\n    }',
    to: '}',
  },
  {
    name: 'the header',
    file: CHECK_LEDGER,
    from: "if (ledger.header() !== headerMark(mac)) report('header', '', '', PUT_BACK);",
    to: 'if (mac === undefined) return;',
  },
];

/**
 * Runs histories on a copy of the sources without each guard, as the control of a check. Rejects with a `CheckFailure`
 * if doctor misses an attack each time, as it must, and resolves if `limit` histories show no miss.
 */
export async function removeHistoryGuards(seed: number, limit: number): Promise<void> {
  const found: string[] = [];
  for (const guard of GUARDS) {
    const copy = copySources();
    try {
      copy.removeGuard(guard);
      const after = await historiesUntilMiss(copy.folder, seed, limit);
      if (after === undefined) return;
      found.push(`without ${guard.name}: missed in history ${after}`);
    } finally {
      copy.remove();
    }
  }
  throw new CheckFailure(found.join('; '));
}

/** Resolves to the number of histories of the patched product up to the first miss, or to undefined without one. */
async function historiesUntilMiss(folder: string, seed: number, limit: number): Promise<number | undefined> {
  const load = (name: string) => import(pathToFileURL(join(folder, 'test', 'checks', name)).href);
  const { filePlaces }: typeof import('./histories-place.ts') = await load('histories-place.ts');
  const { runHistory }: typeof import('./histories-run.ts') = await load('histories-run.ts');
  const places = await filePlaces();
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
