import { START } from '../core/audit/audit-link.ts';
import { findCheckpoint } from '../core/audit/checkpoint.ts';
import type { AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { AnchorNote, ChangeMark } from '../core/maintenance-ports.ts';
import type { Keyring } from '../core/ports.ts';
import { clearInterval, setInterval } from '../core/timers.ts';
import type { KeyHolder } from './key-holder.ts';

const HEADING = 'token-vault anchor 1';

const RESTORED = { hint: 'after an intended restore, remove the anchor; the next command writes a new one' };

/** The commit and audit entry that a vault has reached. */
interface Reached {
  readonly change: ChangeMark;
  readonly audit: AuditHead;
}

/**
 * Returns the text of the anchor, a file outside the vault that holds the last commit and the end of the audit, under a
 * MAC. The next open detects an older copy of the vault, or a cut log, unless the attacker can also replace the anchor.
 *
 *     token-vault anchor 1
 *     <vault id>
 *     <counter of the last commit>
 *     <its mark, hex>
 *     <sequence of the audit's last row>
 *     <its link, hex>
 *     <MAC over the lines above, hex>
 */
function writeAnchor(keyring: Keyring, vaultId: string, { change, audit }: Reached): string {
  const marks = [change.counter, hex(change.mark), audit.sequence, hex(audit.link)];
  const lines = `${[HEADING, vaultId, ...marks].join('\n')}\n`;
  return `${lines}${hex(keyring.anchorMac(lines))}\n`;
}

/**
 * Returns the commit and the audit entry that an anchor names. Throws the fault `damaged` for a text that is not an
 * anchor of this vault.
 */
function readAnchor(keyring: Keyring, vaultId: string, text: string): Reached {
  const [, id = '', counter, mark = '', sequence, link = ''] = text.split('\n');
  const anchored: Reached = {
    change: { counter: Number(counter), mark: Buffer.from(mark, 'hex') },
    audit: { sequence: Number(sequence), link: Buffer.from(link, 'hex') },
  };
  if (writeAnchor(keyring, id, anchored) !== text) {
    throw new Fault('damaged', 'the anchor is damaged, or belongs to another vault', {
      hint: 'if this is the right vault and its latest copy, remove the anchor; the next command writes a new one',
    });
  }
  if (id !== vaultId)
    throw new Fault('damaged', 'the anchor belongs to another vault', { hint: 'name another --anchor' });
  return anchored;
}

/**
 * Throws the fault `damaged` when the vault is behind its anchor, or has another history. A vault that is ahead is
 * fine: the anchor is written from time to time, and not by every process. `found` is the vault's last commit, and the
 * row that the anchor names.
 */
function checkAnchor(anchored: Reached, found: Reached): void {
  const behind = found.change.counter < anchored.change.counter;
  const apart =
    found.change.counter === anchored.change.counter && hex(found.change.mark) !== hex(anchored.change.mark);
  if (behind || apart) {
    throw new Fault(
      'damaged',
      'the vault is older than its anchor: an older copy replaced it, or its log was cut',
      RESTORED,
    );
  }
  if (found.audit.sequence !== anchored.audit.sequence || hex(found.audit.link) !== hex(anchored.audit.link)) {
    throw new Fault('damaged', 'the audit does not match the anchor: it was cut, or rewritten', RESTORED);
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/**
 * The interval of writing the anchor, in milliseconds. After a crash, the commits of this time can be cut off
 * unnoticed.
 */
const EVERY_MS = 1000;

type AnchorParts = Pick<KeyHolder, 'store' | 'keyring'>;

/**
 * Resolves to the text of the anchor, or to undefined without one. Throws `damaged` when the vault is behind its
 * anchor.
 */
async function compareIfPresent(parts: AnchorParts, note: AnchorNote): Promise<string | undefined> {
  const { store, keyring } = parts;
  const text = await note.read();
  const { vault_id } = await store.header();
  if (text === undefined) return undefined;
  const anchored = readAnchor(keyring, vault_id, text);
  checkAnchor(anchored, { change: await store.lastChange(), audit: await rowAt(parts, anchored.audit) });
  return text;
}

/** Resolves to the row at a place that the anchor names, or to `START`. Trusts the anchor for a pruned row. */
async function rowAt(parts: AnchorParts, place: AuditHead): Promise<AuditHead> {
  const [row] = await parts.store.readAudit(place.sequence - 1, 1);
  if (row?.sequence === place.sequence) return row;
  // An audit whose end was cut off has no checkpoint that covers the row.
  const checkpoint = await findCheckpoint(parts).catch((error: unknown) => {
    if (!(error instanceof BrokenAudit)) throw error;
    return undefined;
  });
  return checkpoint !== undefined && checkpoint.through.sequence >= place.sequence ? place : START;
}

/**
 * Throws `damaged` when the vault is behind its anchor or has none: without an anchor, an older copy would look valid.
 */
export async function compareWithAnchor(parts: AnchorParts, note: AnchorNote): Promise<void> {
  if ((await compareIfPresent(parts, note)) !== undefined) return;
  throw new Fault('damaged', `there is no anchor at ${note.place}: an older copy of the vault cannot be detected`, {
    hint: 'open the vault once with --anchor to create it',
  });
}

/**
 * Compares the vault with its anchor, then writes the anchor every second and on `close`. Reads only what is already on
 * disk, so a crash never leaves the anchor ahead of the vault.
 */
export async function keepAnchor(parts: AnchorParts, note: AnchorNote): Promise<{ close(): Promise<void> }> {
  const { store, keyring } = parts;
  // Only a changed anchor is written, so reads continue on a full disk.
  let written = await compareIfPresent(parts, note);
  const { vault_id } = await store.header();

  async function follow(): Promise<void> {
    // Read the audit before the commit, so that the anchor never names an entry that is newer than its commit.
    const audit = await store.auditHead();
    const change = await store.lastChange();
    const text = writeAnchor(keyring, vault_id, { audit, change });
    if (text === written) return;
    // A failover may have replaced the database by one that lacks commits. Keep the anchor, which shows that.
    await compareIfPresent(parts, note);
    await note.write(text);
    written = text;
  }

  await follow();
  let following: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // If the anchor cannot be written, the older one remains valid. The next turn tries again.
    following = following.then(follow).catch(() => undefined);
  }, EVERY_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await following;
      await follow();
    },
  };
}
