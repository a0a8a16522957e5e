import { Fault } from '../../core/fault.ts';

/** A record of a CSV; `line` is the one that it begins on, from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** A cell that is longer is a quote that was never closed. */
const LONGEST = 16 * 1024 * 1024;

/**
 * The records of RFC 4180 text that comes in pieces: commas, cells in double quotes with doubled quotes inside, line ends of
 * either kind. Empty lines are passed over. Throws the fault `invalid_data`, naming the line, for quotes that stand wrong.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let cells: string[] = [];
  let cell = '';
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let line = 1;
  let begun = 1;

  const refuse = (what: string): Fault => new Fault('invalid_data', `line ${line} of the CSV: ${what}`);
  const endCell = () => {
    cells.push(cell);
    cell = '';
    state = 'start';
  };
  const endRecord = (): CsvRecord | undefined => {
    endCell();
    const record = cells.length > 1 || cells[0] !== '' ? { line: begun, cells } : undefined;
    cells = [];
    return record;
  };

  let previous = '';
  for await (const piece of pieces) {
    for (const character of piece) {
      if (state === 'quoted') {
        if (character === '"') state = 'closed';
        else cell += character;
        if (cell.length > LONGEST) throw refuse('a quote is not closed');
      } else if (character === '"' && state === 'start') state = 'quoted';
      else if (character === '"' && state === 'closed') {
        cell += '"';
        state = 'quoted';
      } else if (character === ',') endCell();
      else if (character === '\n' || character === '\r') {
        const record = character === '\n' && previous === '\r' ? undefined : endRecord();
        if (record !== undefined) yield record;
      } else if (character === '"' || state === 'closed') throw refuse('a quote stands in the middle of a cell');
      else {
        cell += character;
        state = 'plain';
      }
      if (character === '\n' || (character === '\r' && state !== 'quoted')) {
        if (!(character === '\n' && previous === '\r')) line += 1;
        if (state === 'start' && cells.length === 0) begun = line;
      }
      previous = state === 'quoted' ? '' : character;
    }
  }
  if (state === 'quoted') throw refuse('a quote is not closed');
  const last = cells.length > 0 || cell !== '' || state === 'closed' ? endRecord() : undefined;
  if (last !== undefined) yield last;
}
