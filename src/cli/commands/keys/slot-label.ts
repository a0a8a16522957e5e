import { Fault } from '../../../core/fault.ts';
import { flag } from '../../global-flags.ts';

export const LABEL_FLAGS = {
  label: flag('--label <text>', 'the label of the key slot; it is not secret', 'VAULT_SLOT_LABEL'),
};

const LABEL = /^(?! )[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,40}(?<! )$/u;

/** Returns the label of a slot in its composed form (NFC); undefined without one. Throws the fault `usage`. */
export function checkLabel(text: string | undefined): string | undefined {
  const label = text?.normalize('NFC');
  if (label === undefined || LABEL.test(label)) return label;
  throw new Fault(
    'usage',
    '--label (VAULT_SLOT_LABEL) must be 1 to 40 printable characters, without blanks at the ends',
  );
}
