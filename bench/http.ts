import path from 'node:path';
import { type ServedVault, serve } from '../scripts/run-vault.ts';
import { againstBare, type MakeRequests, type RoundSize } from './against-bare.ts';
import { againstSingle, BATCH } from './against-single.ts';
import { type CaseResult, type Line, line, sample } from './figures.ts';
import { CONNECTIONS, type Statuses } from './load.ts';
import { openRawCopy, tokenIds } from './raw-sqlite.ts';
import { type BenchRequests, benchRequests, DIFFERENT, importCards, makeBenchVault, withFolder } from './vault.ts';

/** A vault with its requests. `made` is the number of its tokens so far. */
interface LoadedVault {
  readonly request: BenchRequests;
  readonly tokens: number;
  readonly ids: string[];
  made: number;
}

type Requests = MakeRequests<LoadedVault>;

interface Target {
  readonly case: string;
  readonly target: number;
}

interface AnyCase extends Target {
  readonly expected?: Statuses;
  readonly once?: boolean;
  readonly note?: string;
  readonly audit?: 'reveal' | 'mutations';
}

/** A case beside the bare server. */
interface SingleCase extends AnyCase {
  readonly requests: Requests;
  readonly raw?: Target;
  readonly batch?: never;
  readonly one?: never;
}

/** A case that compares with single requests. */
interface BatchedCase extends AnyCase {
  readonly batch: Requests;
  readonly single: Requests;
  readonly one?: Target;
  readonly raw?: never;
}

const ofSome =
  (of: (request: BenchRequests, id: string) => Buffer): Requests =>
  ({ ids, request }) =>
    sample(ids, DIFFERENT).map((id) => of(request, id));

function creates(vault: LoadedVault, most: number): readonly Buffer[] {
  const from = vault.made;
  vault.made += most;
  return Array.from({ length: most }, (_, n) => vault.request.create(from + n));
}

const patches = ({ request, ids }: LoadedVault, most: number) =>
  Array.from({ length: most }, (_, n) => request.patch(ids[n % ids.length] ?? '', n));

function tokenizes(vault: LoadedVault, most: number): readonly Buffer[] {
  const from = vault.made;
  vault.made += most * BATCH;
  return Array.from({ length: most }, (_, n) => vault.request.tokenize(from + n * BATCH, BATCH));
}

const detokenizes = ({ request, ids }: LoadedVault, most: number) =>
  Array.from({ length: most }, () => request.detokenize(sample(ids, BATCH)));

/** Returns requests that delete tokens. Spreads the remaining tokens over the remaining rounds. */
function deletes({ request, ids }: LoadedVault, most: number, roundsLeft: number): readonly Buffer[] {
  const count = Math.max(1, Math.ceil(Math.min(ids.length / roundsLeft, most)));
  return ids.splice(0, count).map((id) => request.delete(id));
}

/**
 * The cases, in this order on one vault. Cases with a `batch` compare with single requests, the others with a bare
 * server. `requests` makes the requests of a round: `most` of those that are sent `once`; others start again after the
 * last. `raw` names a second line that compares with the same rows inserted into SQLite.
 */
const CASES: readonly (SingleCase | BatchedCase)[] = [
  {
    case: 'create',
    target: 0.25,
    expected: 201,
    once: true,
    raw: { case: 'create-to-raw-sqlite', target: 0.45 },
    requests: creates,
  },
  { case: 'get-masked', target: 0.55, requests: ofSome((request, id) => request.get('mask', id)) },
  { case: 'get-revealed', target: 0.45, requests: ofSome((request, id) => request.get('reveal', id)) },
  { case: 'list-20-revealed', target: 0.12, requests: ({ request }) => [request.list()] },
  { case: 'list-by-metadata', target: 0.12, requests: ({ request, tokens }) => request.byCustomer(tokens) },
  {
    case: '401',
    target: 0.6,
    expected: [401, 429],
    note: '429 beyond 20 a second',
    requests: ofSome((request, id) => request.get('wrong', id)),
  },
  { case: '403', target: 0.6, expected: 403, requests: ofSome((request, id) => request.get('deny', id)) },
  {
    case: '404',
    target: 0.6,
    expected: 404,
    requests: ofSome((request, id) => request.get('reveal', id.replace(/.{4}$/, 'none'))),
  },
  {
    case: 'tokenize-100',
    target: 2.5,
    expected: 201,
    once: true,
    one: { case: 'tokenize-100-to-one-connection', target: 15 },
    batch: tokenizes,
    single: creates,
  },
  {
    case: 'detokenize-100',
    target: 3,
    expected: 200,
    batch: detokenizes,
    single: ofSome((request, id) => request.get('reveal', id)),
  },
  { case: 'patch', target: 0.2, once: true, requests: patches },
  {
    case: 'get-revealed-audit-mutations',
    target: 0.55,
    audit: 'mutations',
    requests: ofSome((request, id) => request.get('reveal', id)),
  },
  { case: 'delete', target: 0.2, expected: 204, once: true, requests: deletes },
];

