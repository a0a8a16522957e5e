import type { AuditHead } from '../audit-ports.ts';
import { Fault } from '../fault.ts';
import type { ChangeMark } from '../maintenance-ports.ts';
import type { Keyring } from '../ports.ts';

const HEADING = 'token-vault anchor 1';

const RESTORED = 'after a restore that you meant, remove the anchor and a new one is made';

/** How far a vault has come. */
export interface Reached {
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
export function writeAnchor(keyring: Keyring, vaultId: string, { change, audit }: Reached): string {
  const marks = [change.counter, hex(change.mark), audit.sequence, hex(audit.link)];
  const lines = `${[HEADING, vaultId, ...marks].join('\n')}\n`;
  return `${lines}${hex(keyring.anchorMac(lines))}\n`;
}

/** What a vault must still have on its way. Throws the fault `damaged` for a text that is no anchor of this vault. */
export function readAnchor(keyring: Keyring, vaultId: string, text: string): Reached {
  const [, id = '', counter, mark = '', sequence, link = ''] = text.split('\n');
  const said: Reached = {
    change: { counter: Number(counter), mark: Buffer.from(mark, 'hex') },
    audit: { sequence: Number(sequence), link: Buffer.from(link, 'hex') },
  };
  if (writeAnchor(keyring, id, said) !== text) {
    throw new Fault('damaged', 'the anchor is damaged, or is another vault’s', {
      hint: 'if you know that the vault is right, remove the anchor and a new one is made',
    });
  }
  if (id !== vaultId) throw new Fault('damaged', 'the anchor is another vault’s', { hint: 'name another --anchor' });
  return said;
}

/**
 * Throws the fault `damaged` when the vault has not come as far as the anchor says, or by another way. Commits after
 * the anchor are fine: it is written now and then, and not by every process. `found` is where the vault stands, its audit
 * at the entry that the anchor names.
 */
export function checkAnchor(said: Reached, found: Reached): void {
  const behind = found.change.counter < said.change.counter;
  const apart = found.change.counter === said.change.counter && hex(found.change.mark) !== hex(said.change.mark);
  if (behind || apart) {
    throw new Fault('damaged', 'the vault is older than its anchor: it was put back to a copy, or its log was cut', {
      hint: RESTORED,
    });
  }
  if (found.audit.sequence !== said.audit.sequence || hex(found.audit.link) !== hex(said.audit.link)) {
    throw new Fault('damaged', 'the audit is not the one that the anchor tells of: it was cut, or written anew', {
      hint: RESTORED,
    });
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
