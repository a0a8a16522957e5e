import { Command } from 'commander';
import type { ExitCode } from '../exit/exit-codes.ts';
import { acceptGlobalFlags, addFlags, FLAGS, typedLine } from '../flags/global-flags.ts';
import { VERSION } from '../help/version.ts';
import { createPrinter } from '../output/print-result.ts';
import { RESULT_VIEWS } from '../output/result-views.ts';

/**
 * `vault --version --output json`: prints the versions of this program and of its runtime. `vault --version` alone
 * prints one line.
 */
export async function showVersion(flags: readonly string[]): Promise<ExitCode> {
  const command = new Command('vault').exitOverride().configureOutput({ outputError: () => undefined });
  command.allowExcessArguments(false);
  addFlags(command, FLAGS.output);
  acceptGlobalFlags(command);
  command.parse(flags, { from: 'user' });
  const print = createPrinter(typedLine(command), RESULT_VIEWS.version);
  const { engineVersions } = await import('../../vault/vault.ts');
  const { node } = process.versions;
  const { platform, arch } = process;
  await print(JSON.stringify({ version: VERSION, ...(await engineVersions()), node, platform, arch }));
  return 0;
}
