import { constants } from 'node:os';
import type { ExitCode, PassedOn } from '../exit-codes.ts';
import { END_SIGNALS, SIGNAL_EXIT_CODES, takeSignals } from '../interrupt.ts';
import { tell } from '../report-failure.ts';

/** One command, and the signals that this process gets: while the command runs they are the command's. */
export interface ChildRunner {
  /**
   * Runs the command without a shell, on this process's own standard streams, and answers what it ended with: its exit code,
   * 128 and the number of the signal, 127 when there is no such command, 126 when it cannot be run.
   */
  run(words: readonly string[], env: Readonly<Record<string, string>>): Promise<ExitCode | PassedOn>;
}

/**
 * From here on no signal ends this process before it has cleared away what it made: before and after the command it exits in
 * order, during the command it passes the signal on and outlives the command.
 */
export function createChildRunner(): ChildRunner {
  let kill: ((signal: NodeJS.Signals) => void) | undefined;
  takeSignals();
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      if (kill === undefined) process.exit(SIGNAL_EXIT_CODES[signal]);
      // A terminal sends Ctrl-C to every process in its foreground, so the command has it already.
      else if (signal !== 'SIGINT' || process.stdin.isTTY !== true) kill(signal);
    });
  }
  return {
    async run([command, ...more], env) {
      if (command === undefined) throw new Error('unreachable: no command');
      // It knows how Windows finds and starts npm.cmd.
      const { execa } = await import('execa');
      const child = execa(command, more, { env, extendEnv: false, stdio: 'inherit', reject: false });
      kill = (signal) => child.kill(signal);
      const { exitCode, signal, code } = await child;
      kill = undefined;
      if (exitCode !== undefined) return exitCode as PassedOn;
      if (signal !== undefined) return (128 + constants.signals[signal]) as PassedOn;
      tell(`${command} cannot be run (${code ?? 'unknown error'})`);
      return (code === 'ENOENT' ? 127 : 126) as PassedOn;
    },
  };
}
