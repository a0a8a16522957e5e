import { Fault } from '../fault.ts';
import type { ChangeMark } from '../maintenance-ports.ts';
import type { Keyring } from '../ports.ts';

const HEADING = 'token-vault anchor 1';

/**
 * A note outside the vault of how far the vault had come: one commit's number and mark, under a MAC. Whoever can put the
 * vault's file back to an older copy, or cut its log, but cannot reach the note, is found out at the next open.
 *
 *     token-vault anchor 1
 *     <vault id>
 *     <counter>
 *     <mark, hex>
 *     <MAC over the lines above, hex>
 */
export function writeAnchor(keyring: Keyring, vaultId: string, { counter, mark }: ChangeMark): string {
  const lines = `${HEADING}\n${vaultId}\n${counter}\n${hex(mark)}\n`;
  return `${lines}${hex(keyring.anchorMac(lines))}\n`;
}

/**
 * Throws the fault `damaged` when the vault has not come as far as the anchor says, or by another way. Commits after
 * the anchor are fine: it is written now and then, and not by every process.
 */
export function checkAnchor(keyring: Keyring, vaultId: string, found: ChangeMark, text: string): void {
  const [heading, id, counter = '', mark, mac, end] = text.split('\n');
  const own = writeAnchor(keyring, id ?? '', { counter: Number(counter), mark: Buffer.from(mark ?? '', 'hex') });
  if (heading !== HEADING || end !== '' || mac === undefined || own !== text) {
    throw new Fault('damaged', 'the anchor is damaged, or is another vault’s', {
      hint: 'if you know that the vault is right, remove the anchor and a new one is made',
    });
  }
  if (id !== vaultId) throw new Fault('damaged', 'the anchor is another vault’s', { hint: 'name another --anchor' });
  const behind = found.counter < Number(counter);
  if (behind || (found.counter === Number(counter) && hex(found.mark) !== mark)) {
    throw new Fault('damaged', 'the vault is older than its anchor: it was put back to a copy, or its log was cut', {
      hint: 'after a restore that you meant, remove the anchor and a new one is made',
    });
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
