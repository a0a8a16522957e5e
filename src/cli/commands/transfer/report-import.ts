import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { createFile } from '../../../paths/create-file.ts';
import { assertOwnName } from '../../../paths/own-name.ts';
import { noSpaceFor } from '../../exit/error-reason.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { printError, report, reportFailure } from '../../exit/report-failure.ts';
import { cannotMake } from '../../files/whole-file.ts';
import type { Environment } from '../../flags/global-flags.ts';
import type { ImportCounts, ImportEnding } from './import-rows.ts';
import type { RowError } from './send-row.ts';

/**
 * Creates a file (0600) for rejected rows. Each row has one JSON line with its position and its error, but without its
 * values. `add` resolves when its line is in the file, so that a killed run keeps the line.
 */
export async function openErrorFile(path: string) {
  assertOwnName(path, '--errors');
  const handle = await createFile(path).catch((error: unknown) => {
    throw cannotMake('--errors', path, error);
  });
  return {
    async add(error: RowError): Promise<void> {
      await handle.writeFile(`${stringifyJson({ ...error } as Printable)}\n`).catch((cause: unknown) => {
        throw noSpaceFor('--errors', path, cause) ?? cause;
      });
    },
    close: () => handle.close(),
  };
}

/**
 * Reports why an import did not finish, the outcome of the rows, and how to continue. Returns the exit code. `before`
 * counts the rows that earlier runs of the journal rejected; `errors` and `journal` are files.
 */
export function reportEnding(
  ending: ImportEnding,
  before: number,
  errors: string | undefined,
  journal: string | undefined,
  env: Environment,
): ExitCode {
  const { counts, unanswered, remaining, isInputFault } = ending;
  const stopped = 'stoppedBy' in ending;
  const fault = ending.stoppedBy instanceof Fault ? ending.stoppedBy.code : undefined;
  const exitCode = stopped ? reportFailure(ending.stoppedBy, env) : counts.failed + before > 0 ? 7 : 0;
  const words = countWords(counts);
  const isUntouched = counts.created + counts.skipped + counts.failed + unanswered === 0;
  if (stopped && isUntouched && (fault === 'usage' || isInputFault)) {
    // Add nothing to a wrong command line, which is already reported. Other faults have their own hint.
    if (fault !== 'usage')
      report('nothing was imported', fault === 'invalid_data' ? 'correct it, then run again' : undefined);
  } else if (stopped) {
    words.push(remaining === undefined ? 'the rest not imported' : `${unanswered + remaining} left`);
    report(`the import stopped: ${words.join(', ')}`, howToContinue(journal, isInputFault));
  } else if (!stopped && counts.failed > 0) {
    const named =
      errors === undefined ? 'pass --errors FILE to list the failed rows' : `${errors} lists the failed rows`;
    const hint = `${named}; correct those rows and import them as a separate file`;
    printError(exitCode, { code: 'invalid_data', message: words.join(', '), hint });
  }
  const rows = before === 1 ? '1 row was' : `${before} rows were`;
  if (before > 0) {
    const hint = 'correct those rows and import them as a separate file';
    printError(exitCode, { code: 'invalid_data', message: `${rows} rejected in earlier runs`, hint });
  }
  return exitCode;
}

/** Reports an import that a signal stops, and how to continue it. */
export function reportInterrupt(counts: Readonly<ImportCounts>, journal: string | undefined): void {
  report(`the import was interrupted: ${countWords(counts).join(', ')}`, howToContinue(journal, false));
}

function countWords({ created, skipped, failed }: Readonly<ImportCounts>): string[] {
  return [`${created} created`, `${skipped} already existed`, `${failed} rejected`];
}

function howToContinue(journal: string | undefined, isInputFault: boolean): string {
  const again = isInputFault ? 'correct it, then run again' : 'import the same file again';
  return journal === undefined
    ? `${again}: finished rows with an id are skipped; rows without one are created again, unless --resume names a journal from the start`
    : `${again} with --resume ${journal}: it continues after the finished rows`;
}
