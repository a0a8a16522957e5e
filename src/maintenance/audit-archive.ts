import { createHash } from 'node:crypto';
import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { notedPlaces } from '../core/audit/chain-events.ts';
import { findBeginning } from '../core/audit/checkpoint.ts';
import type { AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit, openRow, type PlacedEvent, START, UNOPENED } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { ArchiveFile } from '../core/maintenance-ports.ts';
import { nextTurn } from '../core/own-turn.ts';
import type { Keyring } from '../core/ports.ts';
import type { KeyHolder } from './key-holder.ts';
import type { ArchivedRows } from './read-ledger.ts';

const FORMAT = 'token-vault audit archive 1';

/** A section of an archive: the rows of a chain that follow `after`, up to `through`. */
export interface ArchivedRange {
  readonly after: AuditHead;
  readonly through: AuditHead;
}

/** A section of a file. */
interface PlacedSection extends ArchivedRange {
  /** The position of its first row in the file, in bytes. */
  readonly start: number;
}

/** A verified archive. */
export interface VerifiedArchive extends ArchivedRange {
  readonly place: string;
  readonly entries: number;
  /** The SHA-256 of the file, in hex. */
  readonly digest: string;
  /** Begins with the section of the root. */
  readonly sections: readonly PlacedSection[];
}

type ArchiveParts = Pick<KeyHolder, 'keyring'> & { readonly vault_id: string };

/**
 * Yields the text of an archive in pieces. Each section is a header, then the stored rows of a chain in order. The
 * first section has rows of the root. Each chain that these rows open follows as a section, in the order of the rows.
 *
 *     {"archive":"token-vault audit archive 1","vault_id":"…","chain":"0","after":[SEQUENCE,LINK],"through":[…],"mac":"…"}
 *     [SEQUENCE,AT,LINK,SEALED]
 *
 * Links, MACs and sealed entries are base64. The MAC is over the other members of the header, so that no row can be
 * removed from either end. The rows of the root name both ends of each other section, so that no section can be removed
 * or replaced.
 */
