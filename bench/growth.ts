import { constants } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Environment, type ServedVault, serve, vault } from '../scripts/run-vault.ts';
import {
  type CaseResult,
  type Line,
  limitLine,
  line,
  median,
  peakResidentBytes,
  percentile,
  sample,
} from './figures.ts';
import { CONNECTIONS, inTurn, load, type RequestParts, requestBytes, type Statuses } from './load.ts';
import { schemaName, tokenIds } from './raw-sqlite.ts';
import { inEitherOrder, inRounds } from './rounds.ts';
import {
  type BenchRequests,
  type BenchVault,
  benchRequests,
  DIFFERENT,
  importCards,
  makeBenchVault,
  withFolder,
} from './vault.ts';

/** Few tokens, so that the small vault stays small. */
const CREATES_PER_ROUND = 320;

const MAX_RESIDENT_MB = 180;
const MAX_BYTES_PER_TOKEN = 1.6 * 1024;

const MAX_LIVEZ_MS = 50;
const CALLERS = 4;
const PAGE = 100;

const FILES = ['vault.db', 'vault.db.key'];

/** A copy of a vault. `size` is the bytes of the file; `made` is the number of its tokens so far. */
interface VaultCopy extends BenchVault {
  readonly tokens: number;
  readonly size: number;
  readonly ids: readonly string[];
  made: number;
}

/** A copy that a daemon serves. */
interface ServedCopy extends VaultCopy {
  readonly daemon: ServedVault;
  readonly request: BenchRequests;
}

interface GrowthCase {
  readonly case: string;
  readonly target: number;
  readonly expected?: Statuses;
  readonly once?: boolean;
  readonly requests: (vault: ServedCopy) => readonly Buffer[];
}

/** The cases. `target` is the maximum p50 of the large vault, as a multiple of p50 of the small one. */
const CASES: readonly GrowthCase[] = [
  // The log has one entry per token until other cases add reads.
  { case: 'entity-history', target: 3, requests: ({ request, ids }) => ids.map((id) => request.history(id)) },
  { case: 'get-masked', target: 1.3, requests: ({ request, ids }) => ids.map((id) => request.get('mask', id)) },
  {
    case: 'create',
    target: 1.5,
    expected: 201,
    once: true,
    requests: (vault) => Array.from({ length: CREATES_PER_ROUND }, () => vault.request.create(vault.made++)),
  },
  { case: 'list-by-metadata', target: 2, requests: ({ request, tokens }) => request.byCustomer(tokens) },
  { case: 'list-page-1', target: 1.3, requests: ({ request }) => [request.list()] },
  { case: 'usage-report', target: 1.3, requests: ({ request }) => [request.usage()] },
];

/** The folder that keeps vaults, the folder of the run, and the environment of its commands. */
interface Places {
  readonly cache: string;
  readonly place: string;
  readonly environment: Environment;
}

/**
 * Returns the folder and keys of a closed vault with `tokens` cards. Reuses the cached vault of this schema's digest,
 * or imports the cards into a new vault. Delete the folder of a cached vault that no longer opens.
 */
