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
  const capped = (cap: number) => natural.map((width, at) => Math.min(width, Math.max(cap, least[at] ?? 0)));
  const excess = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, -available);
  let cap = Math.max(0, Math.min(available, Math.max(0, ...natural)));
  while (cap > 0 && excess(capped(cap)) > 0) cap -= 1;
  const widths = capped(cap);
  // The last columns of the width of the cap get the rest, less than one for each.
  for (let at = widths.length - 1; at >= 0; at -= 1) {
    if (excess(widths) < 0 && widths[at] === cap && cap < (natural[at] ?? 0)) widths[at] = cap + 1;
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
