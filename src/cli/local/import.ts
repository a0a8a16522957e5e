import type { Command } from 'commander';
import { Fault } from '../../core/fault.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { readApiKey } from '../api-key.ts';
import { chooseDoor, openDoor } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import {
  ANCHOR_FLAGS,
  addFlags,
  DAEMON_FLAGS,
  type Environment,
  FILE_FLAGS,
  flagValue,
  KEY_FLAGS,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import { filePath } from '../output-path.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { tell } from '../report-failure.ts';
import { csvRows, parseColumnMap, parseTokenType } from '../transfer/csv-rows.ts';
import { openErrorFile } from '../transfer/error-file.ts';
import { openJournal } from '../transfer/import-journal.ts';
import type { ImportRow } from '../transfer/import-row.ts';
import { importRows } from '../transfer/import-rows.ts';
import { type InputFile, openInput } from '../transfer/input-file.ts';
import { readCsv } from '../transfer/read-csv.ts';
import { decodeText, readLines } from '../transfer/read-lines.ts';
import { reportEnding } from '../transfer/report-ending.ts';
import { OPEN_FLAGS, type OpenFlags } from '../transfer/seal-flags.ts';
import { reasonOf } from '../transfer/send-row.ts';
import { createHeapKeeper } from '../transfer/steady-heap.ts';
import { progressLine } from './progress-line.ts';
import { TRANSFER_VIEWS } from './transfer-view.ts';

const IMPORT_FLAGS = {
  format: {
    flag: '--format <format>',
    env: 'VAULT_IMPORT_FORMAT',
    help: 'ndjson or csv (default: by the name, else ndjson)',
  },
  type: { flag: '--type <type>', env: 'VAULT_IMPORT_TYPE', help: 'of a CSV: the type of its tokens' },
  errors: {
    flag: '--errors <path>',
    env: 'VAULT_IMPORT_ERRORS',
    help: 'a new file for refused rows, a line of JSON each',
  },
  resume: {
    flag: '--resume <path>',
    env: 'VAULT_IMPORT_RESUME',
    help: 'a journal: a run that was stopped is taken up by the next with the same one',
  },
} as const;

/** Repeatable, so that it is no row of the table. */
const MAP_FLAG = {
  flag: '--map <member=column>',
  env: 'VAULT_IMPORT_MAP',
  help: 'of a CSV: where a member is read from; repeatable, or with commas in the variable',
} as const;

interface ImportFlags extends OpenFlags {
  readonly format?: string;
  readonly type?: string;
  readonly map?: readonly string[];
  readonly errors?: string;
  readonly resume?: string;
}

const HELP = `
A line of NDJSON is a body of \`vault tokens create\`, as \`vault export\` writes them. Of a CSV, --type says what the rows are and
--map which column goes where:
  vault import cards.csv --type card --map number=pan \\
    --map expiration_month=mm --map expiration_year=yyyy
Rows go through the API with the API key. A row whose id is taken by a token with the same contents, as the key reads them, is
passed over: to run it again with a key that reveals does no harm. Rows without an id are made anew by each run, unless
--resume names a journal. Refused rows end it with 7.`;

const MOST_TOLD = 5;

/** How many rows are done between two looks at the heap. */
const ROWS_A_LOOK = 64;

/** `vault import FILE`: a token of each row, many at a time. */
export function defineImport(command: Command, finish: Finish): void {
  command.argument('<file>', 'what to import; - for standard input');
  addFlags(command, IMPORT_FLAGS);
  command.option(MAP_FLAG.flag, `${MAP_FLAG.help} [env: ${MAP_FLAG.env}]`, collect);
  addFlags(command, { ...OPEN_FLAGS, ...DAEMON_FLAGS, ...FILE_FLAGS, ...ANCHOR_FLAGS, ...KEY_FLAGS, ...PROFILE_FLAGS });
  addFlags(command, OUTPUT_FLAGS);
  command.addHelpText('after', HELP);
  command.action(async (path: string) => {
    const flags = typedFlags<ImportFlags>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, TRANSFER_VIEWS.imported);
    const door = chooseDoor(flags, env);
    const toRows = rowReader(path, flags, env);
    const apiKey = await readApiKey(flags, env);
    const input = await openInput(path, flags, env);
    const journalPath = filePath('--resume', flagValue(flags.resume, env, IMPORT_FLAGS.resume));
    const journal = journalPath === undefined ? undefined : await openJournal(journalPath);
    const errorPath = filePath('--errors', flagValue(flags.errors, env, IMPORT_FLAGS.errors));
    const errors = errorPath === undefined ? undefined : await openErrorFile(errorPath);
    const client = await openDoor(door, flags, env, 'many');
    const line = progressLine('importing');
    const keepHeap = createHeapKeeper();
    let [told, read] = [0, 0];
    let isInputFault = false;
    const rows = toRows(input);
    try {
      const open = keptOpen(rows, () => {
        read += 1;
      });
      const wanted = watched(journal === undefined ? open : journal.left(open), () => {
        isInputFault = true;
      });
      const ending = await importRows(wanted, {
        client,
        apiKey,
        progress(done) {
          line.show(input.read(), Math.max(input.size ?? 0, input.read(), done > 0 ? 1 : 0));
          if (done % ROWS_A_LOOK === 0) keepHeap();
        },
        checkpoint: journal && ((done, failed) => journal.note(done, failed)),
        isDerived: (id) => journal?.isDerived(id) ?? false,
        async refused(error) {
          await errors?.add(error);
          told += 1;
          if (errors === undefined && told <= MOST_TOLD) tell(`line ${error.line}: ${reasonOf(error)}`);
        },
      });
      line.end();
      const before = journal?.refused ?? 0;
      // What stands behind in a stream may never come; behind what cannot be read nothing can be counted.
      const behind = 'stoppedBy' in ending && path !== '-' && !isInputFault ? await countOf(rows) : undefined;
      const left = behind === undefined ? undefined : behind - Math.max(0, (journal?.done ?? 0) - read);
      const exitCode = reportEnding(ending, {
        isInputFault,
        left,
        before,
        errors: errorPath,
        journal: journalPath,
        env,
      });
      if (!('stoppedBy' in ending)) await printer.print(stringifyJson({ ...ending.counts }));
      finish(exitCode);
    } finally {
      line.end();
      await rows.return(undefined);
      await client.close();
      await errors?.close();
    }
  });
}

