import { type AuditEvent, decodeEvents, encodeEvents } from '../core/audit/audit-event.ts';
import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { checkpointEvent, findBeginning, readCheckpoint } from '../core/audit/checkpoint.ts';
import { mergeChains } from '../core/audit/merge-chains.ts';
import type { AuditEntry, AuditReads } from '../core/audit/ports.ts';
import { BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { MovedRow, MovedTable, ReadRows } from '../core/move-ports.ts';
import { nextTurn } from '../core/own-turn.ts';
import type { Instant, Keyring } from '../core/ports.ts';

const PAGE = 500;

/** The rows about chains, which mean nothing after a merge. */
const ABOUT_CHAINS: ReadonlySet<string> = new Set(['openChain', 'noteChains', 'closeChain']);

interface MergeParts {
  readonly rows: ReadRows;
  readonly audit: AuditReads;
  readonly keyring: Pick<Keyring, 'auditLink' | 'auditSubject' | 'openAuditEvent' | 'sealAuditEvent'>;
}

/**
 * Resolves to the rows of a source with several chains, for a target with one. Merges the chains by time and links them
 * again, behind the rows that a prune removed. Leaves out the rows about chains. An event `mergeChains` replaces the
 * first of them: after it, the order of changes is only nearly that of their commits. Leaves out the log index, which
 * the vault rebuilds. Read `audit` before `audit_subject`. Rejects with the fault `damaged` for a damaged audit.
 */
export async function mergedRows(parts: MergeParts): Promise<ReadRows> {
  const beginning = await verifiedBeginning(parts);
  const before = new Map(beginning.map((head) => [head.chain, head.sequence]));
  const places = new Map<string, number>();
  const seal = (event: AuditEvent, at: Instant) => parts.keyring.sealAuditEvent(at, encodeEvents([{ event, at }]));

  /** Returns the place of the first row of the root from `first` to `end` that has one. */
  function placeFrom(first: number, end: number): number {
    for (let row = first; row < end; row += 1) {
      const place = places.get(`${ROOT_CHAIN}:${row}`);
      if (place !== undefined) return place;
    }
    return end;
  }

  async function* auditRows(): AsyncGenerator<readonly MovedRow[]> {
    let [{ link, sequence }] = beginning;
    let isMerged = false;
    let batch: MovedRow[] = [];
    for await (const entry of entriesByTime(parts.audit)) {
      // A killed prune may have left rows before the checkpoint.
      if (entry.sequence <= (before.get(entry.chain) ?? 0)) continue;
      const { at } = entry;
      let { sealed } = entry;
      const [first] = decodeEvents(at, parts.keyring.openAuditEvent(at, sealed));
      if (first !== undefined && ABOUT_CHAINS.has(first.event.action)) {
        if (isMerged) continue;
        isMerged = true;
        sealed = seal({ action: 'mergeChains', status: 200, entities: [] }, at);
      }
      if (first?.event.action === 'pruneAudit') {
        const checkpoint = readCheckpoint(first.event);
        const begin = placeFrom(checkpoint.begin, entry.sequence);
        sealed = seal(checkpointEvent({ ...checkpoint, begin, chains: [] }), at);
      }
      sequence += 1;
      places.set(`${entry.chain}:${entry.sequence}`, sequence);
      link = parts.keyring.auditLink(link, { sequence, at, sealed });
      batch.push([Number(ROOT_CHAIN), sequence, at, link, sealed]);
      if (batch.length < PAGE) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  async function* subjectRows(table: MovedTable): AsyncGenerator<readonly MovedRow[]> {
    for await (const batch of parts.rows(table)) {
      yield batch.flatMap(([blind = null, chain, sequence, n = null]) => {
        const place = places.get(`${chain}:${sequence}`);
        return place === undefined ? [] : [[blind, Number(ROOT_CHAIN), place, n]];
      });
    }
  }

  return (table) => {
    if (table.name === 'audit') return auditRows();
    if (table.name === 'audit_subject') return subjectRows(table);
    if (table.name === 'chain') return only([Number(ROOT_CHAIN), 0, 0, null, null, 0]);
    return table.name === 'audit_index' ? only() : parts.rows(table);
  };
}

/**
 * Resolves to the start of a walk. First checks the links of all rows, because the new links would hide that a row was
 * removed or moved.
 */
async function verifiedBeginning({ audit: store, keyring }: MergeParts) {
  const parts = { store, keyring };
  try {
    const { heads } = await findBeginning(parts);
    const walk = walkAudit(parts, heads);
    while (!(await walk.next()).done) await nextTurn();
    return heads;
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    throw new Fault('damaged', `no copy was made: ${error.message}`, {
      hint: 'run `vault doctor` on the source to find all damage',
      cause: error,
    });
  }
}

async function* only(...rows: readonly MovedRow[]): AsyncGenerator<readonly MovedRow[]> {
  yield rows;
}

/** Yields the rows of all chains by time, after their row 0. A chain begins where the root opens it. */
async function* entriesByTime(audit: MergeParts['audit']): AsyncGenerator<AuditEntry> {
  const merge = mergeChains<AuditEntry>(1);
  for (const { chain, sequence } of await audit.auditHeads()) {
    const [genesis] = chain === ROOT_CHAIN ? [] : await audit.readAudit(chain, -1, 1);
    merge.add(chain, genesis?.at ?? 0, entriesOf(audit, chain, sequence));
  }
  for (let row = await merge.next(); row !== undefined; row = await merge.next()) yield row;
}

async function* entriesOf(audit: MergeParts['audit'], chain: string, end: number): AsyncGenerator<AuditEntry> {
  for (let after = 0; after < end; ) {
    const entries = await audit.readAudit(chain, after, PAGE);
    yield* entries;
    after = entries.at(-1)?.sequence ?? end;
  }
}
