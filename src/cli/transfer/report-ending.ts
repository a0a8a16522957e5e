import { Fault } from '../../core/fault.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Environment } from '../global-flags.ts';
import { reportFailure, reportProblem, tell } from '../report-failure.ts';
import type { ImportEnding } from './import-rows.ts';
import { ImportStopped } from './send-row.ts';

/** What is known besides of an import that has ended. */
interface Circumstances {
  /** Rows that were not read; undefined when that is not known. */
  readonly left: number | undefined;
  /** Rows that earlier runs of the journal have refused. */
  readonly before: number;
  /** The files of `--errors` and `--resume`. */
  readonly errors: string | undefined;
  readonly journal: string | undefined;
  readonly env: Environment;
}

/** Tells how an import ended, unless every row is done: what stopped it, what became of the rows, how to go on. */
export function reportEnding(ending: ImportEnding, { left, before, errors, journal, env }: Circumstances): ExitCode {
  const { counts, unanswered } = ending;
  const stopped = 'stoppedBy' in ending;
  const exitCode = stopped ? reportStop(ending.stoppedBy, env) : counts.failed + before > 0 ? 7 : 0;
  const words = [`${counts.created} created`, `${counts.skipped} there already`, `${counts.failed} refused`];
  if (stopped && !isRefusedCommand(ending)) {
    words.push(left === undefined ? 'the others left' : `${unanswered + left} left`);
    tell(`the import stopped: ${words.join(', ')}`, howToGoOn(journal));
  } else if (!stopped && counts.failed > 0) {
    const named = errors === undefined ? '--errors FILE names them all' : `${errors} names them`;
    tell(words.join(', '), `${named}; import them, corrected, as a file of their own`);
  }
  if (before > 0) tell(`${before} rows were refused in earlier runs`, 'import them, corrected, as a file of their own');
  return exitCode;
}

/** The command line is wrong, and no row was touched: there is nothing to tell of rows. */
function isRefusedCommand({ counts, unanswered, stoppedBy }: ImportEnding): boolean {
  const touched = counts.created + counts.skipped + counts.failed + unanswered;
  return touched === 0 && stoppedBy instanceof Fault && stoppedBy.code === 'usage';
}

function reportStop(stoppedBy: unknown, env: Environment): ExitCode {
  return stoppedBy instanceof ImportStopped ? reportProblem(stoppedBy.reply) : reportFailure(stoppedBy, env);
}

function howToGoOn(journal: string | undefined): string {
  return journal === undefined
    ? 'import the same file again: rows with an id that are done are passed over; those without are made anew, unless --resume names a journal from the start'
    : `import the same file again with --resume ${journal}: it goes on after the rows that are done`;
}
