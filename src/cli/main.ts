import type { ChildExitCode, ExitCode } from './exit/exit-codes.ts';
import { endAtSignals, exitUnexpected } from './exit/interrupt.ts';
import { reportFailure } from './exit/report-failure.ts';
import { checkTypedPaths } from './files/typed-paths.ts';
import { VERSION } from './help/version.ts';
import { endAtOnce, ownStandardOutput, writeOut } from './output/standard-output.ts';
import { createProgram, withoutHelpWord } from './program.ts';

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
  const exitCode = await runCommandLine(argv);
  if (ownsOutput) endAtOnce(exitCode);
  return exitCode;
}

async function runCommandLine(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode | ChildExitCode = 0;
  try {
    if (VERSION_WORDS.has(argv[0] ?? '')) {
      if (argv.length > 1) return await (await import('./commands/show-version.ts')).showVersion(argv.slice(1));
      await writeOut(`vault ${VERSION}\n`);
      return 0;
    }
    const words = withoutHelpWord(argv);
    const program = createProgram((code) => {
      exitCode = code;
    }, words[0]);
    program.hook('preAction', (_program, called) => checkTypedPaths(called));
    if (words.length === 0) program.outputHelp();
    else await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportFailure(error, process.env);
  }
}
