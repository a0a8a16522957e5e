import { type Base, readBase } from '../core/audit/sums.ts';
import { BrokenAudit, lastEvents, type PositionedEvent, type RowRange, walkAudit } from '../core/audit/walk-audit.ts';
import type { ArchiveFile } from './audit-archive.ts';
import { type ArchivedRows, type LogParts, prunedMeanwhile, walkLog } from './read-log.ts';

type EntryParts = Pick<LogParts, 'store' | 'keyring'>;

/**
 * Yields all entries, oldest first: those of the archives, then those of the log. Without archives, begins at the base.
 * Throws `BrokenAudit` at the first altered entry, the fault `conflict` if a prune removes rows meanwhile, and the faults of
 * `readArchives`.
 */
export async function* readEntries(parts: EntryParts, files: readonly ArchiveFile[]): AsyncGenerator<PositionedEvent> {
  const { archives, base } = await openArchives(parts, files);
  try {
    yield* walkLog({ ...parts, archives }, base);
  } catch (error) {
    if (!(error instanceof BrokenAudit) || (await readBase(parts)).sequence === base.sequence) throw error;
    throw prunedMeanwhile(error);
  }
}

/**
 * Resolves to at most `limit` of the last entries that match `wanted`, newest first: those of the log, then those of the
 * archives. `range` limits only the rows of the log. Checks the links of the archives, and not those of the log. Rejects
 * as `readEntries` throws.
 */
export async function lastEntries(
  parts: EntryParts,
  wanted: (positioned: PositionedEvent) => boolean,
  limit: number,
  files: readonly ArchiveFile[],
  range?: RowRange,
): Promise<readonly PositionedEvent[]> {
  const { archives, base } = await openArchives(parts, files);
  const found = [...(await lastEvents(parts, wanted, limit, range))];
  if (archives.length > 0 && (await readBase(parts)).sequence !== base.sequence) throw prunedMeanwhile();
  for (const archive of archives.toReversed()) {
    if (found.length >= limit) break;
    found.push(...(await lastOfArchive(parts, archive, wanted, limit - found.length)));
  }
  return found;
}

/** Resolves to the last entries of an archive that match, newest first. Reads it once, because a file has no order back. */
async function lastOfArchive(
  { keyring }: EntryParts,
  archive: ArchivedRows,
  wanted: (positioned: PositionedEvent) => boolean,
  limit: number,
): Promise<readonly PositionedEvent[]> {
  let kept: PositionedEvent[] = [];
  for await (const positioned of walkAudit({ store: archive, keyring }, archive.after)) {
    if (wanted(positioned)) kept.push(positioned);
    if (kept.length >= 2 * limit) kept = kept.slice(-limit);
  }
  return kept.slice(-limit).toReversed();
}

/** Resolves to the verified archives and the base behind them. */
async function openArchives(
  parts: EntryParts,
  files: readonly ArchiveFile[],
): Promise<{ readonly archives: readonly ArchivedRows[]; readonly base: Base }> {
  if (files.length === 0) return { archives: [], base: await readBase(parts) };
  const { readArchives } = await import('./audit-archive.ts');
  const archives = (await readArchives(parts, files)) ?? [];
  const base = await readBase(parts);
  if ((archives.at(-1)?.through.sequence ?? 0) !== base.sequence) throw prunedMeanwhile();
  return { archives, base };
}
