import { createHash } from 'node:crypto';
import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { findBeginning } from '../core/audit/checkpoint.ts';
import type { AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit, openRow, START } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { ArchiveFile } from '../core/maintenance-ports.ts';
import { createPace } from '../core/own-turn.ts';
import type { Keyring } from '../core/ports.ts';
import type { KeyHolder } from './key-holder.ts';

const FORMAT = 'token-vault audit archive 1';

/** The rows of an archive: those that follow `after`, up to `through`. */
export interface ArchivedRange {
  readonly after: AuditHead;
  readonly through: AuditHead;
}

/** A verified archive. */
export interface VerifiedArchive extends ArchivedRange {
  readonly place: string;
  readonly entries: number;
  /** The SHA-256 of the file, in hex. */
  readonly digest: string;
}

type ArchiveParts = Pick<KeyHolder, 'keyring'> & { readonly vault_id: string };

/**
 * Yields the text of an archive in pieces: a header, then the stored rows of a chain in order.
 *
 *     {"archive":"token-vault audit archive 1","vault_id":"…","chain":"0","after":[SEQUENCE,LINK],"through":[…],"mac":"…"}
 *     [SEQUENCE,AT,LINK,SEALED]
 *
 * Links, MACs and sealed entries are base64. The MAC is over the other members of the header, so that no row can be
 * removed from either end.
 */
export async function* archiveLines(
  { store, keyring, vault_id }: ArchiveParts & Pick<KeyHolder, 'store'>,
  range: ArchivedRange,
): AsyncGenerator<string> {
  const { after, through } = range;
  yield headerLine(keyring, vault_id, range);
  for (let last = after.sequence; last < through.sequence; ) {
    const rows = await store.readAudit(after.chain, last, Math.min(PAGE, through.sequence - last));
    let lines = '';
    for (const { sequence, at, link, sealed } of rows) {
      if (sequence !== last + 1) break;
      lines += `${JSON.stringify([sequence, at, base64(link), base64(sealed)])}\n`;
      last = sequence;
    }
    if (lines === '') throw new BrokenAudit({ chain: after.chain, sequence: last + 1 }, 'is missing');
    yield lines;
  }
}

const PAGE = 100;

function headerLine(keyring: Pick<Keyring, 'anchorMac'>, vault_id: string, { after, through }: ArchivedRange): string {
  const place = ({ sequence, link }: AuditHead) => [sequence, base64(link)];
  const header = { archive: FORMAT, vault_id, chain: after.chain, after: place(after), through: place(through) };
  return `${JSON.stringify({ ...header, mac: base64(keyring.anchorMac(JSON.stringify(header))) })}\n`;
}

/**
 * Checks every row of an archive with the keys of the vault. Throws `BrokenAudit` at the first wrong row, and the fault
 * `damaged` for a file that is not an archive of this vault.
 */
export async function verifyArchive(parts: ArchiveParts, file: ArchiveFile): Promise<VerifiedArchive> {
  const digest = createHash('sha256');
  let range: ArchivedRange | undefined;
  let head: AuditHead | undefined;
  let entries = 0;
  const pace = createPace();
  for await (const line of file.lines()) {
    await pace();
    digest.update(line);
    if (range === undefined || head === undefined) {
      range = readHeader(parts, file.place, line);
      head = range.after;
      continue;
    }
    const place = { chain: head.chain, sequence: head.sequence + 1 };
    const row = readRow(head.chain, line);
    if (row?.sequence !== place.sequence) throw new BrokenAudit(place, 'is missing');
    if (row.sequence > range.through.sequence) throw new BrokenAudit(place, 'follows the last row of the archive');
    if (!same(parts.keyring.auditLink(head.link, row), row.link)) throw new BrokenAudit(row, 'was altered or moved');
    entries += openRow(parts.keyring, row).length;
    head = row;
  }
  if (range === undefined || head === undefined) throw notArchive(file.place);
  const { after, through } = range;
  if (head.sequence < through.sequence) {
    throw new BrokenAudit({ chain: head.chain, sequence: head.sequence + 1 }, 'is missing');
  }
  if (!same(head.link, through.link)) throw new BrokenAudit(through, 'was altered or moved');
  return { place: file.place, after, through, entries, digest: digest.digest('hex') };
}

