import { statSync } from 'node:fs';
import { START } from '../core/audit/audit-link.ts';
import { BrokenAudit, type PositionedEvent } from '../core/audit/walk-audit.ts';
import type { Instant } from '../core/ports.ts';
import type { ArchiveFile } from '../history/audit-archive.ts';
import { lastEntries, readEntries } from '../history/read-entries.ts';
import { contradictionsOf, readLog } from '../history/read-log.ts';
import { type Credential, MIN_CHARACTERS, requireStrongPassphrase } from '../keyring/credential.ts';
import { unlockKeyring } from '../keyring/master-key.ts';
import type { KeepOptions, KeptBackup } from '../store/sqlite/file/backup-folder.ts';
import type { Compacted } from '../store/sqlite/file/compact-file.ts';
import { yieldBetweenBatches } from './batches.ts';
import { type CheckReport, checkedCopy } from './checks/check-vault.ts';
import { checkVaultFile } from './checks/check-vault-file.ts';
import { requireSoundLog } from './checks/closed-tenants.ts';
import { noteBackup } from './clock/clock-note.ts';
import { MACHINE, type Times } from './clock/system-clock.ts';
import { compareWithAnchor } from './keep-anchor.ts';
import {
  type FileHolderOptions,
  type KeyHolderOptions,
  type OpenedKeyHolder,
  openFileForKeyHolder,
  openForKeyHolder,
} from './key-holder.ts';
import type { ResetResult } from './keys/reset-tokens.ts';
import type { Progress } from './keys/rotate-tenant.ts';
import { vaultKeys } from './keys/vault-keys.ts';

/** The report of `vault audit verify`. */
export interface AuditReport {
  readonly ok: boolean;
  readonly entries?: number;
  readonly counted_denials?: number;
  /** The link of the last row, in hex. */
  readonly head?: string;
  /** The first wrong row. */
  readonly first_bad?: {
    readonly sequence: number;
    readonly what: string;
    /** The path of the archive with the row. */
    readonly archive?: string;
  };
}

/**
 * The functions on keys, audit and file that a holder of the vault's key can use without the API. Other processes may
 * serve the file.
 */
export type VaultAdmin = Awaited<ReturnType<typeof openVaultAdmin>>;

/** Opens a vault for the holder of its key. Throws as `openFileVault` does. */
export async function openVaultAdmin(options: KeyHolderOptions) {
  const opened = await openForKeyHolder(options);
  return {
    ...vaultKeys({ ...opened, credential: options.credential, yieldToLoop: yieldBetweenBatches() }),
    /** Returns the last entries that match `wanted`, newest first, as `lastEntries` does. */
    lastEvents: async (
      wanted: (positioned: PositionedEvent) => boolean,
      limit: number,
      archives: readonly ArchiveFile[] = [],
    ) => {
      await requireSoundLog(opened.follower);
      return lastEntries(opened, wanted, limit, archives);
    },
    /** Yields all entries, oldest first, as `readEntries` does. */
    async *events(archives: readonly ArchiveFile[] = []) {
      await requireSoundLog(opened.follower);
      yield* readEntries(opened, archives);
    },
    /** Rejects with `integrity_failure` if the header was altered: its key may have been removed. */
    async verifyAudit() {
      const report = await verifyAudit(opened);
      if (report.ok) await requireSoundLog(opened.follower);
      return report;
    },
    /** Archives and removes the entries before `before`, as `pruneAudit` does. */
    pruneAudit: async (before: Instant, file: ArchiveFile) => {
      const { pruneAudit } = await import('../history/prune-audit.ts');
      return pruneAudit({ ...opened, yieldToLoop: yieldBetweenBatches() }, before, () => file);
    },
    /** Compares the records of a tenant with the audit, for their acceptance, as `compareTenant` does. */
    compareTenant: async (tenantId: string | undefined) => {
      const { compareTenant } = await import('./tenants/accept-tenant.ts');
      return compareTenant({ ...opened, yieldToLoop: yieldBetweenBatches() }, tenantId);
    },
    /** Checks archives of the audit, each alone. Throws as `verifyArchive` does. */
    verifyArchive: (...files: readonly ArchiveFile[]) => verifyArchives(opened, files),
    /**
     * Compares the vault with its anchor. Throws the fault `damaged` when the vault is behind its anchor or has none.
     */
    compareWithAnchor: (anchor: string) => compareWithAnchor(opened, anchor),
    close: opened.close,
  };
}

