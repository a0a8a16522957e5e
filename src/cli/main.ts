import type { ChildExitCode, ExitCode } from './exit-codes.ts';
import { endAtSignals, exitUnexpected } from './interrupt.ts';
import { endAtOnce, ownStandardOutput, writeOut } from './output/standard-output.ts';
import { VERSION } from './version.ts';

/**
 * Runs one command line and returns its exit code. Results go to stdout, everything else to stderr. `vault --help`
 * starts here, so this file imports nothing heavy.
 */
export async function main(argv: readonly string[], { ownsOutput = false } = {}): Promise<number> {
  if (ownsOutput) {
    ownStandardOutput();
    process.on('uncaughtException', exitUnexpected);
    endAtSignals();
  }
  // This signal opens Node's inspector. Reserve it for the debugger of this process.
  if (process.platform !== 'win32') process.on('SIGUSR1', () => undefined);
  const exitCode = await runCommandLine(argv);
  if (ownsOutput) endAtOnce(exitCode);
  return exitCode;
}

async function runCommandLine(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode | ChildExitCode = 0;
  try {
    if (argv[0] === '--version') {
      if (argv.length > 1) return await (await import('./commands/show-version.ts')).showVersion(argv);
      await writeOut(`vault ${VERSION}\n`);
      return 0;
    }
    const { createProgram, withoutHelpWord } = await import('./program.ts');
    const words = withoutHelpWord(argv);
    const program = createProgram((code) => {
      exitCode = code;
    }, words[0]);
    if (words.length === 0) program.outputHelp();
    else await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import('./report-failure.ts');
    return reportFailure(error, process.env);
  }
}
