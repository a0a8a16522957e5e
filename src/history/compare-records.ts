import type { AuditHead } from '../core/audit/ports.ts';
import { addDigests, authorityRecords, digestOf, headerMark } from '../core/audit/record-digest.ts';
import { createSums, NO_RECORDS, type TenantSums } from '../core/audit/sums.ts';
import { type BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/key-holder-ports.ts';
import { nameRecords } from './name-records.ts';
import { contradictionsOf, type LogParts, type ReadLog, readLog, untilUnpruned } from './read-log.ts';
import { createSlices } from './slices.ts';

const OTHER_HEADER = 'differs from its last change in the audit: an older row was restored';

/** The result of a comparison of the records with the log. */
export interface Comparison {
  readonly entries: number;
  readonly findings: readonly Finding[];
}

/** A comparison up to the row `head`. `records` are the sums of the records of each tenant at this row. */
export interface Compared extends Comparison {
  readonly head: AuditHead;
  readonly records: ReadonlyMap<string, TenantSums>;
}

/**
 * Compares all records with the log while other processes write. Adds up the hashes of the records on one side, and those
 * of the entries on the other, for each tenant, and names the records of the tenants whose sums differ. Begins again after
 * a prune. Rejects with `BrokenAudit` for a damaged log. With `only`, compares the records of this tenant alone.
 */
export function compareRecords(parts: LogParts, only?: string): Promise<Compared> {
  return untilUnpruned(parts, () => compareOnce(parts, only));
}

async function compareOnce(parts: LogParts, only: string | undefined): Promise<Compared> {
  const { store, keyring } = parts;
  // All records of authority in one snapshot, and the log up to exactly this snapshot.
  const scan = await store.scanAuthority(1);
  const last = scan.rows.at(-1);
  const ended = { ...store, auditHead: async () => last ?? { sequence: 0, link: new Uint8Array(), at: 0 } };
  const read: ReadLog = await readLog({ ...parts, store: ended });
  const { sums } = read;
  const isCompared = (id: string) => only === undefined || id === only;
  const authority = new Map<string, bigint>();
  for (const record of authorityRecords(scan)) {
    if (!isCompared(record.tenant_id)) continue;
    authority.set(record.tenant_id, addDigests(authority.get(record.tenant_id) ?? 0n, digestOf(keyring, record)));
  }
  const known = sums.state();
  const all = new Set([...authority.keys(), ...[...known.tenants.keys()].filter(isCompared)]);
  const findings: Finding[] = [];
  if (only === undefined && known.header !== headerMark(scan.mac)) {
    findings.push({ table: 'header', id: '', what: OTHER_HEADER });
  }

  const slices = createSlices(keyring);
  for (const id of authority.keys()) await slices.read(parts, id);
  // The entries since the first slice.
  const scanned = new Map([...authority].map(([id, sum]) => [id, { authority: sum, tokens: 0n }]));
  const records = createSums(keyring, { ...NO_RECORDS, tenants: scanned });
  let head: AuditHead = read.head;
  for await (const positioned of walkAudit(parts, read.head)) {
    for (const each of [sums, records, slices]) each.apply(positioned);
    head = positioned;
  }
  const found = [...read.bad, ...contradictionsOf(sums)].filter(({ table, id }) => isFoundIn(only, table, id));
  for (const { table, id, what } of found) findings.push({ table, id, what });
  const { tenants } = sums.state();
  const stored = (id: string) => ({ authority: records.sumsOf(id).authority, tokens: slices.sumOf(id) });
  for (const id of all) {
    const [is, logged] = [stored(id), sums.sumsOf(id)];
    const isOther = is.authority !== logged.authority || (tenants.has(id) && is.tokens !== logged.tokens);
    if (isOther) findings.push(...(await nameRecords(parts, read.base, id)));
  }
  return { entries: read.entries, findings, head, records: new Map([...all].map((id) => [id, stored(id)])) };
}

/** Returns whether a finding in the log is one of the compared tenants. */
function isFoundIn(only: string | undefined, table: string, id: string): boolean {
  return only === undefined || (table === 'tenant' && id === only);
}

/** Returns the finding for a damaged log. */
export function brokenFinding({ sequence, what }: BrokenAudit): Finding {
  return { table: 'audit', id: String(sequence), what };
}
