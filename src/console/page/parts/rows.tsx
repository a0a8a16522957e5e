import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { go } from '../route.ts';

export interface Column<Row> {
  readonly head: string;
  readonly show: (row: Row) => ComponentChildren;
  /** When to hide the column: `less` in a narrow list, `extra` in a very narrow list. */
  readonly rank?: 'less' | 'extra';
}

interface RowsOptions<Row> {
  readonly caption: string;
  /** The columns. The first one contains the link of the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Returns the address that opens a row. */
  readonly hrefOf: (row: Row) => string;
  /** The id of the open row. */
  readonly open?: string | undefined;
}

/**
 * Shows a table with rows that can be opened. The Tab key reaches one row; `j`, `k` and the arrows move to the others.
 */
export function Rows<Row>({ caption, columns, rows, idOf, hrefOf, open }: RowsOptions<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [current, setCurrent] = useState<string>();
  const before = useRef(open);
  // Find the row by id, since new rows may appear above it.
  const at = Math.max(
    0,
    rows.findIndex((row) => idOf(row) === current),
  );

  function move(step: number) {
    const links = body.current?.querySelectorAll<HTMLElement>('a.row') ?? [];
    const isInside = body.current?.contains(document.activeElement);
    const next = isInside ? Math.max(0, Math.min(rows.length - 1, at + step)) : at;
    links[next]?.focus();
  }
  const [down, up] = [() => move(1), () => move(-1)];
  useKeys({ j: down, ArrowDown: down, k: up, ArrowUp: up });

  useEffect(() => {
    const closed = open === undefined ? before.current : undefined;
    before.current = open;
    const index = closed === undefined ? -1 : rows.findIndex((row) => idOf(row) === closed);
    body.current?.querySelectorAll<HTMLElement>('a.row')[index]?.focus();
  }, [open]);

  if (rows.length === 0) return null;
  const [first, ...others] = columns;
  return (
    <div class="scroller">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, rank }, index) => (
              <th scope="col" key={index} class={rank}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr key={idOf(row)} class={idOf(row) === open ? 'open' : undefined} onClick={() => go(hrefOf(row))}>
              <th scope="row">
                <a
                  class="row"
                  href={hrefOf(row)}
                  tabIndex={index === at ? 0 : -1}
                  aria-current={idOf(row) === open ? 'true' : undefined}
                  onFocus={() => setCurrent(idOf(row))}
                >
                  {first?.show(row)}
                </a>
              </th>
              {others.map(({ show, rank }, index) => (
                <td key={index} class={rank}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