export async function* archiveLines(
  { store, keyring, vault_id }: ArchiveParts & Pick<KeyHolder, 'store'>,
  sections: readonly ArchivedRange[],
): AsyncGenerator<string> {
  for (const section of sections) {
    const { after, through } = section;
    yield headerLine(keyring, vault_id, section);
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
  const sections: PlacedSection[] = [];
  const check = createSectionCheck();
  let head = START;
  let [entries, start] = [0, 0];

  function lastSection(): PlacedSection {
    const section = sections.at(-1);
    if (section === undefined) throw notArchive(file.place);
    return section;
  }

  function checkEnd({ through }: PlacedSection): void {
    if (head.sequence < through.sequence) {
      throw new BrokenAudit({ chain: head.chain, sequence: head.sequence + 1 }, 'is missing');
    }
    if (!same(head.link, through.link)) throw new BrokenAudit(through, 'was altered or moved');
  }

  for await (const line of file.lines()) {
    await nextTurn();
    digest.update(line);
    start += Buffer.byteLength(line);
    const range = readHeader(parts, file.place, line);
    if (range !== undefined) {
      if (sections.length > 0) {
        checkEnd(lastSection());
        check.expect(sections.length, range);
      } else if (range.after.chain !== ROOT_CHAIN) throw notArchive(file.place);
      sections.push({ ...range, start });
      head = range.after;
      continue;
    }
    const { through } = lastSection();
    const place = { chain: head.chain, sequence: head.sequence + 1 };
    const row = readRow(head.chain, line);
    if (row?.sequence !== place.sequence) throw new BrokenAudit(place, 'is missing');
    if (row.sequence > through.sequence) throw new BrokenAudit(place, 'follows the last row of the archive');
    if (!same(parts.keyring.auditLink(head.link, row), row.link)) throw new BrokenAudit(row, 'was altered or moved');
    const placed = openRow(parts.keyring, row);
    if (sections.length === 1) for (const one of placed) check.follow(one);
    entries += placed.length;
    head = row;
  }
  checkEnd(lastSection());
  check.expect(sections.length);
  const { after, through } = sections[0] ?? lastSection();
  return { place: file.place, after, through, entries, digest: digest.digest('hex'), sections };
}

/** Returns a check that compares the sections after the first with the chains that the root opens and closes. */
function createSectionCheck() {
  const opened: AuditHead[] = [];
  const closed = new Map<string, AuditHead>();
  return {
    /** Notes the chain that an event of the root opens or closes. */
    follow({ event, link }: PlacedEvent): void {
      const [chain = ''] = event.entities;
      if (event.action === 'openChain') opened.push({ chain, sequence: 0, link });
      if (event.action === 'closeChain') for (const end of notedPlaces(event)) closed.set(end.chain, end);
    },

    /**
     * Throws `BrokenAudit` unless `section` is the whole `n`th chain that the root opens, from 1. Without a section,
     * throws if there is such a chain.
     */
    expect(n: number, section?: ArchivedRange): void {
      const begin = opened[n - 1];
      if (begin === undefined && section !== undefined)
        throw new BrokenAudit({ ...section.after, sequence: 0 }, UNOPENED);
      if (begin === undefined) return;
      const end = closed.get(begin.chain);
      const isWhole = section && end && isSamePlace(section.after, begin) && isSamePlace(section.through, end);
      if (!isWhole) throw new BrokenAudit(begin, 'is missing');
    },
  };
}

/**
 * Verifies the archives of all pruned rows. Resolves to their rows, oldest first; to undefined if nothing was pruned.
 * Rejects with the fault `damaged` for an altered or missing archive, and for one of other rows.
 */
export async function readArchives(
  parts: Pick<KeyHolder, 'store' | 'keyring'>,
  files: readonly ArchiveFile[],
): Promise<readonly ArchivedRows[] | undefined> {
  const { vault_id } = await parts.store.header();
  const verified: (VerifiedArchive & { readonly file: ArchiveFile })[] = [];
  for (const file of files) {
    const archive = await verifyArchive({ ...parts, vault_id }, file).catch((error: unknown) => {
      if (!(error instanceof BrokenAudit)) throw error;
      throw new Fault('damaged', `${file.place}: ${error.message}`, { cause: error });
    });
    verified.push({ ...archive, file });
  }
  verified.sort((a, b) => a.after.sequence - b.after.sequence);
  const { heads } = await findBeginning(parts);
  const [head] = heads;
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
  return verified.map(({ file, after, through, sections }) => ({ after, through, ...readsOf(file, sections) }));
}

/** Returns whether two places are the same row. */
export function isSamePlace(a: AuditHead, b: AuditHead): boolean {
  return a.chain === b.chain && a.sequence === b.sequence && same(a.link, b.link);
}

/** An open read of the rows of a section, in order. */
interface Pass {
  /** The last row that was read. */
  last: AuditHead;
  readonly rows: AsyncGenerator<AuditEntry>;
}

/**
 * Returns the reads of an archive. Reads in order are quick, because each continues the nearest pass over the file. A
 * walk needs two passes over a section: it also reads, in order, the places that the root records.
 */
function readsOf(
  file: ArchiveFile,
  sections: readonly PlacedSection[],
): Pick<ArchivedRows, 'readAudit' | 'auditHeads'> {
  const bySection = new Map(sections.map((section) => [section.after.chain, section]));
  const passes = new Set<Pass>();
  return {
    auditHeads: async () => sections.map(({ through }) => ({ ...through, at: 0 })),

    async readAudit(chain, after, limit) {
      const section = bySection.get(chain);
      if (section === undefined) return [];
      const started = [...passes].filter(({ last }) => last.chain === chain && last.sequence <= after);
      const [nearest] = started.sort((a, b) => b.last.sequence - a.last.sequence);
      const pass = nearest ?? { last: section.after, rows: rowsOf(file, section) };
      passes.add(pass);
      const found: AuditEntry[] = [];
      while (found.length < limit && passes.has(pass)) {
        const { value, done } = await pass.rows.next();
        if (done) return found;
        pass.last = value;
        if (value.sequence > after) found.push(value);
        if (value.sequence === section.through.sequence) passes.delete(pass);
      }
      if (!passes.has(pass)) await pass.rows.return(undefined);
      return found;
    },
  };
}

async function* rowsOf(file: ArchiveFile, { start, through }: PlacedSection): AsyncGenerator<AuditEntry> {
  for await (const line of file.lines(start)) {
    const row = readRow(through.chain, line);
    if (row === undefined) return;
    yield row;
  }
}

/** Returns the range of a header; undefined for another line. Throws the fault `damaged` for an altered header. */
function readHeader({ keyring, vault_id }: ArchiveParts, place: string, line: string): ArchivedRange | undefined {
  const header = line.startsWith('{') ? parsed(line) : undefined;
  if (typeof header !== 'object' || header === null || !('archive' in header) || header.archive !== FORMAT) {
    return undefined;
  }
  const { vault_id: id, chain, after, through } = header as Record<string, unknown>;
  if (typeof id === 'string' && id !== vault_id) throw new Fault('damaged', `${place} is an archive of another vault`);
  const range = { after: readPlace(chain, after), through: readPlace(chain, through) };
  if (headerLine(keyring, vault_id, range) === line) return range;
  throw new Fault('damaged', `${place} has an altered header`);
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