export const HTTP_CASES = CASES.map((row) => row.case);

/** Returns whether a line of the case has this name. */
export const hasLine = (name: string, wanted: string) =>
  name === wanted || CASES.some((row) => row.case === name && (row.raw?.case === wanted || row.one?.case === wanted));

/** The name of the lines. */
const BENCH = 'http';

/** The cases that wait for the disk. */
export const WRITE_CASES = CASES.filter((row) => row.once).map((row) => row.case);

type BareFigures = Awaited<ReturnType<typeof againstBare>>;

function linesOf(row: SingleCase, { raw: toRaw, ...figures }: BareFigures, durability: string): readonly Line[] {
  const { case: name, target, audit = 'reveal', note, raw } = row;
  const stated = { durability, audit };
  const lines = [line(BENCH, name, { target, ...figures, ...stated, note })];
  if (!raw) return lines;
  const { per_second } = figures;
  return [...lines, line(BENCH, raw.case, { ...toRaw, target: raw.target, per_second, ...stated })];
}

export interface HttpOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp?: RoundSize;
  readonly tokens: number;
  readonly only?: readonly string[] | undefined;
  readonly inMemory?: string | undefined;
}

/**
 * Measures operations over keep-alive connections as ratios to a bare `node:http` server with the same bytes, and
 * creates as a ratio to raw SQLite with the same rows. `only` selects cases. `inMemory` is a folder in memory, where a
 * sync costs nothing.
 */
export async function http(options: HttpOptions): Promise<CaseResult> {
  const { rounds, seconds, warmUp, tokens, only = HTTP_CASES, inMemory } = options;
  const cases = CASES.filter((row) => only.includes(row.case));
  const durability = inMemory === undefined ? 'FULL' : 'FULL, in memory';
  const rows = await withFolder(async (folder, environment) => {
    const made = await makeBenchVault(folder, environment);
    await importCards(made, tokens);
    const rawCopy = cases.some(({ raw }) => raw) ? openRawCopy(made.file, path.join(folder, 'raw.db')) : undefined;
    rawCopy?.catchUp();
    const lines: Line[] = [];
    let daemon: ServedVault | undefined;
    let level: string | undefined;
    try {
      for (const row of cases) {
        const { audit = 'reveal' } = row;
        if (daemon === undefined || audit !== level) {
          await daemon?.end();
          daemon = await serve(['--audit', audit], made.env);
          level = audit;
        }
        const request = benchRequests(made.keys, `127.0.0.1:${daemon.port}`);
        const vault = { request, tokens, ids: tokenIds(made.file), made: tokens };
        if (row.batch) {
          const { toOneConnection, ...rest } = await againstSingle(row, { vault, daemon, rounds, seconds });
          lines.push(line(BENCH, row.case, { target: row.target, ...rest, durability, audit }));
          if (row.one) lines.push(line(BENCH, row.one.case, { target: row.one.target, ratio: toOneConnection }));
          continue;
        }
        const figures = await againstBare(row, { vault, daemon, rounds, seconds, warmUp, rawCopy });
        lines.push(...linesOf(row, figures, durability));
      }
    } finally {
      await daemon?.end();
      rawCopy?.close();
    }
    return lines;
  }, inMemory);
  const size = `${rounds} rounds of ${seconds} s, ${tokens} tokens`;
  return { title: `HTTP, ${CONNECTIONS} connections, ${size}; Node ${process.versions.node}`, rows };
}
