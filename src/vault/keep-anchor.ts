import type { AuditHead } from '../core/audit/ports.ts';
import { readBase } from '../core/audit/sums.ts';
import { BrokenAudit } from '../core/audit/walk-audit.ts';
import { isSameBytes } from '../core/bytes.ts';
import { Fault } from '../core/fault.ts';
import { Problem } from '../core/problem.ts';
import { clearInterval, MachineDate, setInterval, wallTime } from '../core/timers.ts';
import { readAnchorFile, writeAnchorFile } from './anchor-file.ts';
import type { KeyHolder } from './key-holder.ts';

type AnchorParts = Pick<KeyHolder, 'store' | 'keyring'>;

const HEADING = 'token-vault anchor 1';

const RESTORED = { hint: 'after an intended restore, remove the anchor; the next command writes a new one' };

/**
 * Returns the text of the anchor, a file outside the vault that holds the end of the audit, under a MAC. The next open
 * detects an older copy of the vault, or a cut log, unless the attacker can also replace the anchor.
 *
 *     token-vault anchor 1
 *     <vault id>
 *     <sequence of the audit's last row>
 *     <its link, hex>
 *     <MAC over the lines above, hex>
 */
function writeAnchor(keyring: AnchorParts['keyring'], vaultId: string, { sequence, link }: AuditHead): string {
  const lines = `${[HEADING, vaultId, sequence, hex(link)].join('\n')}\n`;
  return `${lines}${hex(keyring.anchorMac(lines))}\n`;
}

/** Returns the row that an anchor names. Throws the fault `damaged` for a text that is not an anchor of this vault. */
function readAnchor(keyring: AnchorParts['keyring'], vaultId: string, text: string): AuditHead {
  const [, id = '', sequence, link = ''] = text.split('\n');
  const anchored: AuditHead = { sequence: Number(sequence), link: Buffer.from(link, 'hex') };
  if (writeAnchor(keyring, id, anchored) !== text) {
    throw new Fault('damaged', 'the anchor is damaged, or belongs to another vault', {
      hint: 'if this is the right vault and its latest copy, remove the anchor; the next command writes a new one',
    });
  }
  if (id !== vaultId)
    throw new Fault('damaged', 'the anchor belongs to another vault', { hint: 'name another --anchor' });
  return anchored;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/**
 * The interval of writing the anchor, in milliseconds. After a crash, the commits of this time can be cut off
 * unnoticed.
 */
const EVERY_MS = 1000;

/**
 * Resolves to the text of the anchor, or to undefined without one. Throws `damaged` when the vault is behind its
 * anchor.
 */
async function compareIfPresent(parts: AnchorParts, path: string): Promise<string | undefined> {
  const { store, keyring } = parts;
  const text = readAnchorFile(path);
  const { vault_id } = await store.header();
  if (text === undefined) return undefined;
  await compare(parts, readAnchor(keyring, vault_id, text));
  return text;
}

/**
 * Throws the fault `damaged` when the audit lacks the row that the anchor names. An audit that is longer is fine: the
 * anchor is written from time to time, and not by every process. Trusts the anchor for a pruned row.
 */
async function compare(parts: AnchorParts, anchored: AuditHead): Promise<void> {
  const { store } = parts;
  const [row] = await store.readAudit(anchored.sequence - 1, 1);
  if (row?.sequence === anchored.sequence && isSameBytes(row.link, anchored.link)) return;
  const isPruned = row !== undefined && row.sequence > anchored.sequence && (await isBase(parts, anchored));
  if (isPruned) return;
  if ((await store.auditHead()).sequence < anchored.sequence) {
    const what = 'the vault is older than its anchor: an older copy replaced it, or its log was cut';
    throw new Fault('damaged', what, RESTORED);
  }
  throw new Fault('damaged', 'the audit does not match the anchor: it was cut, or rewritten', RESTORED);
}

/** Resolves to whether the log begins with a base behind a row. */
async function isBase(parts: AnchorParts, { sequence }: AuditHead): Promise<boolean> {
  try {
    return (await readBase(parts)).sequence > sequence;
  } catch (error) {
    if (error instanceof BrokenAudit) return false;
    throw error;
  }
}

/**
 * Throws `damaged` when the vault is behind its anchor or has none: without an anchor, an older copy would look valid.
 */
export async function compareWithAnchor(parts: AnchorParts, path: string): Promise<void> {
  if ((await compareIfPresent(parts, path)) !== undefined) return;
  throw new Fault('damaged', `there is no anchor at ${path}: an older copy of the vault cannot be detected`, {
    hint: 'open the vault once with --anchor to create it',
  });
}

/** An anchor that follows a vault. */
export interface KeptAnchor {
  /** Returns a sentence while the anchor cannot be written, or the vault does not match it. */
  notices(): readonly string[];
  close(): Promise<void>;
}

/** Returns the sentence about an anchor that is not written since a time. Names no path: `/readyz` needs no key. */
function noticeOf(error: unknown, since: number): string {
  const named = error instanceof Fault || error instanceof Problem ? error : undefined;
  if (named instanceof Fault && named.code === 'damaged') {
    return `${named.message}: run \`vault doctor\` with --anchor, and stop the daemons until you know the reason`;
  }
  const reason = named?.code ?? 'internal_error';
  return `the anchor is not written since ${new MachineDate(since).toISOString()} (${reason}): a loss of later changes would stay unnoticed`;
}

/**
 * Compares the vault with its anchor, then writes the anchor every second and on `close`. Reads only what is already on
 * disk, so a crash never leaves the anchor ahead of the vault.
 */
export async function keepAnchor(parts: AnchorParts, path: string): Promise<KeptAnchor> {
  const { store, keyring } = parts;
  // Only a changed anchor is written, so reads continue on a full disk.
  let written = await compareIfPresent(parts, path);
  const { vault_id } = await store.header();

  async function follow(): Promise<void> {
    const text = writeAnchor(keyring, vault_id, await store.auditHead());
    if (text === written) return;
    // A failover may have replaced the database by one that lacks commits. Keep the anchor, which shows that.
    await compareIfPresent(parts, path);
    await writeAnchorFile(path, text);
    written = text;
  }

  await follow();
  let following: Promise<void> = Promise.resolve();
  let failing: { readonly since: number; readonly error: unknown } | undefined;
  const timer = setInterval(() => {
    following = following.then(follow).then(
      () => {
        failing = undefined;
      },
      // The older anchor remains valid. The next round tries again.
      (error: unknown) => {
        failing = { since: failing?.since ?? wallTime(), error };
      },
    );
  }, EVERY_MS);
  timer.unref();
  return {
    notices: () => (failing === undefined ? [] : [noticeOf(failing.error, failing.since)]),
    async close() {
      clearInterval(timer);
      await following;
      await follow();
    },
  };
}