/** The same rows; whoever stops reading them leaves the others for a count. */
async function* keptOpen(rows: AsyncGenerator<ImportRow>, told: () => void): AsyncGenerator<ImportRow> {
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    told();
    yield next.value;
  }
}

/** The same rows; told when they are what fails. */
async function* watched(rows: AsyncIterable<ImportRow>, failed: () => void): AsyncGenerator<ImportRow> {
  try {
    yield* rows;
  } catch (error) {
    failed();
    throw error;
  }
}

/** Undefined when they cannot be read to their end. */
async function countOf(rows: AsyncIterable<unknown>): Promise<number | undefined> {
  let count = 0;
  try {
    for await (const _row of rows) count += 1;
    return count;
  } catch {
    return undefined;
  }
}

function collect(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word];
}

/** How the bytes of the input become rows. Throws the fault `usage` before anything is opened. */
function rowReader(
  path: string,
  flags: ImportFlags,
  env: Environment,
): (input: InputFile) => AsyncGenerator<ImportRow> {
  const named = flagValue(flags.format, env, IMPORT_FLAGS.format);
  const format = named ?? (path.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson');
  const type = flagValue(flags.type, env, IMPORT_FLAGS.type);
  if (format === 'csv') {
    if (type === undefined) throw new Fault('usage', 'a CSV needs --type (VAULT_IMPORT_TYPE), such as card');
    const parsed = parseTokenType(type);
    const map = parseColumnMap(flags.map ?? env[MAP_FLAG.env]?.split(',') ?? [], parsed);
    return (input) => csvRows(readCsv(decodeText(input.bytes)), parsed, map);
  }
  if (format !== 'ndjson') throw new Fault('usage', '--format is ndjson or csv');
  if (flags.map !== undefined || flags.type !== undefined) throw new Fault('usage', '--type and --map are for a CSV');
  return async function* (input) {
    for await (const { line, text } of readLines(decodeText(input.bytes))) yield { line, body: text.trim() };
  };
}
