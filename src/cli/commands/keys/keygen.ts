import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, flagValue, OUTPUT_FLAGS, typedFlags } from '../../global-flags.ts';
import { createPrinter } from '../../output/print-result.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { writeWholeFile } from '../../whole-file.ts';

const KEYGEN_FLAGS = {
  out: { flag: '--out <path>', env: 'VAULT_OUT', help: 'a new file (0600) for the secret key' },
} as const;

/** `vault keygen --out K`: a key pair to seal exports for. The public key is the result. */
export function defineKeygen(command: Command, finish: Finish): void {
  addFlags(command, { ...KEYGEN_FLAGS, ...OUTPUT_FLAGS });
  command.addHelpText(
    'after',
    '\nWhoever exports gives the public key to --recipient; whoever has the file opens it with `vault import --identity`.',
  );
  command.action(async () => {
    const flags = typedFlags<{ readonly out?: string }>(command);
    const printer = createPrinter(flags, process.env, RESULT_VIEWS.keygen);
    const out = filePath('--out', flagValue(flags.out, process.env, KEYGEN_FLAGS.out));
    if (out === undefined) throw new Fault('usage', '--out (VAULT_OUT) must be given');
    const { createTransferKey } = await import('../../../vault/transfer.ts');
    const { secret, recipient } = await createTransferKey();
    await writeWholeFile('--out', out, `${secret}\n`);
    await printer.print(stringifyJson({ file: out, recipient }));
    finish(0);
  });
}