async function cachedVault(tokens: number, { cache, environment }: Omit<Places, 'place'>) {
  const fresh = path.join(cache, `making-${process.pid}-${tokens}`);
  await mkdir(fresh, { recursive: true });
  try {
    const made = await makeBenchVault(fresh, environment);
    const folder = path.join(cache, `${tokens}-cards-${schemaName(made.file)}`);
    const known = await readFile(path.join(folder, 'keys.json'), 'utf8').catch(() => undefined);
    if (known !== undefined) {
      const keys: BenchVault['keys'] = JSON.parse(known);
      return { folder, keys };
    }
    process.stderr.write(`bench: making a vault of ${tokens} tokens\n`);
    await importCards(made, tokens);
    await writeFile(path.join(fresh, 'keys.json'), JSON.stringify(made.keys), { mode: 0o600 });
    await rename(fresh, folder);
    return { folder, keys: made.keys };
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Copies a vault into `place`, where cases may change it. */
export async function openCopy(tokens: number, { cache, place, environment }: Places): Promise<VaultCopy> {
  const { folder, keys } = await cachedVault(tokens, { cache, environment });
  const own = path.join(place, String(tokens));
  await mkdir(own);
  for (const name of FILES) await copyFile(path.join(folder, name), path.join(own, name), constants.COPYFILE_FICLONE);
  const file = path.join(own, 'vault.db');
  const { size } = await stat(file);
  const ids = sample(tokenIds(file, DIFFERENT), DIFFERENT);
  return { file, tokens, keys, size, ids, made: tokens, env: { ...environment, VAULT_FILE: file } };
}

/** Returns the milliseconds from the start of the command until the daemon listens. */
async function timeToReady({ env }: VaultCopy): Promise<number> {
  const started = performance.now();
  const daemon = await serve([], env);
  const ms = performance.now() - started;
  await daemon.end();
  return ms;
}

/** Returns p50 in milliseconds of one round of a case. */
async function roundOf({ expected = 200, once = false, requests }: GrowthCase, vault: ServedCopy, seconds: number) {
  const made = requests(vault);
  const limits = once ? { next: inTurn(made, { most: made.length }) } : { next: inTurn(made), seconds };
  const { times } = await load({ port: vault.daemon.port, expected, ...limits });
  return percentile(times, 0.5);
}

/** Measures both vaults in each round. */
async function compare<V>(rounds: number, [small, large]: readonly [V, V], measure: (vault: V) => Promise<number>) {
  const { of } = await inRounds(rounds, (round) =>
    inEitherOrder(
      round,
      () => measure(large),
      () => measure(small),
    ),
  );
  return {
    ratio: of(([ofLarge, ofSmall]) => ofLarge / ofSmall),
    small_ms: of(([, ofSmall]) => ofSmall),
    large_ms: of(([ofLarge]) => ofLarge),
  };
}

/** Creates applications that read every token. Each can compute a page of its own at the same time. */
async function makeCallers({ env, keys }: VaultCopy): Promise<readonly string[]> {
  const made: { readonly key: string }[] = [];
  while (made.length < CALLERS) {
    const rule = 'container=/ transform=mask permissions=token:read';
    const create = ['apps', 'create', '--name', 'caller', '--type', 'private', '--rule', rule];
    made.push(await vault(create, { ...env, VAULT_API_KEY: keys.management }));
  }
  return made.map(({ key }) => key);
}

/** Returns the result line of `/livez` while each caller requests the last page, the most expensive one. */
async function farPageLine(
  { daemon: { port }, tokens }: ServedCopy,
  keys: readonly string[],
  seconds: number,
  stated: Stated,
): Promise<Line> {
  const host = `127.0.0.1:${port}`;
  const ask = (request: Omit<RequestParts, 'method'>) => {
    const next = inTurn([requestBytes({ method: 'GET', ...request }, host)]);
    return load({ port, connections: 1, seconds, expected: 200, next });
  };
  const path = `/tokens?size=${PAGE}&page=${Math.ceil(tokens / PAGE)}`;
  const pages = keys.map((key) => ask({ path, headers: { 'svc-api-key': key } }));
  const [{ times }, ...asked] = await Promise.all([ask({ path: '/livez' }), ...pages]);
  const [p99_ms, max_ms] = [percentile(times, 0.99), Math.max(...times)];
  const page_ms = median(asked.flatMap((each) => each.times));
  const reached = max_ms <= MAX_LIVEZ_MS;
  return line('growth', 'livez-far-page', { p99_ms, max_ms, target_ms: MAX_LIVEZ_MS, reached, page_ms, ...stated });
}

/** Returns the lines about memory and file size, which have no ratio. */
type Stated = Readonly<Record<string, string | number>>;

function sizeLines({ size, tokens, daemon }: ServedCopy, stated: Stated): readonly Line[] {
  const peak = peakResidentBytes(daemon.pid);
  return [
    limitLine('growth', 'memory', 'mb', { value: peak / 1e6, target: MAX_RESIDENT_MB, ...stated }),
    limitLine('growth', 'file-size', 'bytes', { value: size / tokens, target: MAX_BYTES_PER_TOKEN, ...stated }),
  ];
}

interface GrowthOptions extends Record<'rounds' | 'seconds' | 'tokens' | 'from', number> {
  readonly cache: string | undefined;
}

/**
 * Compares a vault of `from` tokens with one of `tokens`: operations that slow down as a vault grows, `/livez` during
 * far pages, the daemon's memory under load, and the bytes of the file per card. `cache` is a folder that keeps the
 * vaults for the next run.
 */
export async function growth({ rounds, seconds, tokens, from, cache }: GrowthOptions): Promise<CaseResult> {
  if (cache !== undefined) await mkdir(cache, { recursive: true });
  const stated = { from, tokens, durability: 'FULL', audit: 'reveal' };
  const rows = await withFolder(async (place, environment) => {
    const places = { cache: cache ?? place, place, environment };
    const small = await openCopy(from, places);
    const large = await openCopy(tokens, places);
    const lines: Line[] = [];
    const add = (name: string, target: number, figures: Awaited<ReturnType<typeof compare>>) =>
      lines.push(line('growth', name, { better: 'lower', target, ...figures, ...stated }));
    add('serve-ready', 1.3, await compare(rounds, [small, large], timeToReady));
    const callers = await makeCallers(large);
    const daemons: ServedVault[] = [];
    const served = async (vault: VaultCopy): Promise<ServedCopy> => {
      const daemon = await serve([], vault.env);
      daemons.push(daemon);
      return { ...vault, daemon, request: benchRequests(vault.keys, `127.0.0.1:${daemon.port}`) };
    };
    try {
      const pair = [await served(small), await served(large)] as const;
      for (const row of CASES) {
        add(row.case, row.target, await compare(rounds, pair, (vault) => roundOf(row, vault, seconds)));
      }
      lines.push(await farPageLine(pair[1], callers, rounds * seconds, stated));
      return [...lines, ...sizeLines(pair[1], stated)];
    } finally {
      for (const daemon of daemons) await daemon.end();
    }
  }, cache);
  const size = `${rounds} rounds of ${seconds} s; Node ${process.versions.node}`;
  return { title: `Growth from ${from} to ${tokens} tokens, p50 at ${CONNECTIONS} connections, ${size}`, rows };
}
