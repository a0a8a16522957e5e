import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import type { Finish } from '../../exit-codes.ts';
import { flag } from '../../global-flags.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { writeWholeFile } from '../../whole-file.ts';
import { definePrinting } from '../define-printing.ts';

const KEYGEN_FLAGS = { out: flag('--out <path>', 'a new file (0600) for the secret key') };

/** `vault keygen --out K`: creates a key pair for sealed exports. The result is the public key. */
export function defineKeygen(command: Command, finish: Finish): void {
  definePrinting(command, finish, RESULT_VIEWS.keygen, KEYGEN_FLAGS, async ({ read }) => {
    const file = filePath('--out', read(KEYGEN_FLAGS).out);
    if (file === undefined) throw new Fault('usage', '--out (VAULT_OUT) must be given');
    const { createTransferKey } = await import('../../../vault/transfer.ts');
    const { secret, recipient } = await createTransferKey();
    await writeWholeFile('--out', file, `${secret}\n`);
    return { file, recipient };
  });
  command.addHelpText(
    'after',
    '\n`vault export --recipient` takes the public key. `vault import --identity` takes the file with the secret key.',
  );
}
