export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Of an even number the mean of the two in the middle. */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three significant digits: 0.4321 → 0.432, 12345 stays. */
export function rounded(value) {
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
}

/** Whether a ratio keeps its target. `better` is the direction in which a ratio improves. */
export function reaches(ratio, target, better) {
  return better === 'higher' ? ratio >= target : ratio <= target;
}

/**
 * A line of the results. `bench` and `case` together are its name, which does not change; lines with a `ratio` are compared
 * and say in `better` which way it improves. Members that are undefined are left out.
 */
export function line(bench, name, { ratio, better = 'higher', target, ...figures }) {
  const judged = ratio === undefined ? {} : { ratio: rounded(ratio), better };
  const aimed = target === undefined ? {} : { target, reached: reaches(rounded(ratio), target, better) };
  const known = Object.entries(figures).filter(([, value]) => value !== undefined);
  const rest = known.map(([member, value]) => [member, typeof value === 'number' ? rounded(value) : value]);
  return { bench, case: name, ...judged, ...aimed, ...Object.fromEntries(rest) };
}
