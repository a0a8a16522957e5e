import type { HolderCommands } from '../../../console/page-actions.ts';
import type { Credential } from '../../../keyring/credential.ts';

/**
 * Returns the console's commands for a vault file that this process has open. `credential` returns a new copy each
 * time. `hold` runs a command and prevents a reset of the vault meanwhile; it rejects when the file was moved.
 */
export function holderCommands(
  file: string,
  credential: () => Promise<Credential>,
  hold: <T>(work: () => Promise<T>) => Promise<T>,
): HolderCommands {
  const load = () => import('../../../vault/file-commands.ts');
  const run = (command: 'verify' | 'doctor' | 'keys') => () =>
    hold(async () => (await load()).runOnFile(command, file, credential));
  return {
    verify: run('verify'),
    doctor: run('doctor'),
    keys: run('keys'),
    file: async () => (await load()).fileFacts(file),
  };
}
