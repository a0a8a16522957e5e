import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { readApiKey } from '../../credential/read-credential.ts';
import { interruptible, isSignalExit } from '../../exit/interrupt.ts';
import { report } from '../../exit/report-failure.ts';
import { filePath } from '../../files/output-path.ts';
import { FLAGS, type FlagValues, flag, oneShot, readFlags, VAULT_FLAGS } from '../../flags/global-flags.ts';
import { printByteSize } from '../../flags/quantities.ts';
import { chooseTarget, openTarget } from '../../flags/target.ts';
import { createPrinter } from '../../output/print-result.ts';
import { progressLine } from '../../output/progress-line.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import { subcommand } from '../subcommand.ts';
import { DECRYPT_FLAGS } from './age-keys.ts';
import { csvRows, parseColumnMap, parseTokenType, readCsv } from './csv-rows.ts';
import { openJournal } from './import-journal.ts';
import type { ImportRow } from './import-row.ts';
import { type ImportCounts, importRows } from './import-rows.ts';
import { decodePieces, type InputFile, openInput, readLines } from './input-file.ts';
import { ndjsonRows } from './read-rows.ts';
import { openErrorFile, reportEnding, reportInterrupt } from './report-import.ts';
import { rowReason } from './send-row.ts';

const IMPORT_FLAGS = {
  format: flag(
    '--format <format>',
    'ndjson or csv (default: csv for a file *.csv or *.tsv, else ndjson)',
    'VAULT_IMPORT_FORMAT',
  ),
  type: flag('--type <type>', 'the token type of all rows of a CSV; overrides a column `type`', 'VAULT_IMPORT_TYPE'),
  delimiter: flag(
    '--delimiter <character>',
    'what separates the cells of a CSV, or tab (default: tab for a file *.tsv, else ,)',
    'VAULT_IMPORT_DELIMITER',
  ),
  errors: flag('--errors <path>', 'a new file for rejected rows, one JSON line each', 'VAULT_IMPORT_ERRORS'),
  resume: flag('--resume <path>', 'a journal; the same journal resumes a stopped import', 'VAULT_IMPORT_RESUME'),
  map: {
    flag: '--map <member=column>',
    env: 'VAULT_IMPORT_MAP',
    help: 'the CSV column of a member; repeatable (comma-separated in VAULT_IMPORT_MAP)',
    repeatable: true,
  },
  revealed: oneShot('--revealed', 'the file is a list of a key that reveals the data of every token'),
} as const;

/** The typed flags that only a CSV takes. */
type CsvFlags = { readonly map?: readonly string[]; readonly type?: string };

const HELP = `
A line of NDJSON is a body of \`vault tokens create\`, as \`vault export\` writes it, or a token with its data from
\`vault tokens list -o ndjson\`. A list does not mark masked data: a row of the type token needs --revealed.
For a CSV, --type or a column \`type\` names the token type. A column whose name is a member fills it; --map names other columns.
  vault import cards.csv --type card --map number=pan \\
    --map expiration_month=mm --map expiration_year=yyyy
The API key creates the tokens. The import skips a row if its id belongs to a token with the same contents, which the key must
be able to reveal. Each run creates the rows without an id again, unless --resume names a journal. Rejected rows end the
import with exit code 7.`;

const MAX_REPORTED = 5;

const DRY_RUN = { dryRun: oneShot('--dry-run', 'check and print the request of the first row; send nothing') };

