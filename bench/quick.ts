import path from 'node:path';
import { ROOT } from '../scripts/build-output.ts';
import { judge, nameOf, readLines } from './compare.ts';
import type { Line } from './figures.ts';
import { HTTP_CASES, hasLine, http, WRITE_CASES } from './http.ts';
import { startup } from './startup.ts';
import { folderInMemory } from './vault.ts';

/** The ratios that `quick --write-baseline` stores in the repository. */
export const BASELINE = path.join(ROOT, 'bench', 'baseline.ndjson');

/**
 * Short rounds in large numbers spread other load over both servers. The warm-up is longer, since uncompiled code costs
 * several times as much.
 */
const HTTP = { rounds: 9, seconds: 0.12, tokens: 4000 };
/** For each second of a round. */
const WARM_UP = { most: 42_000, seconds: 67 };
const STARTUP = { rounds: 7 };

const httpCases = (names: readonly string[]) =>
  HTTP_CASES.filter((one) => names.some((name) => hasLine(one, name.replace('http/', ''))));

/** Prefers processor time, which does not depend on other load on the machine. */
function byProcessor({ bench, case: name, ratio, better, ...figures }: Line): Line {
  const judged = Number(figures['cpu_ratio'] ?? ratio);
  return { bench, case: name, ...(!Number.isNaN(judged) && { ratio: judged }), ...(better && { better }) };
}

interface QuickOptions extends Partial<Record<'rounds' | 'seconds' | 'tokens', number>> {
  readonly limit: number;
  readonly baseline: string;
  readonly only?: readonly string[] | undefined;
}

/**
 * Measures for a minute whether a ratio worsened by more than `limit` percent against the baseline. The vault is in
 * memory if possible, so that the baseline applies to machines with other disks; otherwise writes are not judged.
 * `only` selects cases of http, instead of all with the start-up. `sizes` may contain other `rounds`, `seconds` and
 * `tokens`.
 */
export async function quick({ limit, baseline: file, only, ...sizes }: QuickOptions) {
  const inMemory = await folderInMemory();
  const isJudged = (one: Line) =>
    (inMemory !== undefined || !WRITE_CASES.some((write) => nameOf(one) === `http/${write}`)) &&
    (only === undefined || httpCases([nameOf(one)]).some((name) => only.includes(name)));

  async function measure(names?: readonly string[]): Promise<readonly Line[]> {
    const cases = names === undefined ? (only ?? HTTP_CASES) : httpCases(names);
    const size = { ...HTTP, ...sizes };
    const warmUp = { most: Math.ceil(WARM_UP.most * size.seconds), seconds: WARM_UP.seconds * size.seconds };
    const { rows } = cases.length > 0 ? await http({ ...size, warmUp, only: cases, inMemory }) : { rows: [] };
    const starts = names === undefined ? only === undefined : names.some((name) => name.startsWith('startup/'));
    const started = starts ? (await startup(STARTUP)).rows : [];
    return [...rows, ...started].filter(isJudged).map(byProcessor);
  }

  const judged = await judge({ baseline: readLines(file).filter(isJudged), limit, measure });
  const place = inMemory === undefined ? 'on disk' : 'in memory';
  const retried = judged.again.length === 0 ? '' : `; measured twice: ${judged.again.join(', ')}`;
  const against = `Ratios against ${path.relative(process.cwd(), file)}, synchronous=FULL ${place}, audit reveal`;
  return { title: `${against}${retried}; a fall of more than ${limit} % fails`, ...judged };
}