/**
 * Returns the report on the whole audit: its last link, or the first entry that was altered or contradicts the entries
 * before it.
 */
function verifyAudit(opened: OpenedKeyHolder): Promise<AuditReport> {
  return reportOf(async () => {
    const { head, entries, denials, bad, sums } = await readLog(opened);
    const [first] = [...bad, ...contradictionsOf(sums)].sort((a, b) => a.sequence - b.sequence);
    if (first === undefined) {
      const end = entries > 0 && { head: Buffer.from(head.link).toString('hex') };
      return { ok: true, entries, ...(denials > 0 && { counted_denials: denials }), ...end };
    }
    const what = [first.table, first.id, first.what].filter(Boolean).join(' ');
    return { ok: false, entries, first_bad: { sequence: first.sequence, what } };
  });
}

/** Returns the report on archives: the last link of the latest one, or the first entry that was altered. */
async function verifyArchives(opened: OpenedKeyHolder, files: readonly ArchiveFile[]): Promise<AuditReport> {
  const { verifyArchive } = await import('../history/audit-archive.ts');
  let [entries, last] = [0, START];
  for (const file of files) {
    const report = await reportOf(async () => {
      const archive = await verifyArchive(opened, file);
      entries += archive.entries;
      if (archive.through.sequence > last.sequence) last = archive.through;
      return { ok: true };
    });
    if (report.first_bad) return { ok: false, first_bad: { ...report.first_bad, archive: file.path } };
  }
  return { ok: true, entries, head: Buffer.from(last.link).toString('hex') };
}

async function reportOf(verify: () => Promise<AuditReport>): Promise<AuditReport> {
  try {
    return await verify();
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    return { ok: false, first_bad: { sequence: error.sequence, what: error.what } };
  }
}

/** The rule that `checkNewPassphrase` checks, for prompts. */
export const PASSPHRASE_RULE = `at least ${MIN_CHARACTERS} characters`;

/** Throws `weak_passphrase` for a weak new passphrase, before anything is created. */
export function checkNewPassphrase(passphrase: string, allowWeak: boolean): void {
  requireStrongPassphrase(passphrase, allowWeak);
}

/** Returns whether `checkFile` accepts a file that is only read. It may have other names and be a mount point. */
export async function isSafeToRead(file: string): Promise<boolean> {
  const { checkOpenable } = await import('../store/sqlite/file/check-openable.ts');
  try {
    checkOpenable(file, { isOnlyRead: true });
    return true;
  } catch {
    return false;
  }
}

/** Functions that show the progress of a copy and of its check. */
interface CopyProgress {
  /** Called with the size of the file, in bytes, before the file is copied. */
  readonly copying?: (bytes: number) => void;
  /** Called with the numbers of checked and of all records. */
  readonly checking?: Progress;
}

interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly credential: Credential;
}

/**
 * Copies a vault that other processes may have open. Opens and checks the copy before it gets its name. Resolves to the
 * report of the check.
 */
export async function backUpVault({ to, ...options }: CopyOptions, progress: CopyProgress = {}): Promise<CheckReport> {
  const { backUpVaultFile } = await import('../store/sqlite/file/back-up-file.ts');
  return backUp(options, progress, (verify) => backUpVaultFile(options.from, to, verify));
}

/**
 * Backs up a vault as `backUpVault` does, into a folder, under a name with the time. Keeps the last `keep` backups of
 * the vault in the folder and removes older ones. Resolves to the report of the check and the paths.
 */
export async function backUpIntoFolder(
  options: Omit<CopyOptions, 'to'> & KeepOptions,
  progress: CopyProgress = {},
): Promise<CheckReport & KeptBackup> {
  const { backUpFileIntoFolder } = await import('../store/sqlite/file/backup-folder.ts');
  let kept: KeptBackup = { file: '', removed: [], future: [] };
  const report = await backUp(options, progress, async (verify) => {
    kept = await backUpFileIntoFolder(options.from, options, verify);
  });
  return { ...report, ...kept };
}

