import { Fault } from '../../core/fault.ts';
import { parseJson } from '../../core/json/parse.ts';
import { report } from '../exit/report-failure.ts';
import { type Environment, FLAGS, type Line, readFlags } from '../flags/global-flags.ts';
import { escapeInJson, stripFromLines } from './control-characters.ts';
import type { ItemPrinter } from './print-items.ts';
import { chooseShowing, renderResult, type Showing } from './render-result.ts';
import { chooseFormat, type Format, itemSchema, KEY_PATHS, type ResultView } from './result-view.ts';
import { findUnknown, parsePath, selectField } from './select-field.ts';
import { isTerminal, writeOut } from './standard-output.ts';

/**
 * Returns a function that prints a result in the form that the flags select, and then a remark about it on stderr.
 * Throws the fault `usage` when no result can satisfy the flags.
 */
export function createPrinter(line: Line, view: ResultView) {
  const { field, showing, write, shown } = prepare(line, view);
  if (KEY_PATHS.has(field) && readFlags(FLAGS.keyOut, line).keyOut !== undefined) {
    const why = 'the key is written only to the file';
    throw new Fault('usage', `--key-out and --field cannot both select the key: ${why}`);
  }
  return async (bodyText: string, remark?: string): Promise<void> => {
    const rendered = await renderResult(bodyText, shown, showing);
    const { text, note = field === undefined ? remark : undefined } = rendered;
    const key = keyOf(bodyText, view);
    const isShown = key !== undefined && text.includes(key);
    if (isShown && isTerminal() && showing.format === 'table' && field === undefined)
      report('the API key below is shown once', 'keep it in a file; --key-out FILE writes it into one');
    await write(text);
    if (note !== undefined) report(note);
    if (key !== undefined && !isShown) report('the API key was not printed; the vault shows it only once', LOST_KEY);
  };
}

/** Resolves to a printer for the items of a list. A field is a path in an item. Rejects as `createPrinter` throws. */
export async function createListPrinter(line: Line, view: ResultView, endless = false): Promise<ItemPrinter> {
  const items: ResultView = { ...view, list: false, schema: view.schema?.properties?.['data']?.items };
  const { showing, write, shown } = prepare(line, items);
  const { createItemPrinter } = await import('./print-items.ts');
  return createItemPrinter({ ...shown, list: view.list, schema: view.schema }, { ...showing, endless }, write, report);
}

function prepare(line: Line, view: ResultView) {
  const { flags, env } = line;
  const toTerminal = isTerminal();
  const { field, quiet } = partOf(line);
  const format = formatOf(line, toTerminal);
  const shown = flags.columns === undefined ? view : withColumns(view, flags.columns);
  const showing = {
    ...chooseShowing(format, field, quiet, view),
    colour: wantsColour(toTerminal, flags.color, env),
    // A terminal of unknown size reports 0.
    width: toTerminal ? process.stdout.columns || 80 : undefined,
  };
  const write = (text: string) => writeOut(toTerminal ? forTerminal(text, showing) : text);
  return { field, showing, shown, write };
}

/** Matches a column of `--columns`: a path, whose quoted names may contain commas. */
const COLUMN = /(?:\["[^"]*"\]|[^,])+/g;

/**
 * Returns the view of a result with the columns of `--columns`. Throws the fault `usage`, before a request is sent, for a
 * column that no result can have.
 */
function withColumns(view: ResultView, typed: string): ResultView {
  const schema = itemSchema(view);
  if (schema === undefined) throw new Fault('usage', '--columns: there is no result to print');
  const known = Object.keys(schema.properties ?? {});
  if (known.length === 0) throw new Fault('usage', '--columns: the result has no columns', { hint: 'use -o json' });
  const columns = (typed.match(COLUMN) ?? ['']).map((column) => column.trim());
  for (const column of columns) {
    if (findUnknown(schema, parsePath(column, '--columns')) === undefined) continue;
    throw new Fault('usage', `--columns: there is no column ${column}`, {
      hint: `the columns are ${known.join(', ')}`,
    });
  }
  return { ...view, columns, rest: false, areChosen: true };
}

/** Returns the format of a result. A typed `--columns` overrides a format of the environment that has no columns. */
function formatOf(line: Line, toTerminal: boolean): Format {
  const { flags } = line;
  const format = chooseFormat(readFlags(FLAGS.output, line).output, toTerminal);
  if (flags.columns === undefined || format === 'table' || format === 'csv') return format;
  if (flags.output === undefined) return 'table';
  throw new Fault('usage', `--columns works only with -o table and -o csv, not with -o ${format}`);
}

/**
 * Returns the requested part of a result: one field, or only ids. Typed flags override the environment: a typed
 * `--output` or `--field` also overrides VAULT_QUIET, and a typed `--columns` overrides VAULT_FIELD, too.
 */
export function partOf(line: Line): { readonly field: string | undefined; readonly quiet: boolean } {
  const { flags } = line;
  const read = readFlags(FLAGS.output, line);
  if (flags.quiet && flags.output !== undefined) {
    throw new Fault('usage', 'only one of --quiet and --output can be given: --quiet prints one id a line');
  }
  if (flags.columns !== undefined) {
    const other = flags.quiet ? '--quiet' : flags.field === undefined ? undefined : '--field';
    if (other !== undefined) throw new Fault('usage', `only one of --columns and ${other} can be given`);
    return { field: undefined, quiet: false };
  }
  if (flags.quiet) return { field: flags.field, quiet: true };
  const isFree = flags.field === undefined && flags.output === undefined;
  const quiet = isFree && read.quiet;
  return { field: read.field, quiet };
}

const LOST_KEY =
  'keep a key with --key-out FILE; `vault apps keys create NAME` or `vault tenant issue-key` creates another';

/** Returns the new API key in a result; undefined without one. */
function keyOf(bodyText: string, { columns }: ResultView): string | undefined {
  const path = columns.find((column) => KEY_PATHS.has(column));
  const key = path === undefined ? undefined : selectField(parseJson(bodyText), parsePath(path));
  return typeof key === 'string' ? key : undefined;
}

/** Returns text that is safe on a terminal. Keeps a table, whose cells are already safe, with its colours. */
function forTerminal(text: string, showing: Showing): string {
  if (showing.field !== undefined || showing.quiet) return stripFromLines(text);
  if (showing.format === 'table') return text;
  return showing.format === 'json' || showing.format === 'ndjson' ? escapeInJson(text) : stripFromLines(text);
}

/** Returns whether to print colours: on a terminal without `--no-color`, `NO_COLOR` and `TERM=dumb`. */
export function wantsColour(isTerminal: boolean, typed: boolean | undefined, env: Environment): boolean {
  return isTerminal && typed !== false && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
