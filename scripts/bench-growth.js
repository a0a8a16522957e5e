import { constants } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { serve } from './bench-daemon.js';
import { line, median, percentile } from './bench-figures.js';
import { CONNECTIONS, load } from './bench-load.js';
import { residentBytes } from './bench-process.js';
import { schemaName, tokenIds } from './bench-raw-sqlite.js';
import { benchRequests, inTurn, sample } from './bench-requests.js';
import { importCards, makeBenchVault, TOKENS_A_CUSTOMER, withFolder } from './bench-vault.js';

const DIFFERENT = 8192;

/** Few: the small vault would not stay small. */
const CREATES_A_ROUND = 320;

const MOST_RESIDENT_MB = 180;
const MOST_BYTES_A_TOKEN = 1.6 * 1024;

const FILES = ['vault.db', 'vault.db.key'];

/** The cases, with the most that p50 in the large vault may be of p50 in the small one. `seconds` of a round, or a count. */
const CASES = [
  { case: 'get-masked', target: 1.3, requests: ({ request, ids }) => ids.map((id) => request.get('mask', id)) },
  {
    case: 'create',
    target: 1.5,
    expected: 201,
    once: true,
    requests: (vault) => Array.from({ length: CREATES_A_ROUND }, () => vault.request.create(vault.made++)),
  },
  {
    case: 'list-by-metadata',
    target: 2,
    requests: ({ request, tokens }) => {
      const customers = Math.floor(tokens / TOKENS_A_CUSTOMER);
      const all = Array.from({ length: Math.min(DIFFERENT, customers) }, (_, at) => at);
      return sample(all, DIFFERENT).map((at) => request.ofCustomer(Math.floor((at / all.length) * customers)));
    },
  },
  { case: 'list-page-1', target: 1.3, requests: ({ request }) => [request.list('reveal', 'size=20')] },
  { case: 'usage-report', target: 1.3, requests: ({ request }) => [request.usage()] },
];

/**
 * A closed vault of so many cards in a folder of the cache, made by `vault import` when it is not there. The folder is named
 * after the tables too; what no longer opens for another reason has to be removed by hand.
 */
async function vaultOf(tokens, { cache, environment }) {
  const fresh = path.join(cache, `making-${process.pid}-${tokens}`);
  await mkdir(fresh, { recursive: true });
  try {
    const made = await makeBenchVault(fresh, environment);
    const folder = path.join(cache, `${tokens}-cards-${schemaName(made.file)}`);
    const known = await readFile(path.join(folder, 'keys.json'), 'utf8').catch(() => undefined);
    if (known !== undefined) return { folder, keys: JSON.parse(known) };
    process.stderr.write(`bench: making a vault of ${tokens} tokens\n`);
    await importCards(made, tokens);
    await writeFile(path.join(fresh, 'keys.json'), JSON.stringify(made.keys), { mode: 0o600 });
    await rename(fresh, folder);
    return { folder, keys: made.keys };
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** A copy that may be changed, with what a run needs to know of it. */
async function openCopy(tokens, { folder, keys }, { place, environment }) {
  const own = path.join(place, String(tokens));
  await mkdir(own);
  for (const name of FILES) await copyFile(path.join(folder, name), path.join(own, name), constants.COPYFILE_FICLONE);
  const file = path.join(own, 'vault.db');
  const { size } = await stat(file);
  const ids = sample(tokenIds(file, DIFFERENT), DIFFERENT);
  return { tokens, keys, file, size, ids, made: tokens, env: { ...environment, VAULT_FILE: file } };
}

/** Milliseconds from the command to its word that it listens. */
async function timeToReady(vault) {
  const started = performance.now();
  const daemon = await serve([], vault.env);
  const ms = performance.now() - started;
  await daemon.stop();
  return ms;
}

/** p50 in milliseconds of one round of a case. */
async function roundOf(row, vault, seconds) {
  const { expected = 200, once = false, requests } = row;
  const made = requests(vault);
  const next = inTurn(made, { most: once ? made.length : undefined });
  const { times } = await load({ port: vault.daemon.port, seconds: once ? undefined : seconds, expected, next });
  return percentile(times, 0.5);
}

/** Measures both vaults in turn, the first of them alternating; a round before them warms up. */
async function inRounds(rounds, [small, large], measure) {
  const done = { small: [], large: [], ratio: [] };
  for (let round = -1; round < rounds; round += 1) {
    const figures = {};
    for (const [name, vault] of Object.entries(round % 2 === 0 ? { large, small } : { small, large })) {
      figures[name] = await measure(vault);
    }
    if (round < 0) continue;
    done.small.push(figures.small);
    done.large.push(figures.large);
    done.ratio.push(figures.large / figures.small);
  }
  return { ratio: median(done.ratio), small_ms: median(done.small), large_ms: median(done.large) };
}

/** The lines about what a large vault takes up: no ratios, since there is nothing to put them beside. */
function sizeLines({ size, tokens, daemon }, stated) {
  const bytes = size / tokens;
  const resident = residentBytes(daemon.pid);
  const mb = resident && (resident.most ?? resident.now) / 1e6;
  return [
    line('growth', 'memory', {
      mb,
      target_mb: MOST_RESIDENT_MB,
      reached: mb && mb <= MOST_RESIDENT_MB,
      ...stated,
    }),
    line('growth', 'file-size', {
      bytes,
      target_bytes: MOST_BYTES_A_TOKEN,
      reached: bytes <= MOST_BYTES_A_TOKEN,
      ...stated,
    }),
  ];
}

/**
 * A vault of `from` tokens beside one of `tokens`: what becomes slower as a vault grows, what its daemon takes of memory under
 * load, and the bytes of the file for each card. `cache` is a folder where the vaults are kept for the next run.
 */
export async function growth({ rounds, seconds, tokens, from, cache, ownEnvironment }) {
  if (cache !== undefined) await mkdir(cache, { recursive: true });
  const rows = await withFolder({ ownEnvironment, parent: cache }, async (place, environment) => {
    const stated = { from, tokens, durability: 'FULL', audit: 'reveal' };
    const vaults = [];
    for (const count of [from, tokens]) {
      const made = await vaultOf(count, { cache: cache ?? place, environment });
      vaults.push(await openCopy(count, made, { place, environment }));
    }
    const lines = [];
    const add = (name, target, figures) =>
      lines.push(line('growth', name, { better: 'lower', target, ...figures, ...stated }));
    add('serve-ready', 1.3, await inRounds(rounds, vaults, timeToReady));
    try {
      for (const vault of vaults) {
        vault.daemon = await serve([], vault.env);
        vault.request = benchRequests(vault.keys, `127.0.0.1:${vault.daemon.port}`);
      }
      for (const row of CASES) {
        add(row.case, row.target, await inRounds(rounds, vaults, (vault) => roundOf(row, vault, seconds)));
      }
      return [...lines, ...sizeLines(vaults[1], stated)];
    } finally {
      for (const vault of vaults) await vault.daemon?.stop();
    }
  });
  const title = `Growth from ${from} to ${tokens} tokens, p50 at ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s; Node ${process.versions.node}`;
  return { title, rows };
}
