import { Fault } from '../core/fault.ts';
import type { AnchorNote, ArchiveFile, Finding } from '../core/maintenance-ports.ts';
import type { Instant, Keyring, Store } from '../core/ports.ts';
import { isDamage } from '../core/problem.ts';
import { readArchives } from './audit-archive.ts';
import { type CheckReport, checkVault, refuseFindings } from './check-vault.ts';
import { clockNotices, countAhead, openClockNote } from './clock-note.ts';
import { failingCalls } from './closed-tenants.ts';
import { compareWithAnchor } from './keep-anchor.ts';
import type { KeyHolder } from './key-holder.ts';
import type { Progress } from './rotate-tenant.ts';

/**
 * Opens a vault's store without its keys; `unlock` opens the keyring. Both reject with a fault such as `damaged`.
 * `wall` is the time of the machine's clock for a file, and the database's time for a store.
 */
export type OpenLocked = () => Promise<{
  readonly store: Store;
  readonly format: number;
  readonly wall: Instant;
  /** The number of rows in one read. */
  readonly pageRows?: number | undefined;
  unlock(): Promise<Keyring>;
}>;

export interface FileReport extends CheckReport {
  /** Absent for a vault that cannot be opened. */
  readonly format?: number;
  /** Sentences about problems other than damage, such as a clock in doubt. */
  readonly notices: readonly string[];
}

export interface FileCheck {
  readonly anchor: AnchorNote | undefined;
  /** The archives of all pruned entries. Default: the base of the audit replaces these entries. */
  readonly archives?: readonly ArchiveFile[] | undefined;
  readonly progress?: Progress | undefined;
}

/** Runs all checks of `vault doctor`. A damaged vault that cannot be opened is a finding, too. */
export async function checkFile(open: OpenLocked, { anchor, archives = [], progress }: FileCheck): Promise<FileReport> {
  const findings: Finding[] = [];
  let notices: readonly string[] = [];
  const found = (table: string) => (error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'damaged') throw error;
    findings.push({ table, id: '', what: error.message });
  };
  let checked: CheckReport['checked'] = { tenants: 0, applications: 0, tokens: 0, audit_entries: 0 };
  let opened: Awaited<ReturnType<OpenLocked>> | undefined;
  try {
    opened = await open();
    const parts = { store: opened.store, keyring: await opened.unlock() };
    if (anchor !== undefined) await compareWithAnchor(parts, anchor).catch(found('counter'));
    notices = await compareClock(parts, opened.wall).catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      findings.push({ table: 'counter', id: '', what: 'the clock note was altered' });
      return [];
    });
    const archived = archives.length === 0 ? undefined : await readArchives(parts, archives).catch(found('archive'));
    const ahead = countAhead(opened.wall);
    const scope = { archives: archived ?? undefined, pageRows: opened.pageRows, onRecord: ahead.count };
    const report = await checkVault(parts, progress, scope);
    const failing = report.ok ? [] : await failingCalls(parts);
    notices = [...notices, ...ahead.notices(), ...failing];
    findings.push(...report.findings);
    checked = report.checked;
  } catch (error) {
    found(opened === undefined ? 'file' : 'header')(error);
  } finally {
    await opened?.store.close();
  }
  const format = opened && { format: opened.format };
  return { ok: findings.length === 0, ...format, checked, findings, notices };
}

async function compareClock({ store, keyring }: Pick<KeyHolder, 'store' | 'keyring'>, wall: Instant) {
  const { vault_id } = await store.header();
  const note = openClockNote({ keyring, vault_id }, await store.clockNote());
  return clockNotices(note, (await store.auditHead()).at, wall);
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
