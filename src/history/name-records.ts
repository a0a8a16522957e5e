import type { RecordChange } from '../core/audit/ports.ts';
import { authorityRecords, changesOf, isOfAuthority, removesTenant } from '../core/audit/record-digest.ts';
import type { Base } from '../core/audit/sums.ts';
import type { PositionedEvent } from '../core/audit/walk-audit.ts';
import type { Finding } from '../core/key-holder-ports.ts';
import { type LogParts, walkLog } from './read-log.ts';
import { createSlices } from './slices.ts';

const PUT_BACK = 'differs from its last change in the audit: an older row was restored';
const REMOVED = 'is in the audit, but has no row: the row was removed outside the vault';
const REVIVED = 'was removed according to the audit, but has a row: the row was restored';
const UNKNOWN = 'is not in the audit: its row was added outside the vault, or the audit was cut';
const SKIPPED = 'was changed from a revision that is not its last one in the audit: an older row had been restored';
const ENDED_EARLIER = 'was removed at a revision that is not its last one in the audit: an older row had been restored';
const AFTER_REMOVAL = 'was changed after it was removed: its row had been restored';
const UNNAMED = 'has a record that differs from the audit, and that no entry names since the last prune or acceptance';
const OTHERWISE = 'has records that differ from the audit';

/** The revision of a record that a reset has removed with its tombstone. */
const NEVER = -1;

/** What the entries say about a record: its revision, 0 after its removal. */
interface Named {
  readonly record: RecordChange;
  revision: number;
}

/**
 * Names the records of a tenant that differ from the log. Replays the entries about the tenant, so it needs memory for
 * each of its records. `base` is the beginning of the log.
 */
export async function nameRecords(parts: LogParts, base: Base, tenantId: string): Promise<readonly Finding[]> {
  const { keyring, archives } = parts;
  const rows = new Map<string, RecordChange>();
  const keyOf = ({ table, id }: Pick<RecordChange, 'table' | 'id'>) => `${table} ${id}`;
  const saw = (record: RecordChange) => void rows.set(keyOf(record), record);
  const scan = await parts.store.scanAuthority(1);
  const scanned = scan.rows.at(-1)?.sequence ?? 0;
  for (const record of authorityRecords(scan)) if (record.tenant_id === tenantId) saw(record);
  const slices = createSlices(keyring);
  await slices.read(parts, tenantId, (table, { id, revision }) =>
    saw({ table, tenant_id: tenantId, id, from: 0, to: revision }),
  );

  const named = new Map<string, Named>();
  const findings: Finding[] = [];
  const report = ({ table, id }: Pick<RecordChange, 'table' | 'id'>, what: string) =>
    void findings.push({ table, id, what });
  let isKnownBefore = archives !== undefined || base.sequence === 0;
  let isGone = false;

  function applyChange(change: RecordChange): void {
    const key = keyOf(change);
    const before = named.get(key);
    const isContradiction = before === undefined ? isKnownBefore && change.from !== 0 : before.revision !== change.from;
    if (isContradiction) {
      const wasRemoved = before?.revision === 0;
      report(change, wasRemoved ? AFTER_REMOVAL : change.to === 0 ? ENDED_EARLIER : SKIPPED);
    }
    if (before === undefined) named.set(key, { record: change, revision: change.to });
    else before.revision = change.to;
  }

  function apply({ event, sequence }: PositionedEvent): void {
    if (event.tenant_id !== tenantId) return;
    if (removesTenant(event)) {
      if (sequence <= scanned) {
        named.clear();
        isGone = true;
      }
      return;
    }
    if (event.action === 'acceptTenant') {
      // The entry does not name the records that it accepts.
      if (sequence > scanned) return;
      named.clear();
      findings.length = 0;
      isKnownBefore = false;
      isGone = false;
      return;
    }
    if (event.action === 'resetTokens') {
      for (const one of named.values()) {
        const head = slices.headOf(one.record);
        if (head !== undefined && sequence <= head) one.revision = NEVER;
      }
      return;
    }
    for (const change of changesOf(event)) {
      const head = isOfAuthority(event) ? scanned : slices.headOf(change);
      if (head !== undefined && sequence <= head) applyChange(change);
    }
  }

  for await (const positioned of walkLog(parts, base)) apply(positioned);
  for (const [key, row] of rows) {
    const found = named.get(key);
    if (found === undefined || found.revision === NEVER) {
      if (isKnownBefore || isGone || found !== undefined) report(row, UNKNOWN);
    } else if (found.revision === 0) report(row, REVIVED);
    else if (found.revision !== row.to) report(row, PUT_BACK);
  }
  for (const [key, { record, revision }] of named) {
    // The row of a revived token names the missing tombstone, too.
    const isRevived = record.table === 'tombstone' && rows.has(keyOf({ ...record, table: 'token' }));
    if (revision > 0 && !rows.has(key) && !isRevived) report(record, REMOVED);
  }
  if (findings.length === 0) {
    findings.push({ table: 'tenant', id: tenantId, what: isKnownBefore ? OTHERWISE : UNNAMED });
  }
  return findings;
}
