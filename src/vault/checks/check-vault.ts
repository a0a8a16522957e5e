import { BrokenAudit } from '../../core/audit/walk-audit.ts';
import { Fault } from '../../core/fault.ts';
import type { Finding } from '../../core/key-holder-ports.ts';
import type { Instant } from '../../core/ports.ts';
import { isDamage, unlessDamaged } from '../../core/problem.ts';
import { openTenant } from '../../core/tenants/tenant-codec.ts';
import { brokenFinding, type Comparison, compareRecords } from '../../history/compare-records.ts';
import type { LogParts } from '../../history/read-log.ts';
import type { KeyHolder } from '../key-holder.ts';
import type { Progress } from '../keys/rotate-tenant.ts';
import { CHECKED_TABLES, checkRow } from './check-row.ts';
import { rowsOf } from './rows-of.ts';

/** The number of rows in one read, unless the caller chooses another. */
const PAGE = 200;

/** The maximum number of reported findings. With more, the whole file is damaged. */
const MAX_FINDINGS = 1000;

/** The report of `vault doctor`. */
export interface CheckReport {
  readonly ok: boolean;
  /** The number of opened records of each kind. */
  readonly checked: Readonly<Record<'tenants' | 'applications' | 'tokens' | 'audit_entries', number>>;
  readonly findings: readonly Finding[];
}

/** The inputs and the callbacks of the check of a vault. */
interface CheckScope extends Pick<LogParts, 'yieldToLoop' | 'archives'> {
  /** Whether to open each record and to inspect whole tables. Default: true. */
  readonly full?: boolean;
  /** The number of rows in one read. Default: 200. */
  readonly pageRows?: number | undefined;
  /** Called with the `created_at` of each tenant, application and token. */
  readonly onRecord?: (created_at: Instant) => void;
}

/** Key ids above all that a vault has, so that every record counts as sealed under older keys. */
const NEWER_KEYS = { key_id: 0x7fff_ffff, index_key_id: 0x7fff_ffff };

/**
 * Returns the findings in the whole vault: those of the store, which need no key; those of each record, decrypted and
 * compared with its indexes; and those of the audit. Changes nothing. Reads each record as one state, so a concurrent
 * change is not a finding. With `full: false`, opens no record and inspects no table: it only compares the records with
 * the audit, in short slices, and awaits `yieldToLoop` between slices.
 */
export async function checkVault(
  { store, keyring }: Pick<KeyHolder, 'store' | 'keyring'>,
  progress: Progress = () => undefined,
  {
    full = true,
    yieldToLoop = async () => undefined,
    archives,
    pageRows = PAGE,
    onRecord = () => undefined,
  }: CheckScope = {},
): Promise<CheckReport> {
  const findings: Finding[] = [];
  const checked = { tenants: 0, applications: 0, tokens: 0, audit_entries: 0 };

  let [done, total] = [0, 0];
  const report = () => progress(done, Math.max(done, total));

  async function checkTenants(): Promise<void> {
    const ids = await store.listTenantIds();
    for (const id of ids) total += (await unlessDamaged(() => store.countStale(id, NEWER_KEYS))) ?? 0;
    for (const id of ids) {
      done += 1;
      const read = await unlessDamaged(async () => [await store.findTenant(id)] as const);
      if (read === undefined) {
        findings.push({ table: 'tenant', id, what: 'the row or the keys of the tenant cannot be read' });
        continue;
      }
      const [found] = read;
      // The tenant was deleted meanwhile.
      if (found === undefined) continue;
      const { tenant, keys } = found;
      onRecord(tenant.created_at);
      const opened = await unlessDamaged(() => keyring.openTenant(tenant.id, keys));
      if (opened === undefined) {
        findings.push({ table: 'tenant_key', id: tenant.id, what: 'the keys of the tenant cannot be unwrapped' });
        continue;
      }
      checked.tenants += 1;
      if ((await unlessDamaged(() => openTenant(opened, tenant.id, tenant))) === undefined) {
        findings.push({ table: 'tenant', id: tenant.id, what: 'cannot be decrypted' });
      }
      const rowKeys = { vault: keyring, tenant: opened, keysFrom: new Map() };
      for (const table of CHECKED_TABLES) {
        const afterPage = table === 'token' || table === 'reply' ? report : undefined;
        for await (const row of rowsOf(store, table, tenant.id, pageRows, afterPage)) {
          if (table !== 'tombstone') done += 1;
          if (table === 'application') checked.applications += 1;
          if (table === 'token') checked.tokens += 1;
          const { record } = row;
          if (record !== undefined && (table === 'application' || table === 'token')) onRecord(record.created_at);
          findings.push(...(await checkRow(rowKeys, table, row)));
        }
      }
    }
  }

  async function compare(): Promise<void> {
    const compared = await compareRecords({ store, keyring, yieldToLoop, archives }).catch(
      (error: unknown): Comparison => {
        if (!(error instanceof BrokenAudit)) throw error;
        return { entries: 0, findings: [brokenFinding(error)] };
      },
    );
    checked.audit_entries = compared.entries;
    findings.push(...compared.findings);
  }

  const checkTables = async () => void findings.push(...(await store.inspect()));
  for (const check of full ? [checkTables, checkTenants, compare] : [compare]) {
    try {
      await check();
    } catch (error) {
      if (!isDamage(error)) throw error;
      findings.push({ table: 'file', id: '', what: 'cannot be read to the end' });
    }
  }
  return { ok: findings.length === 0, checked, findings: findings.slice(0, MAX_FINDINGS) };
}

/** Throws the fault `damaged` if the report of a copy has findings. `shown` converts the text of a finding. */
export function refuseFindings({ findings }: CheckReport, shown = (text: string) => text): void {
  const [first] = findings;
  if (first === undefined) return;
  const found = shown([first.table, first.id, first.what].filter(Boolean).join(' '));
  throw new Fault('damaged', `no copy was made: ${found}`, {
    hint: 'run `vault doctor` on the source to find all damage',
  });
}

/**
 * Calls `copy`, and runs `check` on the new file before it gets its name. Resolves to the report. If there are
 * findings, rejects with the fault `damaged` and keeps no copy. Errors name `from`, because the temporary name means
 * nothing to the user.
 */
export async function checkedCopy(
  from: string,
  copy: (verify: (building: string) => Promise<void>) => Promise<void>,
  check: (building: string) => Promise<CheckReport>,
): Promise<CheckReport> {
  let report: CheckReport | undefined;
  await copy(async (building) => {
    const renamed = (text: string) => text.replaceAll(building, () => from);
    report = await check(building).catch((error: unknown) => {
      if (!(error instanceof Fault) || !error.message.includes(building)) throw error;
      throw new Fault(error.code, renamed(error.message), {
        ...(error.hint !== undefined && { hint: renamed(error.hint) }),
        cause: error,
      });
    });
    refuseFindings(report, renamed);
  });
  if (report === undefined) throw new Error('unreachable: the copy was checked');
  return report;
}
