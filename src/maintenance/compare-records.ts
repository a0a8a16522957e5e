import { authorityRecords } from '../core/audit/authority-records.ts';
import { addDigests } from '../core/audit/digest.ts';
import { digestOf, headerMark } from '../core/audit/record-digest.ts';
import { type BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/maintenance-ports.ts';
import { nameRecords } from './name-records.ts';
import { contradictionsOf, type LogParts, type ReadLog, readLog, untilUnpruned } from './read-log.ts';
import { createSlices } from './slices.ts';

const OTHER_HEADER = 'differs from its last change in the audit: an older row was restored';

/** The result of a comparison of the records with the log. */
export interface Comparison {
  readonly entries: number;
  readonly findings: readonly Finding[];
}

/**
 * Compares all records with the log while other processes write. Adds up the hashes of the records on one side, and those
 * of the entries on the other, for each tenant, and names the records of the tenants whose sums differ. Begins again after
 * a prune. Rejects with `BrokenAudit` for a damaged log.
 */
export function compareRecords(parts: LogParts): Promise<Comparison> {
  return untilUnpruned(parts, () => compareOnce(parts));
}

async function compareOnce(parts: LogParts): Promise<Comparison> {
  const { store, keyring } = parts;
  // All records of authority in one snapshot, and the log up to exactly this snapshot.
  const scan = await store.scanAuthority(1);
  const last = scan.rows.at(-1);
  const ended = { ...store, auditHead: async () => last ?? { sequence: 0, link: new Uint8Array(), at: 0 } };
  const read: ReadLog = await readLog({ ...parts, store: ended });
  const { sums } = read;
  const authority = new Map<string, bigint>();
  for (const record of authorityRecords(scan)) {
    authority.set(record.tenant_id, addDigests(authority.get(record.tenant_id) ?? 0n, digestOf(keyring, record)));
  }
  const known = sums.state();
  const all = new Set([...authority.keys(), ...known.tenants.keys()]);
  const differing = new Set([...all].filter((id) => authority.get(id) !== known.tenants.get(id)?.authority));
  const findings: Finding[] = [];
  if (known.header !== headerMark(scan.mac)) findings.push({ table: 'header', id: '', what: OTHER_HEADER });

  const slices = createSlices(keyring);
  for (const id of authority.keys()) await slices.read(parts, id);
  // The entries since the first slice.
  for await (const placed of walkAudit(parts, read.head)) {
    sums.apply(placed);
    slices.apply(placed);
  }
  for (const { table, id, what } of [...read.bad, ...contradictionsOf(sums)]) findings.push({ table, id, what });
  const { tenants } = sums.state();
  for (const id of authority.keys())
    if (tenants.get(id) && slices.sumOf(id) !== sums.sumsOf(id).tokens) differing.add(id);
  for (const id of differing) findings.push(...(await nameRecords(parts, read.base, id)));
  return { entries: read.entries, findings };
}

/** Returns the finding for a damaged log. */
export function brokenFinding({ sequence, what }: BrokenAudit): Finding {
  return { table: 'audit', id: String(sequence), what };
}
