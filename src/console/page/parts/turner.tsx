import { FIRST_PAGE, go, here, route } from '../route.ts';
import { AsCommand } from './as-command.tsx';
import type { ShownCall } from './command-of.ts';
import { KeyButton } from './controls.tsx';
import { wholeNumber } from './numbers.ts';

/** The number of rows per page. */
export const PAGE_SIZE = 50;

interface TurnerOptions {
  /** The cursor of the next page. */
  readonly next: string | undefined;
  readonly shown: number;
  readonly total?: string | undefined;
  /** A text after the numbers. */
  readonly note?: string;
  /** Whether the list still shows the previous page. */
  readonly isLoading: boolean;
  readonly command: ShownCall;
  readonly isOldestFirst?: boolean;
}

/**
 * Maps the cursor of a page to that of the newer page. After a reload, it is empty, and Newer leads to the first page.
 */
const before = new Map<string, string | undefined>();

/** Shows the position in a list, with links to the newer and the older page. */
export function Turner({ command, isOldestFirst, ...position }: TurnerOptions) {
  const { shown, total, note, isLoading } = position;
  const { start } = route.value.query;
  const at = Number(route.value.query['at'] ?? 0);
  const next = isLoading ? undefined : position.next;
  const turn = (to: number, cursor: string | undefined) =>
    go(here({ ...FIRST_PAGE, start: cursor, at: to === 0 ? undefined : String(to) }));

  function older() {
    if (next === undefined) return;
    before.set(next, start);
    turn(at + shown, next);
  }

  function newer() {
    if (start === undefined) return;
    const cursor = before.get(start);
    turn(cursor === undefined ? 0 : Math.max(0, at - PAGE_SIZE), cursor);
  }

  return (
    <footer>
      <span role="status">
        {shown === 0 || isLoading ? '' : `${wholeNumber(at + 1)}–${wholeNumber(at + shown)}`}
        {shown > 0 && total !== undefined && !isLoading && ` of ${total}`}
        {shown > 0 && !isLoading && note}
      </span>
      <AsCommand of={command} />
      <span class="buttons">
        <KeyButton name={isOldestFirst ? 'Older' : 'Newer'} shortcut="[" act={newer} disabled={start === undefined} />
        <KeyButton name={isOldestFirst ? 'Newer' : 'Older'} shortcut="]" act={older} disabled={next === undefined} />
      </span>
    </footer>
  );
}
