import type { AuditHead } from '../../core/audit/ports.ts';
import { encodeDigest } from '../../core/audit/record-digest.ts';
import { createSums, NO_RECORDS, NO_SUMS, type TenantSums } from '../../core/audit/sums.ts';
import { BrokenAudit, openRow, problemOf, walkAudit } from '../../core/audit/walk-audit.ts';
import { Fault } from '../../core/fault.ts';
import type { Finding } from '../../core/key-holder-ports.ts';
import { isDamage, Problem } from '../../core/problem.ts';
import { noSuchTenant } from '../../core/tenants/no-such-tenant.ts';
import { openTenant } from '../../core/tenants/tenant-codec.ts';
import { type Compared, compareRecords } from '../../history/compare-records.ts';
import { type LogParts, prunedMeanwhile } from '../../history/read-log.ts';
import type { KeyHolder } from '../key-holder.ts';
import { onlyTenant } from './each-tenant.ts';

/** A tenant whose records differ from the log. */
export interface DifferingTenant {
  readonly tenant_id: string;
  /** The name of the tenant; undefined for a tenant that only the log has. */
  readonly name: string | undefined;
  readonly findings: readonly Finding[];
  /**
   * Writes the entry after which the records count as they were compared, with all changes since. Rejects with the
   * fault `conflict` after a prune meanwhile.
   */
  accept(): Promise<void>;
}

type AcceptParts = KeyHolder & Pick<LogParts, 'yieldToLoop' | 'sliceRows'>;

/**
 * Compares the records of a tenant with the log; by default those of the only tenant. Rejects with the faults
 * `not_found` and `usage` as `onlyTenant` does, with `conflict` if nothing differs, with `damaged` for a tenant that
 * cannot be decrypted, and with `integrity_failure` for a damaged log.
 */
export async function compareTenant(parts: AcceptParts, tenantId: string | undefined): Promise<DifferingTenant> {
  // The store may lack a tenant that the log has.
  const tenant_id = tenantId?.toLowerCase() ?? (await onlyTenant(parts, undefined));
  const compared = await compareRecords(parts, tenant_id).catch((error: unknown) => {
    throw problemOf(error);
  });
  const { findings, records } = compared;
  // A tenant that only the log has differs from it, and has no records.
  const sums = records.get(tenant_id) ?? NO_SUMS;
  if (findings.length === 0) {
    if (sums === NO_SUMS) throw noSuchTenant();
    throw new Fault('conflict', 'all records of the tenant match the audit', {
      hint: 'run `vault doctor` to find other damage',
    });
  }
  const name = await readName(parts, tenant_id);
  return { tenant_id, name, findings, accept: () => accept(parts, tenant_id, sums, compared) };
}

/**
 * Resolves to the name of a tenant; to undefined for a missing one. Rejects with the fault `damaged` if the tenant or its
 * keys cannot be decrypted: an entry cannot repair them.
 */
async function readName({ store, keyring }: AcceptParts, id: string): Promise<string | undefined> {
  try {
    const found = await store.findTenant(id);
    return found && openTenant(keyring.openTenant(id, found.keys), id, found.tenant).details.name;
  } catch (cause) {
    if (!isDamage(cause)) throw cause;
    throw new Fault('damaged', `tenant ${id} cannot be decrypted, so nothing was accepted`, { cause });
  }
}

/** Writes the entry, without a lock while the records are read: entries bring their sums up to its position. */
async function accept(
  parts: AcceptParts,
  tenantId: string,
  compared: TenantSums,
  { head }: Pick<Compared, 'head'>,
): Promise<void> {
  const { store, keyring, follower, audit } = parts;
  const sumsFrom = (from: TenantSums) => createSums(keyring, { ...NO_RECORDS, tenants: new Map([[tenantId, from]]) });
  const read = sumsFrom(compared);
  let end: AuditHead = head;
  try {
    for await (const positioned of walkAudit(parts, head)) {
      read.apply(positioned);
      end = positioned;
    }
  } catch (error) {
    throw error instanceof BrokenAudit ? prunedMeanwhile(error) : error;
  }
  await follower.follow();
  await store.appendAuthority({
    from: () => end.sequence,
    sealBehind(rows) {
      const [first, ...others] = rows;
      if (first?.sequence !== end.sequence) throw new Problem('write_conflict');
      const sums = sumsFrom(read.sumsOf(tenantId));
      for (const row of others) for (const positioned of openRow(keyring, row)) sums.apply(positioned);
      const { authority, tokens } = sums.sumsOf(tenantId);
      const entities = [authority, tokens].map(encodeDigest);
      const draft = audit.draftAuthority({ action: 'acceptTenant', status: 200, tenant_id: tenantId, entities });
      return draft.sealBehind(rows.filter(({ sequence }) => sequence >= draft.from()));
    },
  });
}
