import type { AuditHead } from '../core/audit/ports.ts';
import { START } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { AnchorNote, ChangeMark } from '../core/maintenance-ports.ts';
import type { Keyring } from '../core/ports.ts';
import type { KeyHolder } from './key-holder.ts';

const HEADING = 'token-vault anchor 1';

const RESTORED = 'after a restore that you meant, remove the anchor and a new one is made';

/** How far a vault has come. */
interface Reached {
  readonly change: ChangeMark;
  readonly audit: AuditHead;
}

/**
 * A note outside the vault of how far the vault had come: one commit's number and mark, and where the audit's chain stood,
 * under a MAC. Whoever can put the vault's file back to an older copy, or cut its log, but cannot reach the note, is found
 * out at the next open.
 *
 *     token-vault anchor 1
 *     <vault id>
 *     <counter>
 *     <mark, hex>
 *     <sequence of the audit's last entry>
 *     <its link, hex>
 *     <MAC over the lines above, hex>
 */
function writeAnchor(keyring: Keyring, vaultId: string, { change, audit }: Reached): string {
  const marks = [change.counter, hex(change.mark), audit.sequence, hex(audit.link)];
  const lines = `${[HEADING, vaultId, ...marks].join('\n')}\n`;
  return `${lines}${hex(keyring.anchorMac(lines))}\n`;
}

/**
 * The entries that a vault must still have on its way. Throws the fault `damaged` for a text that is not an anchor of
 * this vault.
 */
function readAnchor(keyring: Keyring, vaultId: string, text: string): Reached {
  const [, id = '', counter, mark = '', sequence, link = ''] = text.split('\n');
  const said: Reached = {
    change: { counter: Number(counter), mark: Buffer.from(mark, 'hex') },
    audit: { sequence: Number(sequence), link: Buffer.from(link, 'hex') },
  };
  if (writeAnchor(keyring, id, said) !== text) {
    throw new Fault('damaged', 'the anchor is damaged, or belongs to another vault', {
      hint: 'if the vault is right, remove the anchor: the next command makes a new one',
    });
  }
  if (id !== vaultId)
    throw new Fault('damaged', 'the anchor belongs to another vault', { hint: 'name another --anchor' });
  return said;
}

/**
 * Throws the fault `damaged` when the vault has not come as far as the anchor says, or by another way. Commits after
 * the anchor are fine: it is written now and then, and not by every process. `found` is where the vault stands, its audit
 * at the entry that the anchor names.
 */
function checkAnchor(said: Reached, found: Reached): void {
  const behind = found.change.counter < said.change.counter;
  const apart = found.change.counter === said.change.counter && hex(found.change.mark) !== hex(said.change.mark);
  if (behind || apart) {
    throw new Fault('damaged', 'the vault is older than its anchor: it was put back to a copy, or its log was cut', {
      hint: RESTORED,
    });
  }
  if (found.audit.sequence !== said.audit.sequence || hex(found.audit.link) !== hex(said.audit.link)) {
    throw new Fault('damaged', 'the audit does not match the anchor: it was cut, or rewritten', {
      hint: RESTORED,
    });
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** How often the anchor follows the commits, in milliseconds: so much can be cut unnoticed after a crash. */
const EVERY_MS = 1000;

type AnchorParts = Pick<KeyHolder, 'store' | 'keyring'>;

/** Throws `damaged` when the vault is behind its anchor. Resolves to the anchor, if there is one. */
async function compareIfPresent({ store, keyring }: AnchorParts, note: AnchorNote): Promise<string | undefined> {
  const text = await note.read();
  const { vault_id } = await store.header();
  if (text === undefined) return undefined;
  const said = readAnchor(keyring, vault_id, text);
  const { sequence } = said.audit;
  const [entry] = sequence === 0 ? [] : await store.readAudit(sequence - 1, 1);
  checkAnchor(said, { change: await store.lastChange(), audit: entry ?? START });
  return text;
}

/** The same, and throws `damaged` when there is no anchor: without one, an older copy passes for the vault. */
export async function compareWithAnchor(parts: AnchorParts, note: AnchorNote): Promise<void> {
  if ((await compareIfPresent(parts, note)) !== undefined) return;
  throw new Fault('damaged', `there is no anchor at ${note.place}: an older copy of the vault cannot be detected`, {
    hint: 'the first command that opens the vault with --anchor makes one',
  });
}

/**
 * Compares the vault with its anchor, then writes the anchor every second and, with `close`, at the end. What it says is
 * on disk in the vault before it is read here, so a crash never leaves the anchor ahead of the vault.
 */
export async function keepAnchor(parts: AnchorParts, note: AnchorNote): Promise<{ close(): Promise<void> }> {
  const { store, keyring } = parts;
  // An anchor that is right is left alone: on a full disk, reads go on.
  let written = await compareIfPresent(parts, note);
  const { vault_id } = await store.header();

  async function follow(): Promise<void> {
    // Reads the audit first and the change second: the anchor never claims more than there is.
    const audit = await store.auditHead();
    const text = writeAnchor(keyring, vault_id, { audit, change: await store.lastChange() });
    if (text === written) return;
    await note.write(text);
    written = text;
  }

  await follow();
  let following: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // An anchor that cannot be written for a while is only older: the next turn tries again.
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
