import path from 'node:path';
import { nameOf, readLines } from './bench-compare.js';
import { HTTP_CASES, http, RAW_CASES, WRITE_CASES } from './bench-http.js';
import { judge } from './bench-judge.js';
import { startup } from './bench-startup.js';
import { folderInMemory } from './bench-vault.js';
import { ROOT } from './build-output.js';

/** The ratios that are kept with the sources: what `quick --write-baseline` measured. */
export const BASELINE = path.join(ROOT, 'scripts', 'bench-baseline.json');

/**
 * Many short rounds: whatever else the machine does falls on both servers of most of them. The warm-up is longer, since code
 * that is not yet compiled costs several times what it costs later.
 */
const HTTP = { rounds: 9, seconds: 0.12, warmUp: { most: 5000, seconds: 8 }, tokens: 4000 };
const STARTUP = { rounds: 7 };

/** The cases of http to measure for these names. */
function httpCases(names) {
  return HTTP_CASES.filter((name) => names.includes(`http/${name}`) || names.includes(`http/${RAW_CASES[name]}`));
}

/** Processor time is what work costs however many others want the processor; how long it takes is not the same twice. */
const byProcessor = (one) => ({ ...one, ratio: one.cpu_ratio ?? one.ratio });

/**
 * A minute's look at whether a ratio fell by more than `limit` percent against the baseline. The vault stands in memory where
 * there is such a folder, so that the baseline holds on machines with other disks; where there is none, writes are judged
 * by raw SQLite only. `only` names cases of http, instead of all and the start-up;
 * `sizes` may say other `rounds`, `seconds` and `tokens`.
 */
export async function quick({ limit, baseline: file, only, ...sizes }) {
  const inMemory = await folderInMemory();
  const isJudged = (name) => inMemory !== undefined || !WRITE_CASES.some((write) => name === `http/${write}`);
  const wanted = only?.map((name) => `http/${name}`);

  async function measure(names = wanted) {
    const cases = names === undefined ? HTTP_CASES : httpCases(names);
    const { rows } = cases.length > 0 ? await http({ ...HTTP, ...sizes, only: cases, inMemory }) : { rows: [] };
    const starts = names === undefined || names.some((name) => name.startsWith('startup/'));
    const started = starts ? (await startup(STARTUP)).rows : [];
    return [...rows, ...started].filter((one) => isJudged(nameOf(one))).map(byProcessor);
  }

  const isAsked = (name) => only === undefined || httpCases([name]).some((one) => only.includes(one));
  const baseline = readLines(file).filter((one) => isJudged(nameOf(one)) && isAsked(nameOf(one)));
  const { lines, rows, failed, again } = await judge({ baseline, limit, measure });
  const place = inMemory === undefined ? 'on disk' : 'in memory';
  const retried = again.length === 0 ? '' : `; measured twice: ${again.join(', ')}`;
  const title = `Ratios against ${path.relative(process.cwd(), file)}, synchronous=FULL ${place}, audit reveal${retried}; a fall of more than ${limit} % fails`;
  return {
    title,
    rows,
    failed,
    lines: lines.map(({ bench, case: name, ratio, better }) => ({ bench, case: name, ratio, better })),
  };
}