/**
 * Verifies the archives of all pruned rows of the root. Resolves to a function that reads their rows as
 * `AuditStore.readAudit` does, and quickly in order; to undefined if nothing was pruned. Rejects with the fault
 * `damaged` for an altered archive, and for one that is missing or that is not of these rows.
 */
export async function readArchives(parts: Pick<KeyHolder, 'store' | 'keyring'>, files: readonly ArchiveFile[]) {
  const { vault_id } = await parts.store.header();
  const verified: (VerifiedArchive & { readonly file: ArchiveFile })[] = [];
  for (const file of files) {
    const archive = await verifyArchive({ ...parts, vault_id }, file).catch((error: unknown) => {
      if (!(error instanceof BrokenAudit)) throw error;
      throw new Fault('damaged', `${file.place}: row ${error.sequence} ${error.what}`, { cause: error });
    });
    verified.push({ ...archive, file });
  }
  verified.sort((a, b) => a.after.sequence - b.after.sequence);
  const { head } = await findBeginning(parts);
  if (head.sequence === 0) return undefined;
  let end = START;
  for (const { after, through, place } of verified) {
    if (!isSamePlace(after, end)) {
      const gap = `${place} begins at row ${after.sequence + 1}, and no archive ends before it with row ${after.sequence}`;
      throw new Fault('damaged', after.sequence > end.sequence ? gap : `${place} does not continue the other archives`);
    }
    end = through;
  }
  if (!isSamePlace(end, head)) {
    throw new Fault(
      'damaged',
      `the archives end at row ${end.sequence}, and the audit begins after row ${head.sequence}`,
    );
  }
  return readInOrder(verified.map(({ file }) => file));
}

/** Returns whether two places are the same row. */
export function isSamePlace(a: AuditHead, b: AuditHead): boolean {
  return a.chain === b.chain && a.sequence === b.sequence && same(a.link, b.link);
}

/** Returns a function that reads rows. It reads the files again when `after` goes back. */
function readInOrder(files: readonly ArchiveFile[]) {
  let rows = rowsOf(files);
  let last = 0;
  return async (after: number, limit: number): Promise<readonly AuditEntry[]> => {
    if (after < last) {
      rows = rowsOf(files);
      last = 0;
    }
    const found: AuditEntry[] = [];
    while (found.length < limit) {
      const { value, done } = await rows.next();
      if (done) break;
      last = value.sequence;
      if (value.sequence > after) found.push(value);
    }
    return found;
  };
}

async function* rowsOf(files: readonly ArchiveFile[]): AsyncGenerator<AuditEntry> {
  for (const file of files) {
    for await (const line of file.lines()) {
      const row = readRow(ROOT_CHAIN, line);
      if (row !== undefined) yield row;
    }
  }
}

function readHeader({ keyring, vault_id }: ArchiveParts, place: string, line: string): ArchivedRange {
  const header = parsed(line);
  if (typeof header !== 'object' || header === null || !('archive' in header) || header.archive !== FORMAT) {
    throw notArchive(place);
  }
  const { vault_id: id, chain, after, through } = header as Record<string, unknown>;
  if (typeof id === 'string' && id !== vault_id) throw new Fault('damaged', `${place} is an archive of another vault`);
  const range = { after: readPlace(chain, after), through: readPlace(chain, through) };
  if (headerLine(keyring, vault_id, range) === line) return range;
  throw new Fault('damaged', `${place} has an altered first line`);
}

function notArchive(place: string): Fault {
  return new Fault('damaged', `${place} is not an audit archive`, {
    hint: 'name a file that `vault audit prune` wrote',
  });
}

function readPlace(chain: unknown, place: unknown): AuditHead {
  const [sequence, link] = Array.isArray(place) ? place : [];
  return { chain: String(chain), sequence: Number(sequence), link: Buffer.from(String(link), 'base64') };
}

function readRow(chain: string, line: string): AuditEntry | undefined {
  const row = parsed(line);
  if (!Array.isArray(row)) return undefined;
  const [sequence, at, link, sealed] = row;
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(at)) return undefined;
  return {
    chain,
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

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
