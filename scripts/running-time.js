/** Stands in for `performance.now` in the bundle: scripts/build-packages.js. */
export function runningTime() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