/** `vault import FILE`: creates a token from each row, many at a time. */
export const defineImport = subcommand<CsvFlags>({
  args: { '<file>': 'the file to import; - for standard input' },
  flags: { ...IMPORT_FLAGS, ...DECRYPT_FLAGS, ...DRY_RUN, ...VAULT_FLAGS, ...FLAGS.output },
  help: HELP,
  examples: [
    'vault import tokens.age --identity identity.txt',
    'vault import cards.csv --type card --map number=pan --map metadata.customer=id',
    'vault import tokens.ndjson --resume import.journal --errors rejected.ndjson',
  ],
  async run(parsed) {
    const line = await withProfile(parsed);
    const [path = ''] = line.words;
    const { dryRun: isDryRun, ...read } = readFlags({ ...IMPORT_FLAGS, ...DECRYPT_FLAGS, ...DRY_RUN }, line);
    const print = createPrinter(line, isDryRun ? RESULT_VIEWS.dryRun : RESULT_VIEWS.import);
    const toRows = rowReader(path, read, line.flags);
    if (isDryRun) {
      const { headerPrefix } = readFlags(FLAGS.daemon, line);
      await print(await firstRequest(toRows(await openInput(path, read)), headerPrefix));
      return 0;
    }
    const target = chooseTarget(line);
    const apiKey = await readApiKey(line);
    const input = await openInput(path, read);
    const journalPath = filePath('--resume', read.resume);
    const journal = journalPath === undefined ? undefined : await openJournal(journalPath);
    const errorPath = filePath('--errors', read.errors);
    const errors = errorPath === undefined ? undefined : await openErrorFile(errorPath);
    const client = await openTarget(target, line, 'many');
    const progress = progressLine('importing', printByteSize);
    let reported = 0;
    let soFar: Readonly<ImportCounts> = { created: 0, skipped: 0, failed: 0 };
    const atExit = (code: number) => {
      progress.end();
      if (isSignalExit(code)) reportInterrupt(soFar, journalPath);
    };
    process.on('exit', atExit);
    const interruption = interruptible();
    const rows = toRows(input);
    try {
      const ending = await importRows(journal?.remaining(rows) ?? rows, {
        client,
        apiKey,
        progress: (counts) => {
          soFar = counts;
          progress.show(input.bytesRead(), Math.max(input.size ?? 0, input.bytesRead(), 1));
        },
        mark: journal?.mark,
        signal: interruption.signal,
        countsRemaining: path !== '-',
        async refused(error) {
          await errors?.add(error);
          reported += 1;
          if (errors === undefined && reported <= MAX_REPORTED) report(`line ${error.line}: ${rowReason(error)}`);
        },
      });
      interruption.end();
      progress.end();
      const before = journal?.refused ?? 0;
      const exitCode = reportEnding(ending, before, errorPath, journalPath, line.env);
      if (!('stoppedBy' in ending)) await print(stringifyJson({ ...ending.counts }));
      return exitCode;
    } finally {
      process.off('exit', atExit);
      progress.end();
      await rows.return(undefined);
      await client.close();
      await errors?.close();
    }
  },
});

/** Resolves to the request of the first row. Rejects with `invalid_data` for no row, and with the problems of the row. */
async function firstRequest(rows: AsyncGenerator<ImportRow>, headerPrefix: string | undefined): Promise<string> {
  const { value: row } = await rows.next();
  await rows.return(undefined);
  if (row === undefined) throw new Fault('invalid_data', 'the file has no rows');
  if (row.refused !== undefined) throw new Fault('invalid_data', `line ${row.line}: ${row.refused}`);
  const { dryRun } = await import('../../derive/dry-run.ts');
  const mediaType = 'application/json';
  return dryRun({ operation: 'createToken', params: {}, query: [], bodyText: row.body, mediaType }, headerPrefix);
}

/** Returns the function that turns the input's bytes into rows. Throws the fault `usage` before anything is opened. */
function rowReader(
  path: string,
  { format: named, type, delimiter, map, revealed }: FlagValues<typeof IMPORT_FLAGS>,
  typed: CsvFlags,
): (input: InputFile) => AsyncGenerator<ImportRow> {
  const [, ending] = /\.(csv|tsv)$/i.exec(path) ?? [];
  const format = named ?? (ending === undefined ? 'ndjson' : 'csv');
  if (format === 'csv') {
    const parsed = type === undefined ? undefined : parseTokenType(type);
    // Report a wrong word before the file is read.
    if (parsed !== undefined) parseColumnMap(map, parsed);
    const separator = delimiter ?? (ending?.toLowerCase() === 'tsv' ? 'tab' : undefined);
    const between = separator === 'tab' ? '\t' : separator;
    if (between !== undefined && between.length !== 1) {
      throw new Fault('usage', '--delimiter (VAULT_IMPORT_DELIMITER) must be one character, or tab');
    }
    const onUnused = (columns: readonly string[]) =>
      report(`columns without a member: ${columns.join(', ')}`, 'keep one with --map metadata.NAME=COLUMN');
    return (input) => csvRows(readCsv(decodePieces(input.bytes), between), { type: parsed, map, onUnused });
  }
  if (format !== 'ndjson') throw new Fault('usage', '--format must be ndjson or csv');
  if (typed.map !== undefined || typed.type !== undefined || 'delimiter' in typed)
    throw new Fault('usage', '--type, --map and --delimiter work only with a CSV');
  const onSkipped = (members: readonly string[]) => report(`read-only members are skipped: ${members.join(', ')}`);
  return (input) => ndjsonRows(readLines(decodePieces(input.bytes)), { onSkipped, isRevealed: revealed });
}
