import { decodeEvents, encodeEvents } from '../core/audit/audit-event.ts';
import { NO_LINK, ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { mergeChains } from '../core/audit/merge-chains.ts';
import type { AuditEntry, AuditStore } from '../core/audit/ports.ts';
import type { MovedRow, MovedTable, ReadRows } from '../core/move-ports.ts';
import type { Keyring } from '../core/ports.ts';

const PAGE = 500;

/** The rows about chains, which mean nothing after a merge. */
const ABOUT_CHAINS: ReadonlySet<string> = new Set(['openChain', 'noteChains', 'closeChain']);

interface MergeParts {
  readonly rows: ReadRows;
  readonly audit: Pick<AuditStore, 'auditHeads' | 'readAudit'>;
  readonly keyring: Pick<Keyring, 'auditLink' | 'openAuditEvent' | 'sealAuditEvent'>;
}

/**
 * Returns the rows of a source with several chains, for a target with one. Merges the chains by time and links them
 * anew. Leaves out the rows about chains. An event `mergeChains` replaces the first of them: after it, the order of
 * changes is only nearly that of their commits. Leaves out the log index, which the vault rebuilds. Read `audit` before
 * `audit_subject`.
 */
export function mergedRows(parts: MergeParts): ReadRows {
  const places = new Map<string, number>();

  async function* auditRows(): AsyncGenerator<readonly MovedRow[]> {
    let [link, sequence, isMerged] = [NO_LINK, 0, false];
    let batch: MovedRow[] = [];
    for await (const entry of entriesByTime(parts.audit)) {
      const { at } = entry;
      let { sealed } = entry;
      const [first] = decodeEvents(at, parts.keyring.openAuditEvent(at, sealed));
      if (first !== undefined && ABOUT_CHAINS.has(first.event.action)) {
        if (isMerged) continue;
        isMerged = true;
        const event = { action: 'mergeChains', status: 200, entities: [] } as const;
        sealed = parts.keyring.sealAuditEvent(at, encodeEvents([{ event, at }]));
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
