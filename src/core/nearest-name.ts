/** Returns the known name nearest to `name`, for "did you mean"; undefined when none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(name.length / 2)) + 1;
  // A long name is hardly a typing error, and the distance takes quadratic time.
  if (name.length > 64) return undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns `; did you mean …?` with the known name nearest to `name`; empty when none is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/**
 * Returns the hint for an unknown name: the nearest known name, else `all`; undefined when there are no known names.
 */
export function nearestHint(name: string, known: readonly string[], all = `known are ${known.join(', ')}`) {
  const near = nearestName(name, known);
  if (near !== undefined) return `did you mean ${near}?`;
  return known.length === 0 ? undefined : all;
}

/** Returns the Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
