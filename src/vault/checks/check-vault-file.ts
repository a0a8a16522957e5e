import { statSync } from 'node:fs';
import { Fault } from '../../core/fault.ts';
import type { Finding } from '../../core/key-holder-ports.ts';
import type { Store } from '../../core/ports.ts';
import { isDamage, Problem } from '../../core/problem.ts';
import { type ArchiveFile, readArchives } from '../../history/audit-archive.ts';
import type { Credential } from '../../keyring/credential.ts';
import { findSlot, unlockKeyring } from '../../keyring/master-key.ts';
import { KEY_BYTES } from '../../keyring/sub-keys.ts';
import { fileSystemNotice } from '../../paths/file-system.ts';
import { clockNotices, countAhead, openClockNote } from '../clock/clock-note.ts';
import { MACHINE, type Times } from '../clock/system-clock.ts';
import { compareWithAnchor } from '../keep-anchor.ts';
import type { KeyHolderOptions } from '../key-holder.ts';
import type { Progress } from '../keys/rotate-tenant.ts';
import { type CheckReport, checkVault } from './check-vault.ts';
import { failingCalls } from './closed-tenants.ts';

const READ_BY_OTHERS = 0o044;

/** The key of a vault that was created with a wiped buffer. */
const ZEROS: Credential = { kind: 'key_file', key: new Uint8Array(KEY_BYTES) };

interface FileReport extends CheckReport {
  /** Absent for a vault that cannot be opened. */
  readonly format?: number;
  /** Sentences about problems other than damage, such as a clock in doubt. */
  readonly notices: readonly string[];
}

type CheckOptions = KeyHolderOptions & {
  readonly anchor?: string | undefined;
  /** The archives of all pruned entries, in any order. */
  readonly archives?: readonly ArchiveFile[] | undefined;
  /** The sources of the machine's clock, for a file. */
  readonly times?: Times;
};

/** Runs all checks of `vault doctor`. A damaged vault that cannot be opened is a finding, too. */
export async function checkVaultFile(options: CheckOptions, progress?: Progress): Promise<FileReport> {
  const { anchor, archives = [], credential, times = MACHINE } = options;
  const findings: Finding[] = [];
  const notices: string[] = [];
  const found = (table: string) => (error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'damaged') throw error;
    findings.push({ table, id: '', what: error.message });
  };
  let checked: CheckReport['checked'] = { tenants: 0, applications: 0, tokens: 0, audit_entries: 0 };
  let opened: Awaited<ReturnType<typeof openLocked>> | undefined;
  let zeroSlot: number | undefined;
  try {
    opened = await openLocked(options, times);
    const { store, header, wall } = opened;
    const pageRows = options.store === undefined ? FILE_PAGE : undefined;
    const parts = { store, keyring: await unlockKeyring(header, credential) };
    zeroSlot = await findSlot(header, ZEROS);
    if (anchor !== undefined) await compareWithAnchor(parts, anchor).catch(found('counter'));
    try {
      const note = openClockNote({ ...parts, vault_id: header.vault_id }, await store.clockNote());
      notices.push(...clockNotices(note, (await store.auditHead()).at, wall));
    } catch (error) {
      if (!isDamage(error)) throw error;
      findings.push({ table: 'counter', id: '', what: 'the clock note was altered' });
    }
    const archived = archives.length === 0 ? undefined : await readArchives(parts, archives).catch(found('archive'));
    const ahead = countAhead(wall);
    const report = await checkVault(parts, progress, {
      archives: archived ?? undefined,
      pageRows,
      onRecord: ahead.count,
    });
    notices.push(...ahead.notices(), ...(report.ok ? [] : await failingCalls(parts)));
    findings.push(...report.findings);
    checked = report.checked;
  } catch (error) {
    const altered = await alterations(error, opened?.store);
    if (altered.length === 0) found(opened === undefined ? 'file' : 'header')(error);
    findings.push(...altered);
  } finally {
    await opened?.store.close();
  }
  notices.push(...(await fileNotices(options.file)));
  if (zeroSlot !== undefined) notices.push(zeroSlotNotice(zeroSlot));
  const format = opened && { format: opened.header.format };
  return { ok: findings.length === 0, ...format, checked, findings, notices };
}

/** Resolves to findings that explain a failed read: altered tables, or a right that was revoked. Otherwise to none. */
async function alterations(error: unknown, store: Pick<Store, 'inspect'> | undefined): Promise<readonly Finding[]> {
  if (!(error instanceof Problem) || store === undefined) return [];
  const findings = await store.inspect().catch(() => []);
  return findings.some(({ table }) => table === 'schema') ? findings : [];
}

function zeroSlotNotice(slot: number): string {
  const way = 'run `vault keys add --new-key-file FILE`, then `vault keys rotate --master --key-file FILE`';
  return `key slot ${slot} opens with ${KEY_BYTES} zero bytes, so everybody can open this vault; ${way}`;
}

/**
 * The number of rows of a file that a check reads at once. They fit into V8's first young generation, so V8 copies few
 * of them and promotes none. A read of a database costs a round trip, so it has more rows.
 */
const FILE_PAGE = 20;

async function openLocked(options: CheckOptions, machine: Times) {
  if (options.store === undefined) {
    const { openVaultFile } = await import('../../store/sqlite/file/open-vault-file.ts');
    return { ...(await openVaultFile(options.file, options)), wall: machine.wall() };
  }
  const { openStore } = await import('../open-store.ts');
  const { times, ...opened } = await openStore(options.store);
  return { ...opened, wall: times.wall() };
}

/** Resolves to sentences about a vault file and its file system. */
async function fileNotices(file: string | undefined): Promise<readonly string[]> {
  if (file === undefined) return [];
  const fileSystem = await fileSystemNotice(file);
  return [
    ...(fileSystem === undefined ? [] : [fileSystem]),
    ...(isReadableByOthers(file) ? [`${file} is readable by other users`] : []),
  ];
}

function isReadableByOthers(file: string): boolean {
  if (process.getuid === undefined) return false;
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & READ_BY_OTHERS) !== 0;
}
