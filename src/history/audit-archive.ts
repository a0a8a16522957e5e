import { createHash } from 'node:crypto';
import { START } from '../core/audit/audit-link.ts';
import type { AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { readBase } from '../core/audit/sums.ts';
import { BrokenAudit, checkRows } from '../core/audit/walk-audit.ts';
import { isSameBytes } from '../core/bytes.ts';
import { Fault } from '../core/fault.ts';
import type { Keyring } from '../core/ports.ts';
import { nextSlice } from '../core/slices.ts';
import type { ArchivedRows, LogParts } from './read-log.ts';

const FORMAT = 'token-vault audit archive 1';

/** A file for entries of the audit. */
export interface ArchiveFile {
  /** The path that the user named, for messages. */
  readonly path: string;
  readonly exists: () => boolean;
  /** Writes a new file (0600). It appears complete and synced, or not at all. Rejects with the fault `file_exists`. */
  write(pieces: AsyncIterable<string>): Promise<void>;
  /** Yields the lines with their line ends, from the byte `start` on (default: 0). */
  lines(start?: number): AsyncIterable<string>;
}

/** The rows of an archive: those that follow `after`, up to `through`. */
export interface ArchivedRange {
  readonly after: AuditHead;
  readonly through: AuditHead;
}

/** A verified archive. */
export interface VerifiedArchive extends ArchivedRange {
  readonly path: string;
  readonly entries: number;
  /** The SHA-256 of the file, in hex. */
  readonly digest: string;
}

type ArchiveParts = Pick<LogParts, 'keyring'> & { readonly vault_id: string };

/**
 * Yields the text of an archive in pieces: a header, then the stored rows in order.
 *
 *     {"archive":"token-vault audit archive 1","vault_id":"…","after":[SEQUENCE,LINK],"through":[…],"mac":"…"}
 *     [SEQUENCE,AT,LINK,SEALED]
 *
 * Links, MACs and sealed entries are base64. The MAC is over the other members of the header, so that no row can be
 * removed from either end.
 */
export async function* archiveLines(
  { store, keyring, vault_id }: ArchiveParts & Pick<LogParts, 'store'>,
  range: ArchivedRange,
): AsyncGenerator<string> {
  const { after, through } = range;
  yield headerLine(keyring, vault_id, range);
  for (let last = after.sequence; last < through.sequence; ) {
    const rows = await store.readAudit(last, Math.min(PAGE, through.sequence - last));
    let lines = '';
    for (const { sequence, at, link, sealed } of rows) {
      if (sequence !== last + 1) break;
      lines += `${JSON.stringify([sequence, at, base64(link), base64(sealed)])}\n`;
      last = sequence;
    }
    if (lines === '') throw new BrokenAudit({ sequence: last + 1 }, 'is missing');
    yield lines;
  }
}

const PAGE = 100;

function headerLine(keyring: Pick<Keyring, 'anchorMac'>, vault_id: string, { after, through }: ArchivedRange): string {
  const position = ({ sequence, link }: AuditHead) => [sequence, base64(link)];
  const header = { archive: FORMAT, vault_id, after: position(after), through: position(through) };
  return `${JSON.stringify({ ...header, mac: base64(keyring.anchorMac(JSON.stringify(header))) })}\n`;
}

/**
 * Checks every row of an archive with the keys of the vault. Throws `BrokenAudit` at the first wrong row, and the fault
 * `damaged` for a file that is not an archive of this vault.
 */
export async function verifyArchive(parts: ArchiveParts, file: ArchiveFile): Promise<VerifiedArchive> {
  const digest = createHash('sha256');
  let range: ArchivedRange | undefined;
  let check: ReturnType<typeof checkRows> | undefined;
  let last: AuditHead = START;
  let entries = 0;
  for await (const line of file.lines()) {
    await nextSlice();
    digest.update(line);
    if (range === undefined || check === undefined) {
      range = readHeader(parts, file.path, line);
      last = range.after;
      check = checkRows({ store: readsOf(file, range), keyring: parts.keyring }, last);
      continue;
    }
    const row = readRow(line);
    const next = { sequence: last.sequence + 1 };
    if (row?.sequence !== next.sequence) throw new BrokenAudit(next, 'is missing');
    if (last.sequence === range.through.sequence) throw new BrokenAudit(next, 'follows the last row of the archive');
    entries += (await check.next(row)).length;
    last = row;
  }
  if (range === undefined) throw notArchive(file.path);
  const { after, through } = range;
  if (last.sequence < through.sequence) throw new BrokenAudit({ sequence: last.sequence + 1 }, 'is missing');
  if (!isSameBytes(last.link, through.link)) throw new BrokenAudit(through, 'was altered or moved');
  return { path: file.path, after, through, entries, digest: digest.digest('hex') };
}

const MISSING_ARCHIVE = { hint: 'name the archives of all pruned entries' };

/**
 * Verifies the archives of all pruned rows. Resolves to their rows, oldest first; to undefined if nothing was pruned.
 * Rejects with the fault `damaged` for an altered or missing archive, and for one of other rows.
 */
export async function readArchives(
  parts: Pick<LogParts, 'store' | 'keyring'>,
  files: readonly ArchiveFile[],
): Promise<readonly ArchivedRows[] | undefined> {
  const { vault_id } = await parts.store.header();
  const verified: (VerifiedArchive & { readonly file: ArchiveFile })[] = [];
  for (const file of files) {
    const archive = await verifyArchive({ ...parts, vault_id }, file).catch((error: unknown) => {
      if (!(error instanceof BrokenAudit)) throw error;
      throw new Fault('damaged', `${file.path}: ${error.message}`, { cause: error });
    });
    verified.push({ ...archive, file });
  }
  verified.sort((a, b) => a.after.sequence - b.after.sequence || a.through.sequence - b.through.sequence);
  const head = await readBase(parts);
  if (head.sequence === 0) return undefined;
  const ranges: (ArchivedRows & { readonly path: string })[] = [];
  let end = START;
  for (const { after, through, path, file } of verified) {
    // The archive of a prune that was killed overlaps the next one, or lies within it.
    const whole = ranges.find((range) => range.through.sequence >= through.sequence);
    const [own] = whole === undefined ? [] : await whole.readAudit(through.sequence - 1, 1);
    if (own !== undefined && isSameRow(own, through)) continue;
    const [before] =
      after.sequence < end.sequence ? await readsOf(file, { after, through }).readAudit(end.sequence - 1, 1) : [after];
    if (before === undefined || !isSameRow(before, end)) {
      const gap = `${path} begins at row ${after.sequence + 1}, and no archive ends before it with row ${after.sequence}`;
      if (after.sequence > end.sequence) throw new Fault('damaged', gap, MISSING_ARCHIVE);
      throw new Fault('damaged', `${path} does not continue the other archives`);
    }
    ranges.push({ after: end, through, path, ...readsOf(file, { after, through }) });
    end = through;
  }
  const last = ranges.at(-1);
  const [found] = end.sequence > head.sequence && last ? await last.readAudit(head.sequence - 1, 1) : [end];
  if (found === undefined || !isSameRow(found, head)) {
    const what = `${last?.path} ends at row ${end.sequence}, and the audit begins after row ${head.sequence}`;
    throw new Fault('damaged', what, MISSING_ARCHIVE);
  }
  return ranges.map(({ after, through, readAudit }) => {
    const isLast = through.sequence >= head.sequence;
    const upTo = isLast ? { sequence: head.sequence, link: head.link } : through;
    return { after, through: upTo, readAudit, auditHead: async () => ({ ...upTo, at: 0 }) };
  });
}

/** Returns whether two positions are the same row. */
export function isSameRow(a: AuditHead, b: AuditHead): boolean {
  return a.sequence === b.sequence && isSameBytes(a.link, b.link);
}

/** Returns the reads of an archive. A read that continues the one before it is quick. Other reads begin a new pass. */
function readsOf(file: ArchiveFile, { after, through }: ArchivedRange): Pick<ArchivedRows, 'readAudit' | 'auditHead'> {
  let pass = { last: after.sequence, rows: rowsOf(file) };
  return {
    auditHead: async () => ({ ...through, at: 0 }),

    async readAudit(from, limit) {
      if (from < pass.last) {
        await pass.rows.return(undefined);
        pass = { last: after.sequence, rows: rowsOf(file) };
      }
      const found: AuditEntry[] = [];
      while (found.length < limit && pass.last < through.sequence) {
        const { value, done } = await pass.rows.next();
        if (done) break;
        pass.last = value.sequence;
        if (value.sequence > from) found.push(value);
      }
      if (pass.last === through.sequence) await pass.rows.return(undefined);
      return found;
    },
  };
}

async function* rowsOf(file: ArchiveFile): AsyncGenerator<AuditEntry> {
  for await (const line of file.lines()) {
    const row = readRow(line);
    if (row !== undefined) yield row;
  }
}

/** Returns the range of a header. Throws the fault `damaged` for another line and an altered header. */
function readHeader({ keyring, vault_id }: ArchiveParts, path: string, line: string): ArchivedRange {
  const header = line.startsWith('{') ? parsed(line) : undefined;
  if (typeof header !== 'object' || header === null || !('archive' in header) || header.archive !== FORMAT) {
    throw notArchive(path);
  }
  const { vault_id: id, after, through } = header as Record<string, unknown>;
  if (typeof id === 'string' && id !== vault_id) throw new Fault('damaged', `${path} is an archive of another vault`);
  const range = { after: readPosition(after), through: readPosition(through) };
  if (headerLine(keyring, vault_id, range) === line) return range;
  throw new Fault('damaged', `${path} has an altered header`);
}

function notArchive(path: string): Fault {
  return new Fault('damaged', `${path} is not an audit archive`, {
    hint: 'name a file that `vault audit prune` wrote',
  });
}

function readPosition(position: unknown): AuditHead {
  const [sequence, link] = Array.isArray(position) ? position : [];
  return { sequence: Number(sequence), link: Buffer.from(String(link), 'base64') };
}

function readRow(line: string): AuditEntry | undefined {
  const row = parsed(line);
  if (!Array.isArray(row)) return undefined;
  const [sequence, at, link, sealed] = row;
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(at)) return undefined;
  return {
    sequence,
    at,
    link: Buffer.from(String(link), 'base64'),
    sealed: Buffer.from(String(sealed), 'base64'),
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
