import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { go } from '../route.ts';
import { briefTime, CopyButton, copy } from './pieces.tsx';

export interface Column<Row> {
  readonly head: ComponentChildren;
  readonly show: (row: Row) => ComponentChildren;
  /** Returns the whole text of a cell that may be cut. */
  readonly titleOf?: (row: Row) => string | undefined;
  /** Whether the cells are code. */
  readonly isCode?: boolean;
  /** The width, by what a cell contains; `long` is a UUID in a wide list. Other columns share the remaining width. */
  readonly size?: 'short' | 'medium' | 'long' | 'time' | 'masked' | 'badge' | 'outcome';
  /** Which lists have the column: all but the narrowest (`extra`) and narrow ones (`less`), or only wide ones. */
  readonly rank?: 'extra' | 'less' | 'wide' | 'widest';
}

/** Returns a narrow column with a time. Its title shows the time in full. */
export function timeColumn<Row>(
  head: ComponentChildren,
  timeOf: (row: Row) => string | undefined,
  rank: NonNullable<Column<Row>['rank']>,
): Column<Row> {
  return { head, show: (row) => briefTime(timeOf(row)), titleOf: timeOf, size: 'short', rank };
}

/** The rows that are selected, by id. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly set: (ids: ReadonlySet<string>) => void;
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
  /** Whether each row has a button that copies its id. */
  readonly hasCopy?: boolean;
  readonly selection?: Selection;
  /** Whether the list still shows earlier rows. */
  readonly isLoading?: boolean;
  /** Shown below the rows. */
  readonly children?: ComponentChildren;
}

/**
 * Shows a table with rows of one line that can be opened. The Tab key reaches one row; `j`, `k` and the arrows move to
 * the others, `x` selects the current one.
 */
export function Rows<Row>(options: RowsOptions<Row>) {
  const { isLoading, rows, children } = options;
  return (
    <div class={isLoading ? 'loading' : ''} aria-busy={isLoading}>
      {rows.length > 0 && <RowTable {...options} />}
      {children}
    </div>
  );
}

function RowTable<Row>({ caption, columns, rows, idOf, hrefOf, open, hasCopy, selection }: RowsOptions<Row>) {
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
  const currentId = rows[at] && idOf(rows[at]);
  const check = (label: string, of: readonly string[], tabIndex?: number) =>
    selection && (
      <td class="check">
        <input
          type="checkbox"
          aria-label={label}
          tabIndex={tabIndex}
          checked={of.every((id) => selection.ids.has(id))}
          onChange={() => selection.set(toggled(selection.ids, of))}
        />
      </td>
    );
  const keysOfRow = currentId !== undefined && {
    ...(hasCopy && { c: () => copy(currentId) }),
    ...(selection && { x: () => selection.set(toggled(selection.ids, [currentId])) }),
  };
  useKeys({ j: down, ArrowDown: down, k: up, ArrowUp: up, ...keysOfRow });

  useEffect(() => {
    const closed = open === undefined ? before.current : undefined;
    before.current = open;
    const index = closed === undefined ? -1 : rows.findIndex((row) => idOf(row) === closed);
    body.current?.querySelectorAll<HTMLElement>('a.row')[index]?.focus();
  }, [open]);

  const [first, ...others] = columns;
  return (
    <div class="scroller">
      <table class="rows">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {check('Select all', rows.map(idOf))}
            {columns.map(({ head, rank, size }, index) => (
              <th
                scope="col"
                key={index}
                dir="auto"
                class={classOf(rank, size)}
                title={typeof head === 'string' ? head : undefined}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr
              key={idOf(row)}
              class={idOf(row) === open ? 'open' : undefined}
              onClick={(event) => isPlain(event) && go(hrefOf(row))}
            >
              {check(`Select ${idOf(row)}`, [idOf(row)], -1)}
              <th scope="row">
                <a
                  class={first?.isCode ? 'row id code' : 'row'}
                  dir="auto"
                  href={hrefOf(row)}
                  title={first?.titleOf?.(row)}
                  tabIndex={index === at ? 0 : -1}
                  aria-current={idOf(row) === open ? 'true' : undefined}
                  onFocus={() => setCurrent(idOf(row))}
                >
                  {first?.show(row)}
                </a>
                {hasCopy && (
                  <CopyButton text={idOf(row)} class="quiet copy" tabIndex={-1} aria-label={`Copy ${idOf(row)}`}>
                    {null}
                  </CopyButton>
                )}
              </th>
              {others.map(({ show, titleOf, rank, size, isCode }, index) => (
                <td key={index} class={classOf(rank, size, isCode && 'code')} title={titleOf?.(row)}>
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

/** Returns whether a click on a row hit no link, button or check box. */
const isPlain = ({ target }: Event): boolean =>
  target instanceof Element && target.closest('a, button, .check') === null;

const classOf = (...names: readonly (string | false | undefined)[]): string => names.filter(Boolean).join(' ');

/** Adds the ids, or removes them if the set has all of them. */
function toggled(ids: ReadonlySet<string>, of: readonly string[]): ReadonlySet<string> {
  const isRemoved = of.every((id) => ids.has(id));
  return new Set(isRemoved ? [...ids].filter((id) => !of.includes(id)) : [...ids, ...of]);
}
