import { checkTemplate } from './evaluate-template.ts';
import { ExpressionError, MAX_SOURCE } from './limits.ts';
import { type Output, QUOTED_TEXT, takeOutput, unquote } from './parse-template.ts';

/** A reference to a token in a text: `{{ <token id> | filters }}`. */
export interface TokenReference {
  readonly id: string;
  /** The filters to apply to the token's data; absent when the reference has no filters. */
  readonly output: Output | undefined;
  readonly position: number;
}

/**
 * Matches the start of a reference, up to the first bar or the closing braces. No id contains a brace or a bar, and
 * most ids contain characters that a path of an expression cannot have (decisions §5).
 */
const HEAD = /\{\{([^{}|]*)(\||\}\})/y;

/** Matches a quoted text alone. */
const QUOTED = new RegExp(`\\{\\{\\s*(${QUOTED_TEXT})\\s*\\}\\}`, 'sy');

/** The text that replaces the id while the filters are parsed. */
const OPERAND = '{{data';

/** Parses a text and yields its parts, in order. Throws `ExpressionError`. */
export function* parseReferences(source: string): Generator<string | TokenReference, void> {
  let at = 0;
  for (let position = source.indexOf('{{'); position >= 0; position = source.indexOf('{{', at)) {
    if (position > at) yield source.slice(at, position);
    QUOTED.lastIndex = position;
    const quoted = unquote(QUOTED.exec(source)?.[1] ?? '');
    // A text with a brace stands for itself: no id contains one. Another text may be an id in quotes.
    if (/[{}]/.test(quoted)) {
      yield quoted;
      at = QUOTED.lastIndex;
      continue;
    }
    HEAD.lastIndex = position;
    const [, inside = '', end] = HEAD.exec(source) ?? [];
    const id = inside.trim();
    if (id === '') throw new ExpressionError('expected a token id', position);
    at = HEAD.lastIndex;
    if (end === '}}') {
      yield { id, output: undefined, position };
      continue;
    }
    const filters = takeFilters(source, position, at - 1);
    at = filters.end;
    yield { id, output: filters.output, position };
  }
  if (at < source.length) yield source.slice(at);
}

/** Parses the filters of the reference at `start`, from the first bar on. */
function takeFilters(source: string, start: number, bar: number) {
  const shift = bar - OPERAND.length;
  try {
    const { output, end } = takeOutput(OPERAND + source.slice(bar, bar + MAX_SOURCE), 0);
    checkTemplate([output], false);
    return { output, end: end + shift };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(error.reason, Math.max(start, error.position + shift));
  }
}
