import { Fault } from '../../core/fault.ts';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';

type Row = Readonly<Record<string, Printable | undefined>>;

/** Pages of rows; `told` learns how many there are. */
interface RowSource {
  pages(told: (total: number) => void): AsyncIterable<readonly Row[]>;
}

/** How rows become text, a page at a time. */
export interface ExportFormat {
  print(source: RowSource, progress: (done: number, total: number) => void): AsyncGenerator<string>;
}

/** For spreadsheets: `data` or its masked form as JSON, and no definition. It is not for `vault import`. */
const COLUMNS = ['id', 'type', 'data', 'masked', 'containers', 'metadata', 'expires_at'] as const;

const FORMATS = {
  ndjson: { head: async () => '', page: async (rows: readonly Row[]) => rows.map(line).join('') },
  csv: {
    head: async () => csv([COLUMNS]),
    page: async (rows: readonly Row[]) => csv(rows.map((row) => COLUMNS.map((column) => cell(row[column])))),
  },
} as const;

/** Throws the fault `usage` for a format that there is not. */
export function exportFormat(name = 'ndjson'): ExportFormat {
  if (!Object.hasOwn(FORMATS, name)) throw new Fault('usage', '--format is ndjson or csv');
  const { head, page } = FORMATS[name as keyof typeof FORMATS];
  return {
    async *print(source, progress) {
      let [done, total] = [0, 0];
      const pages = source.pages((count) => {
        total = count;
      });
      const first = await head();
      if (first !== '') yield first;
      for await (const rows of pages) {
        done += rows.length;
        progress(done, total);
        if (rows.length > 0) yield await page(rows);
      }
    },
  };
}

function line(row: Row): string {
  return `${stringifyJson(row)}\n`;
}

async function csv(rows: readonly (readonly string[])[]): Promise<string> {
  return (await import('../output/csv.ts')).csvText(rows);
}

function cell(value: Printable | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : stringifyJson(value);
}
