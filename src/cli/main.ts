import type { ExitCode } from './exit-codes.ts';
import { exitInterrupted } from './interrupt.ts';

/**
 * Runs one command line and answers its exit code; results are on stdout, everything else on stderr. Nothing heavy may
 * be imported here: `vault --help` starts through this file.
 */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode = 0;
  process.on('SIGINT', exitInterrupted);
  try {
    const { createProgram, withoutHelpWord } = await import('./program.ts');
    const program = createProgram((code) => {
      exitCode = code;
    });
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(withoutHelpWord(argv), { from: 'user' });
    return exitCode;
  } catch (error) {
    const { reportFailure } = await import('./report-failure.ts');
    return reportFailure(error, process.env);
  }
}
