import { Fault } from '../../core/fault.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Environment } from '../global-flags.ts';
import { reportFailure, reportProblem, tell } from '../report-failure.ts';
import type { ImportEnding } from './import-rows.ts';
import { ImportStopped } from './send-row.ts';

/** What is known besides of an import that has ended. */
interface Circumstances {
  /** What was to be imported is wrong, or what opens it: the same once more would fail in the same way. */
  readonly isInputFault: boolean;
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
export function reportEnding(ending: ImportEnding, circumstances: Circumstances): ExitCode {
  const { isInputFault, left, before, errors, journal, env } = circumstances;
  const { counts, unanswered } = ending;
  const stopped = 'stoppedBy' in ending;
  const exitCode = stopped ? reportStop(ending.stoppedBy, env) : counts.failed + before > 0 ? 7 : 0;
  const words = [`${counts.created} created`, `${counts.skipped} there already`, `${counts.failed} refused`];
  if (stopped && isUntouched(ending) && (isUsage(ending) || isInputFault)) {
    if (!isUsage(ending))
      tell('nothing was imported', isInvalidData(ending) ? 'correct it, then run again' : undefined);
  } else if (stopped) {
    words.push(left === undefined ? 'the others left' : `${unanswered + left} left`);
    tell(`the import stopped: ${words.join(', ')}`, howToGoOn(journal, isInputFault));
  } else if (!stopped && counts.failed > 0) {
    const named = errors === undefined ? '--errors FILE names them all' : `${errors} names them`;
    tell(words.join(', '), `${named}; import them, corrected, as a file of their own`);
  }
  const rows = before === 1 ? '1 row was' : `${before} rows were`;
  if (before > 0) tell(`${rows} refused in earlier runs`, 'import them, corrected, as a file of their own');
  return exitCode;
}

function isUntouched({ counts, unanswered }: ImportEnding): boolean {
  return counts.created + counts.skipped + counts.failed + unanswered === 0;
}

/** The command line is wrong: where no row was touched, there is nothing to tell of rows. */
function isUsage({ stoppedBy }: ImportEnding): boolean {
  return stoppedBy instanceof Fault && stoppedBy.code === 'usage';
}

/** Of a sealed file the fault itself says what to do about the key or the file. */
function isInvalidData({ stoppedBy }: ImportEnding): boolean {
  return stoppedBy instanceof Fault && stoppedBy.code === 'invalid_data';
}

function reportStop(stoppedBy: unknown, env: Environment): ExitCode {
  return stoppedBy instanceof ImportStopped ? reportProblem(stoppedBy.reply) : reportFailure(stoppedBy, env);
}

function howToGoOn(journal: string | undefined, isInputFault: boolean): string {
  const again = isInputFault ? 'correct it, then run again' : 'import the same file again';
  return journal === undefined
    ? `${again}: rows with an id that are done are passed over; those without are made anew, unless --resume names a journal from the start`
    : `${again} with --resume ${journal}: it goes on after the rows that are done`;
}