async function backUp(
  { from, credential }: Omit<CopyOptions, 'to'>,
  { copying, checking }: CopyProgress,
  copy: Parameters<typeof checkedCopy>[1],
): Promise<CheckReport> {
  const { checkOpenable } = await import('../store/sqlite/file/check-openable.ts');
  checkOpenable(from);
  copying?.(statSync(from).size);
  return checkedCopy(from, copy, (file) => checkVaultFile({ file, credential }, checking));
}

/**
 * Records in a vault file that a backup is complete, for metrics. Rejects as `openVaultAdmin` does, and if the file
 * cannot be written.
 */
export async function recordBackup({
  file,
  credential,
  times = MACHINE,
}: Pick<FileHolderOptions, 'file' | 'credential'> & { readonly times?: Times }): Promise<void> {
  const opened = await openForKeyHolder({ file, credential });
  try {
    await noteBackup(opened, times.wall());
  } finally {
    await opened.close();
  }
}

/**
 * Removes all tokens of one tenant or of all tenants, and replaces their data keys. Resolves as `resetTokens` does.
 * Other processes may serve the file. Rejects as `openFileVault` does, and with `not_found` for an unknown tenant.
 */
export async function resetVault(options: FileHolderOptions, tenantId: string | undefined): Promise<ResetResult> {
  const opened = await openFileForKeyHolder(options);
  const { resetTokens } = await import('./keys/reset-tokens.ts');
  return resetTokens({ ...opened, yieldToLoop: yieldBetweenBatches() }, tenantId).finally(opened.close);
}

/**
 * Replaces a vault file with a checked copy without free pages. Resolves to the sizes and the report of the check.
 * Throws `locked_by_other` while another process has the file open.
 */
export async function compactVault(
  { file, credential }: Pick<FileHolderOptions, 'file' | 'credential'>,
  { copying = () => undefined, checking }: CopyProgress = {},
): Promise<CheckReport & Compacted> {
  const { compactVaultFile } = await import('../store/sqlite/file/compact-file.ts');
  await checkKey({ file, credential });
  let sizes: Compacted = { bytes_before: 0, bytes_after: 0 };
  const copy = async (verify: (building: string) => Promise<void>) => {
    sizes = await compactVaultFile(file, copying, verify);
  };
  const check = (building: string) => checkVaultFile({ file: building, credential }, checking);
  return { ...(await checkedCopy(file, copy, check)), ...sizes };
}

/** Throws `locked_by_other` if another process has the vault file open, and the faults of a wrong key or file. */
export async function checkUnused(options: Pick<FileHolderOptions, 'file' | 'credential'>): Promise<void> {
  const { assertUnused } = await import('../store/sqlite/file/compact-file.ts');
  await checkKey(options);
  await assertUnused(options.file);
}

/** Opens and closes a vault, so that a wrong key or a foreign file fails before the file is copied. */
async function checkKey({ file, credential }: Pick<FileHolderOptions, 'file' | 'credential'>): Promise<void> {
  const { withVaultFile } = await import('../store/sqlite/file/open-vault-file.ts');
  await withVaultFile(file, async ({ header }) => (await unlockKeyring(header, credential)).close());
}

/**
 * Creates a vault from an undamaged backup. With `moveAside`, renames an existing file together with its log;
 * otherwise, an existing file is an error.
 */
export async function restoreVault(
  { from, to, credential, moveAside = false }: CopyOptions & { readonly moveAside?: boolean },
  { copying, checking }: CopyProgress = {},
): Promise<CheckReport> {
  const { restoreVaultFile } = await import('../store/sqlite/file/back-up-file.ts');
  const check = (file: string) => checkVaultFile({ file, credential }, checking);
  const copy = async (verify: (building: string) => Promise<void>) => {
    await restoreVaultFile(from, to, verify, { moveAside, copying });
  };
  return checkedCopy(from, copy, check);
}
