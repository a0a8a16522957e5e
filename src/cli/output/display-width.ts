import stringWidth from 'string-width';

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
const PIECE = 256;
const PLAIN = /^[\x20-\x7e]*$/;
/** The widths of the characters so far: `stringWidth` takes microseconds, and a value may be a mebibyte. */
const known = new Map<string, number>();

/** Returns the number of terminal columns of a text. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const cluster of clustersOf(text)) width += clusterWidth(cluster);
  return width;
}

/** Returns as much of a text as fits into `width` columns, with an ellipsis if it is cut. Never splits a character. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let head = '';
  let taken = 1;
  for (const cluster of clustersOf(text)) {
    taken += clusterWidth(cluster);
    if (taken > width) break;
    head += cluster;
  }
  return width < 1 ? '' : `${head}…`;
}

/**
 * Splits the text into lines of at most `width` columns, at spaces where possible. A character wider than a line gets
 * its own line. Runs in linear time: a value may be a mebibyte.
 */
export function wrapToWidth(text: string, width: number): readonly string[] {
  if (PLAIN.test(text) && text.length <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let taken = 0;
  for (const segment of clustersOf(text)) {
    const own = clusterWidth(segment);
    if (taken + own > width && line !== '') {
      const space = segment === ' ' ? line.length : line.lastIndexOf(' ');
      lines.push(space > 0 ? line.slice(0, space) : line);
      line = space > 0 ? line.slice(space + 1) : '';
      taken = displayWidth(line);
      if (segment === ' ') continue;
    }
    line += segment;
    taken += own;
  }
  return [...lines, line];
}

/** Returns column widths that fit into `available` if possible. Shrinks the widest first, none below its `least`. */
export function fitWidths(natural: readonly number[], available: number, least: readonly number[]): readonly number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const shrinkable = widths.filter((width, at) => width > (least[at] ?? 0));
    if (shrinkable.length === 0) return widths;
    const widest = Math.max(...shrinkable);
    const equals = widths.flatMap((width, at) => (width === widest && width > (least[at] ?? 0) ? [at] : []));
    const floors = equals.map((at) => least[at] ?? 0);
    const runnerUp = Math.max(...floors, ...shrinkable.filter((width) => width < widest));
    const step = Math.max(1, Math.min(widest - runnerUp, Math.ceil(excess / equals.length)));
    for (const at of equals) {
      const cut = Math.min(step, excess);
      widths[at] = widest - cut;
      excess -= cut;
    }
  }
  return widths;
}

/**
 * Yields the characters of a text as a reader sees them (grapheme clusters). Segments the text in pieces, because each
 * step of a segmenter takes time in proportion to the length of its text.
 */
function* clustersOf(text: string): Generator<string> {
  let at = 0;
  while (at < text.length) {
    const clusters = Array.from(GRAPHEMES.segment(text.slice(at, at + PIECE)), ({ segment }) => segment);
    // The last character may continue in the next piece.
    if (at + PIECE < text.length && clusters.length > 1) clusters.pop();
    for (const cluster of clusters) {
      yield cluster;
      at += cluster.length;
    }
  }
}

function clusterWidth(cluster: string): number {
  const width = known.get(cluster) ?? stringWidth(cluster);
  known.set(cluster, width);
  return width;
}
