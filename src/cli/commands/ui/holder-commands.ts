import type { HolderCommands } from '../../../console/holder-requests.ts';
import type { Credential } from '../../credential.ts';

/**
 * Returns the console's commands on a vault's file that this process has open. Loads them on first use. `credential`
 * returns a copy each time; `hold` rejects when the file was moved, and prevents a reset of the vault during a
 * command.
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
