import { wholeNumber } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';

interface ColumnsOptions {
  readonly items: readonly { readonly name: string; readonly value: number }[];
  /** The value of the limit. A line marks it when a column reaches it. */
  readonly limit: number;
}

const [STEP, WIDTH, HEIGHT, BELOW, ABOVE] = [48, 34, 130, 24, 24];

/** Shows a column chart by month, and the same numbers as a table. */
export function Columns({ items, limit }: ColumnsOptions) {
  const top = Math.max(1, ...items.map(({ value }) => value));
  const heightOf = (value: number) => (HEIGHT * value) / top;
  const month = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' });
  const short = new Intl.NumberFormat('en', { notation: 'compact' });
  const width = STEP * items.length;
  return (
    <>
      <svg class="columns" viewBox={`0 0 ${width} ${ABOVE + HEIGHT + BELOW}`} aria-hidden="true">
        {items.map(({ name, value }, at) => (
          <g key={name}>
            <title>{`${name}: ${wholeNumber(value)}`}</title>
            <rect fill="transparent" x={at * STEP} width={STEP} height={ABOVE + HEIGHT} />
            <rect
              x={at * STEP + (STEP - WIDTH) / 2}
              y={ABOVE + HEIGHT - Math.max(value > 0 ? 2 : 0, heightOf(value))}
              width={WIDTH}
              height={Math.max(value > 0 ? 2 : 0, heightOf(value))}
              rx="2"
            />
            <text x={(at + 0.5) * STEP} y={ABOVE + HEIGHT - heightOf(value) - 4}>
              {value > 0 ? short.format(value) : ''}
            </text>
            <text x={(at + 0.5) * STEP} y={ABOVE + HEIGHT + BELOW - 4}>
              {month.format(Date.parse(`${name}-15`))}
            </text>
          </g>
        ))}
        <line x2={width} y1={ABOVE + HEIGHT} y2={ABOVE + HEIGHT} />
        {limit > 0 && limit <= top && (
          <line class="limit" x2={width} y1={ABOVE + HEIGHT - heightOf(limit)} y2={ABOVE + HEIGHT - heightOf(limit)} />
        )}
      </svg>
      <details>
        <summary>Table</summary>
        <Table
          caption="Active tokens by month"
          heads={['Month', 'Active tokens']}
          rows={items.map(({ name, value }) => [name, wholeNumber(value)])}
        />
      </details>
    </>
  );
}
