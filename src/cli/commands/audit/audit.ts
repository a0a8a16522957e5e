import { AUDITED_ACTIONS, type AuditedAction } from '../../../core/audit/audit-event.ts';
import { isDenied } from '../../../core/audit/audit-level.ts';
import { BrokenAudit, type PositionedEvent } from '../../../core/audit/walk-audit.ts';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { nearestHint } from '../../../core/nearest-name.ts';
import { formatInstant } from '../../../core/time.ts';
import { wallTime } from '../../../core/timers.ts';
import type { ArchiveFile } from '../../../history/audit-archive.ts';
import type { VaultAdmin } from '../../../vault/admin.ts';
import { printError, report } from '../../exit/report-failure.ts';
import { ARCHIVE_FLAGS, archiveFile, archiveFiles } from '../../files/archive-file.ts';
import { filePath, outputPath, requireLines } from '../../files/output-path.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { FLAGS, type FlagValues, flag, oneShot } from '../../flags/global-flags.ts';
import { parseMoment, parseWhole } from '../../flags/quantities.ts';
import { groupDigits } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { writeOut } from '../../output/standard-output.ts';
import { withAdmin } from '../on-file.ts';
import { confirmation } from '../printing.ts';

const LIST_FLAGS = {
  limit: flag('--limit <number>', 'the largest number of entries (default: 50)'),
  application: flag('--application <id>', 'only calls of this application', 'VAULT_AUDIT_APPLICATION'),
  entity: flag('--entity <id>', 'only calls on this token, application or API key', 'VAULT_AUDIT_ENTITY'),
  action: flag('--action <name>', 'only this action: createToken, getToken, expireToken, …', 'VAULT_AUDIT_ACTION'),
  denied: oneShot('--denied', 'only denied calls'),
  since: flag('--since <time>', 'only entries since this ISO 8601 time or age (15m, 24h)', 'VAULT_AUDIT_SINCE'),
  until: flag('--until <time>', 'only entries before this ISO 8601 time or age', 'VAULT_AUDIT_UNTIL'),
  ...ARCHIVE_FLAGS,
};

const EXPORT_FLAGS = {
  out: flag('--out <path>', 'a new file (0600); - is standard output (default)'),
  ...ARCHIVE_FLAGS,
};

const VERIFY_FLAGS = { archive: flag('--archive <path>', 'check only this archive from `vault audit prune`') };

const PRUNE_FLAGS = {
  before: flag(
    '--before <time>',
    'remove the entries before this ISO 8601 time, or older than this age (400d)',
    'VAULT_PRUNE_BEFORE',
  ),
  archive: flag('--archive <path>', 'a new file (0600) for the removed entries', 'VAULT_PRUNE_ARCHIVE'),
};

const DEFAULT_LIMIT = '50';

/** `vault audit list`: lists calls with their caller, records and result. */
export const defineAuditList = withAdmin({
  flags: LIST_FLAGS,
  view: RESULT_VIEWS.auditList,
  examples: [
    'vault audit list --entity ID',
    'vault audit list --denied --since 24h',
    'vault audit list --action deleteToken --limit 10 -o csv',
    'vault audit list --entity ID --archive audit-1 --archive audit-2',
  ],
  async prepare({ read, remark }) {
    const values = read(LIST_FLAGS);
    const limit = parseWhole(
      values.limit ?? DEFAULT_LIMIT,
      1,
      999_999_999,
      '--limit (VAULT_LIMIT) must be a number from 1',
    );
    const wanted = filterOf(values);
    const archives = archiveFiles(values.archive);
    return async (admin) => {
      // One more shows whether the list ends here.
      const found = await admin.lastEvents(wanted, limit + 1, archives).catch(damaged);
      if (found.length > limit) {
        remark(`the newest ${groupDigits(limit)} ${limit === 1 ? 'entry' : 'entries'}; --limit for more`);
      }
      return { data: found.slice(0, limit).map(shownEvent) };
    };
  },
});

