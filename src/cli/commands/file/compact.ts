import type { FileHolderOptions } from '../../../vault/key-holder.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { onFile } from '../on-file.ts';
import { copyProgress } from './copy-progress.ts';

const HELP = `
Removed records leave free space in the file, which new records use. This command writes a copy without it, checks the
copy as \`vault doctor\` does, and replaces the file. It needs free space for the copy in the folder of the file. Stop
daemons first; other commands fail with exit code 8 meanwhile. A killed run leaves the old file.`;

/** `vault compact`: replaces the file with a checked copy without free space. */
export const defineCompact = onFile(
  {
    view: RESULT_VIEWS.compact,
    help: HELP,
    examples: ['vault compact', 'vault compact --file vault.db --field bytes_after'],
    async work(_line, open) {
      const opened = await open();
      const { checked, bytes_before, bytes_after } = await compactWithProgress(opened);
      return { file: opened.file, bytes_before, bytes_after, checked };
    },
  },
  'stop the daemons, then return the free space of a database with `vacuumdb --full`',
);

/** Compacts a vault file and shows the progress. */
export async function compactWithProgress({ file, credential }: FileHolderOptions) {
  const { compactVault } = await import('../../../vault/admin.ts');
  const progress = copyProgress();
  return compactVault({ file, credential }, progress).finally(progress.end);
}
