import type { AuditedAction } from '../../../core/audit/audit-event.ts';
import type { PositionedEvent } from '../../../core/audit/walk-audit.ts';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { formatInstant } from '../../../core/time.ts';
import { wallTime } from '../../../core/timers.ts';
import type { ArchiveFile } from '../../../history/audit-archive.ts';
import type { AuditReport, VaultAdmin } from '../../../vault/admin.ts';
import { damagedAudit } from '../../exit/damaged-audit.ts';
import { printError, report } from '../../exit/report-failure.ts';
import { archiveFile, archiveFiles } from '../../files/archive-file.ts';
import { filePath, outputPath, requireLines } from '../../files/output-path.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { FLAGS, flag, requireValue } from '../../flags/global-flags.ts';
import { parseMoment } from '../../flags/quantities.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { writeOut } from '../../output/standard-output.ts';
import { withAdmin } from '../on-file.ts';
import { confirmation } from '../printing.ts';

const EXPORT_FLAGS = {
  out: flag('--out <path>', 'a new file (0600); - is standard output (default)'),
  ...FLAGS.archive,
};

const VERIFY_FLAGS = {
  ...FLAGS.anchor,
  archive: flag(
    '--archive <path...>',
    'check only this archive from `vault audit prune`; repeatable (comma-separated in VAULT_ARCHIVE)',
  ),
};

const PRUNE_FLAGS = {
  before: flag(
    '--before <time>',
    'remove the entries before this ISO 8601 time, or older than this age (400d)',
    'VAULT_PRUNE_BEFORE',
  ),
  archive: flag('--archive <path>', 'a new file (0600) for the removed entries', 'VAULT_PRUNE_ARCHIVE'),
};

/** `vault audit verify`: verifies the chain of entries. Exits with 9 and names the first entry that was altered. */
export const defineAuditVerify = withAdmin({
  flags: VERIFY_FLAGS,
  view: RESULT_VIEWS.auditVerify,
  help: `
Only --anchor detects missing entries at the end. \`vault doctor\` also compares every record with the audit.`,
  examples: ['vault audit verify --field ok', 'vault audit verify --archive audit-2025'],
  async work({ read }, open) {
    const values = read(VERIFY_FLAGS);
    const archives = archiveFiles(values.archive);
    const admin = await open();
    if (values.anchor !== undefined) await admin.compareWithAnchor(values.anchor);
    return archives.length > 0 ? admin.verifyArchive(...archives) : admin.verifyAudit();
  },
  exitCode: ({ first_bad: bad }: Pick<AuditReport, 'first_bad'>) => {
    if (bad === undefined) return 0;
    const place = bad.archive ?? 'the audit';
    return printError(9, { code: 'damaged', message: `entry ${bad.sequence} of ${place} is wrong: ${bad.what}` });
  },
});

/** `vault audit prune`: moves old entries to an archive. */
export const defineAuditPrune = withAdmin({
  flags: { ...PRUNE_FLAGS, ...FLAGS.confirm },
  view: RESULT_VIEWS.auditPrune,
  help: `
The archive is sealed: \`vault audit verify --archive\` checks it with the key of the vault. A killed command loses nothing; run it again, with another --archive.`,
  examples: [
    'vault audit prune --before 400d --archive /mnt/archive/audit',
    'vault audit prune --before 2026-01-01 --archive audit-2025 --yes',
  ],
  async work({ read }, open) {
    const flags = read(PRUNE_FLAGS);
    const before = parseMoment('--before', requireValue(flags.before, PRUNE_FLAGS.before));
    // A time in the future would remove the whole audit.
    if (before > wallTime()) {
      throw new Fault('usage', `--before: ${flags.before} is in the future`, { hint: 'pass an age such as 400d' });
    }
    const path = filePath('--archive', requireValue(flags.archive, PRUNE_FLAGS.archive));
    const confirm = await confirmation(
      { read },
      `The audit entries before ${formatInstant(before)} are removed from the vault; only ${path} keeps them.`,
    );
    const admin = await open();
    await confirm();
    const { archive, removed } = await admin.pruneAudit(before, archiveFile('--archive', path));
    if (archive !== undefined) return { archive: path, entries: archive.entries, removed, sha256: archive.digest };
    report(
      `the first write of the audit is not older than ${flags.before}${removed > 0 ? '; completed an earlier prune' : ''}`,
    );
    return { entries: 0, removed };
  },
});

/** `vault audit export`: writes all entries as NDJSON, for a log store. `sequence` identifies each line. */
export const defineAuditExport = withAdmin({
  flags: EXPORT_FLAGS,
  view: RESULT_VIEWS.auditExport,
  examples: ['vault audit export --out audit.ndjson', 'vault audit export --archive audit-1 --archive audit-2'],
  async work({ flags, read }, open) {
    const values = read(EXPORT_FLAGS);
    const out = outputPath(values.out);
    const archives = archiveFiles(values.archive);
    if (out === undefined) requireLines(flags, 'use `vault audit list -o csv` for a table');
    const admin = await open();
    if (out === undefined) {
      for await (const line of exportedLines(admin, archives)) await writeOut(line);
      return undefined;
    }
    let entries = 0;
    const counted = async function* () {
      for await (const line of exportedLines(admin, archives)) {
        entries += 1;
        yield line;
      }
    };
    await writeWholeFile('--out', out, counted());
    return { file: out, entries };
  },
});

async function* exportedLines(admin: VaultAdmin, archives: readonly ArchiveFile[]): AsyncGenerator<string> {
  try {
    for await (const positioned of admin.events(archives)) {
      yield `${stringifyJson({ ...shownEvent(positioned), link: hex(positioned.link) })}\n`;
    }
  } catch (error) {
    damagedAudit(error);
  }
}

/** The actions whose entries have sums instead of ids. Sums are never shown: a reader could compute with them. */
const SUMMED: readonly AuditedAction[] = ['resetTokens', 'acceptTenant'];

function shownEvent(positioned: PositionedEvent) {
  const { sequence, n, at, event } = positioned;
  const { action, status, revealed, application_id, actor_name, api_key_id, counted, ...rest } = event;
  const { tenant_id, peer, revision, entities, names } = rest;
  return {
    sequence: `${sequence}.${n}`,
    at: formatInstant(at),
    action,
    status,
    revealed,
    count: counted?.count,
    first_at: counted && formatInstant(counted.first_at),
    last_at: counted && formatInstant(counted.last_at),
    application_id,
    actor_name,
    actor_key_id: api_key_id,
    tenant_id,
    peer,
    revision,
    entities: SUMMED.includes(action) ? [] : entities,
    names,
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
