import { Fault } from '../../../core/fault.ts';
import { flag } from '../../global-flags.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { writeWholeFile } from '../../whole-file.ts';
import { printing } from '../printing.ts';

const KEYGEN_FLAGS = { out: flag('--out <path>', 'a new file (0600) for the secret key') };

/** `vault keygen --out K`: creates a key pair for sealed exports. The result is the public key. */
export const defineKeygen = printing({
  flags: KEYGEN_FLAGS,
  view: RESULT_VIEWS.keygen,
  help: `
\`vault export --recipient\` takes the public key. \`vault import --identity\` takes the file with the secret key.`,
  examples: ['vault keygen --out secret', 'recipient=$(vault keygen --out secret --field recipient)'],
  async work({ read }) {
    const file = filePath('--out', read(KEYGEN_FLAGS).out);
    if (file === undefined) throw new Fault('usage', '--out (VAULT_OUT) must be given');
    const { createTransferKey } = await import('../../../vault/transfer.ts');
    const { secret, recipient } = await createTransferKey();
    await writeWholeFile('--out', file, `${secret}\n`);
    return { file, recipient };
  },
});
