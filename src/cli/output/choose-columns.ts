import { Fault } from '../../core/fault.ts';
import { itemSchema, type ResultView } from './result-view.ts';
import { findUnknown, parsePath } from './select-field.ts';

/** Matches a column of `--columns`: a path, whose quoted names may contain commas. */
const COLUMN = /(?:\["[^"]*"\]|[^,])+/g;

/**
 * Returns the view of a result with the columns of `--columns`. Throws the fault `usage`, before a request is sent, for a
 * column that no result can have.
 */
export function withColumns(view: ResultView, typed: string): ResultView {
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