/** `vault audit verify`: verifies the chain of entries. Exits with 9 and names the first entry that was altered. */
export const defineAuditVerify = withAdmin({
  flags: { ...FLAGS.anchor, ...VERIFY_FLAGS },
  view: RESULT_VIEWS.auditVerify,
  help: `
Only --anchor detects missing entries at the end. \`vault doctor\` also compares every record with the audit.`,
  examples: ['vault audit verify --field ok', 'vault audit verify --archive audit-2025'],
  async prepare({ read }) {
    const { anchor } = read(FLAGS.anchor);
    const { archive } = read(VERIFY_FLAGS);
    return async (admin) => {
      if (archive !== undefined) return admin.verifyArchive(archiveFile('--archive', filePath('--archive', archive)));
      if (anchor !== undefined) await admin.compareWithAnchor(anchor);
      return admin.verifyAudit();
    };
  },
  exitCode: ({ first_bad: bad }: { readonly first_bad?: { readonly sequence: number; readonly what: string } }) => {
    if (bad === undefined) return 0;
    return printError(9, { code: 'damaged', message: `entry ${bad.sequence} of the audit is wrong: ${bad.what}` });
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
  async prepare({ read }) {
    const flags = read(PRUNE_FLAGS);
    const before = parseMoment('--before', flags.before);
    if (before === undefined) throw new Fault('usage', '--before (VAULT_PRUNE_BEFORE) must be given');
    // A time in the future would remove the whole audit.
    if (before > wallTime()) {
      throw new Fault('usage', `--before: ${flags.before} is in the future`, { hint: 'pass an age such as 400d' });
    }
    const path = filePath('--archive', flags.archive);
    if (path === undefined) throw new Fault('usage', '--archive (VAULT_PRUNE_ARCHIVE) must be given');
    const confirm = await confirmation(
      { read },
      `The audit entries before ${formatInstant(before)} are removed from the vault; only ${path} keeps them.`,
    );
    return async (admin) => {
      await confirm();
      const { archive, removed } = await admin.pruneAudit(before, archiveFile('--archive', path));
      if (archive !== undefined) {
        return { archive: path, entries: archive.entries, removed, sha256: archive.digest };
      }
      report(`no entry is older than ${flags.before}${removed > 0 ? '; completed an earlier prune' : ''}`);
      return { entries: 0, removed };
    };
  },
});

/** `vault audit export`: writes all entries as NDJSON, for a log store. `sequence` identifies each line. */
export const defineAuditExport = withAdmin({
  flags: EXPORT_FLAGS,
  view: RESULT_VIEWS.auditExport,
  examples: ['vault audit export --out audit.ndjson', 'vault audit export --archive audit-1 --archive audit-2'],
  async prepare({ flags, read }) {
    const values = read(EXPORT_FLAGS);
    const out = outputPath(values.out);
    const archives = archiveFiles(values.archive);
    if (out === undefined) requireLines(flags, 'use `vault audit list -o csv` for a table');
    return async (admin) => {
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
    };
  },
});

async function* exportedLines(admin: VaultAdmin, archives: readonly ArchiveFile[]): AsyncGenerator<string> {
  try {
    for await (const positioned of admin.events(archives)) {
      yield `${stringifyJson({ ...shownEvent(positioned), link: hex(positioned.link) })}\n`;
    }
  } catch (error) {
    damaged(error);
  }
}

function damaged(error: unknown): never {
  if (!(error instanceof BrokenAudit)) throw error;
  throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
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

function filterOf(values: FlagValues<typeof LIST_FLAGS>): (positioned: PositionedEvent) => boolean {
  const { denied, entity } = values;
  const action = parseAction(values.action);
  const application = values.application?.toLowerCase();
  const [since, until] = [parseMoment('--since', values.since), parseMoment('--until', values.until)];
  return ({ at, event }) =>
    (action === undefined || event.action === action) &&
    (application === undefined || event.application_id === application) &&
    (entity === undefined || event.entities.includes(entity)) &&
    (!denied || isDenied(event.status)) &&
    (since === undefined || at >= since) &&
    (until === undefined || at < until);
}

function parseAction(text: string | undefined): AuditedAction | undefined {
  const found = AUDITED_ACTIONS.find((action) => action === text);
  if (found !== undefined || text === undefined) return found;
  const hint = nearestHint(text, AUDITED_ACTIONS, `one of ${AUDITED_ACTIONS.join(', ')}`);
  throw new Fault('usage', `--action: unknown action ${text}`, { hint });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
