import { filePath } from '../../files/output-path.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { flag, requireValue } from '../../flags/global-flags.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { printing } from '../printing.ts';

const KEYGEN_FLAGS = { out: flag('--out <path>', 'a new file (0600) for the secret key (identity)') };

/** `vault keygen --out K`: creates an X25519 key pair of age, as `age-keygen` does. The result is the public key. */
export const defineKeygen = printing({
  flags: KEYGEN_FLAGS,
  view: RESULT_VIEWS.keygen,
  help: `
Pass the public key to \`vault export --recipient\`, and the file with the secret key to \`vault import --identity\`.
The file has the format of \`age-keygen\`, so \`age\` accepts both keys.`,
  examples: ['vault keygen --out identity.txt', 'recipient=$(vault keygen --out identity.txt --field recipient)'],
  async work({ read }) {
    const file = filePath('--out', requireValue(read(KEYGEN_FLAGS).out, KEYGEN_FLAGS.out));
    const { generateX25519Identity, identityToRecipient } = await import('age-encryption');
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    await writeWholeFile('--out', file, `# public key: ${recipient}\n${identity}\n`);
    return { file, recipient };
  },
});
