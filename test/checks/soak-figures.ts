/** One measurement of the daemon. */
export interface Sample {
  readonly minute: number;
  readonly rss: number;
  readonly descriptors: number;
  readonly walBytes: number;
}

/** Returns the slope of the regression line (least squares). */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(points.map(([x]) => x));
  const level = mean(points.map(([, y]) => y));
  const spread = points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - middle) * (y - level), 0) / spread;
}

const MEBIBYTE = 2 ** 20;

/** Summarizes the samples. The slope covers those from minute `settledAfter` on. */
export function soakFigures(samples: readonly Sample[], settledAfter: number) {
  const settled = samples.filter(({ minute }) => minute >= settledAfter);
  const round = (value: number) => Math.round(value * 100) / 100;
  const descriptors = settled.map((sample) => sample.descriptors);
  return {
    samples: samples.length,
    rss_start_mib: round(samples[0]?.rss ?? 0),
    rss_end_mib: round(samples.at(-1)?.rss ?? 0),
    rss_max_mib: round(Math.max(...samples.map(({ rss }) => rss))),
    rss_slope_mib_per_min: round(slope(settled.map(({ minute, rss }) => [minute, rss]))),
    wal_max_mib: round(Math.max(...samples.map(({ walBytes }) => walBytes)) / MEBIBYTE),
    descriptors_min: Math.min(...descriptors),
    descriptors_max: Math.max(...descriptors),
  };
}
