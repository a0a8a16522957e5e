import { isError } from '../core/fault.ts';
import { readErrorForm } from './exit/error-form.ts';
import type { ChildExitCode, ExitCode } from './exit/exit-codes.ts';
import { endAtSignals, exitUnexpected } from './exit/interrupt.ts';
import { printHeldError, reportFailure } from './exit/report-failure.ts';
import { checkTypedPaths } from './files/typed-paths.ts';
import { VERSION } from './help/version.ts';
import { endAtOnce, ownStandardOutput, writeOut } from './output/standard-output.ts';
import { useProfileErrorForm } from './profiles/with-profile.ts';
import { arrangeWords, createProgram } from './program.ts';

const ignore = () => undefined;

const VERSION_WORDS: ReadonlySet<string> = new Set(['--version', '-V', 'version']);

/**
 * Runs one command line and resolves to its exit code. Prints results on stdout and everything else on stderr. Imports
 * only what every command needs, but all of it: each further file of code takes a hundredth of Node's start-up time.
 */
export async function main(argv: readonly string[], { ownsOutput = false } = {}): Promise<number> {
  if (ownsOutput) {
    ownStandardOutput();
    process.on('uncaughtException', exitUnexpected);
    endAtSignals();
  }
  // SIGUSR1 would open Node's inspector. A test may run many command lines in one process.
  if (process.platform !== 'win32' && !process.listeners('SIGUSR1').includes(ignore)) process.on('SIGUSR1', ignore);
  readErrorForm(argv, process.env);
  const exitCode = await runCommandLine(argv);
  printHeldError();
  // A test may run other code in this process.
  readErrorForm([], {});
  if (ownsOutput) endAtOnce(exitCode);
  return exitCode;
}

async function runCommandLine(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode | ChildExitCode = 0;
  try {
    if (argv.some((word) => word.includes('\ufffd'))) (await import('./files/broken-words.ts')).refuseBrokenWords(argv);
    const words = arrangeWords(argv);
    if (VERSION_WORDS.has(words[0] ?? '')) {
      if (words.length > 1) return await (await import('./commands/show-version.ts')).showVersion(words.slice(1));
      await writeOut(`vault ${VERSION}\n`);
      return 0;
    }
    const program = createProgram((code) => {
      exitCode = code;
    }, words[0]);
    program.hook('preAction', (_program, called) => checkTypedPaths(called));
    if (words.length === 0) program.outputHelp();
    else await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander throws after it has printed the help.
    if (isError(error) && 'exitCode' in error && error.exitCode === 0) return 0;
    // An unknown flag is found before a command reads its profile, which may ask for JSON.
    await useProfileErrorForm(argv, process.env);
    return reportFailure(error, process.env);
  }
}
