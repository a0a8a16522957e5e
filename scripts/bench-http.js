import path from 'node:path';
import { againstBare } from './bench-against-bare.js';
import { bareServer, serve } from './bench-daemon.js';
import { line } from './bench-figures.js';
import { CONNECTIONS } from './bench-load.js';
import { openRawCopy, tokenIds } from './bench-raw-sqlite.js';
import { benchRequests, sample } from './bench-requests.js';
import { importCards, makeBenchVault, TOKENS_A_CUSTOMER, withFolder } from './bench-vault.js';

/** Different requests that a case goes through: enough that no cache of a few entries answers them all. */
const DIFFERENT = 8192;

const ofSome = (of) => (vault) => sample(vault.ids, DIFFERENT).map((id, n) => of(vault.request, id, n));

/**
 * The cases, in this order on one vault. `requests` makes a round's, `most` of those that are sent `once`; others are
 * sent again when all have been. `raw` has the same rows put into SQLite in each round. `aside` is measured, but is no line of its own.
 */
const CASES = [
  {
    case: 'create',
    target: 0.25,
    expected: 201,
    once: true,
    raw: { case: 'create-to-raw-sqlite', target: 0.45 },
    requests: (vault, most) => {
      const from = vault.made;
      vault.made += most;
      return Array.from({ length: vault.made - from }, (_, n) => vault.request.create(from + n));
    },
  },
  { case: 'get-masked', target: 0.55, expected: 200, requests: ofSome((request, id) => request.get('mask', id)) },
  { case: 'get-revealed', target: 0.45, expected: 200, requests: ofSome((request, id) => request.get('reveal', id)) },
  {
    case: 'list-20-revealed',
    target: 0.12,
    expected: 200,
    requests: ({ request }) => [request.list('reveal', 'size=20')],
  },
  {
    case: 'list-by-metadata',
    target: 0.12,
    expected: 200,
    requests: ({ request, tokens }) => {
      const customers = Array.from({ length: Math.floor(tokens / TOKENS_A_CUSTOMER) }, (_, number) => number);
      return sample(customers, DIFFERENT).map((number) => request.ofCustomer(number));
    },
  },
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
    case: 'patch',
    target: 0.2,
    expected: 200,
    once: true,
    requests: ({ request, ids }, most) => Array.from({ length: most }, (_, n) => request.patch(ids[n % ids.length], n)),
  },
  {
    case: 'get-revealed-audit-mutations',
    target: 0.55,
    expected: 200,
    audit: 'mutations',
    requests: ofSome((request, id) => request.get('reveal', id)),
  },
  {
    case: 'delete',
    target: 0.2,
    expected: 204,
    once: true,
    requests: (vault, most, left) =>
      vault.ids
        .splice(0, Math.max(1, Math.ceil(Math.min(vault.ids.length / left, most))))
        .map((id) => vault.request.delete(id)),
  },
];

export const HTTP_CASES = CASES.map((row) => row.case);

/** Case → its other line, against raw SQLite. */
export const RAW_CASES = Object.fromEntries(CASES.filter(({ raw }) => raw).map((row) => [row.case, row.raw.case]));

/** Those that wait for the disk. */
export const WRITE_CASES = CASES.filter((row) => row.once).map((row) => row.case);

/** Lines of one case. */
function linesOf(
  { case: name, target, audit = 'reveal', note, raw },
  { raw: toRaw, ...figures },
  { durability, workers },
) {
  const stated = { durability, audit };
  const bench = workers === 1 ? 'http' : `http-${workers}-workers`;
  const { per_second } = figures;
  return [
    line(bench, name, { target, ...figures, ...stated, note }),
    ...(raw ? [line(bench, raw.case, { ...toRaw, target: raw.target, per_second, ...stated })] : []),
  ];
}

/**
 * The daemon's operations over 32 keep-alive connections, each as a ratio to a bare `node:http` server that reads the same
 * request bytes and answers the same response bytes, and, for create, to the same rows put straight into SQLite. `only`
 * names some of the cases. `inMemory` is a folder of a file system in memory, where a sync costs nothing. `workers` is how many
 * processes serve, where it is more than one.
 */
export async function http({
  rounds,
  seconds,
  warmUp,
  tokens,
  ownEnvironment,
  only = HTTP_CASES,
  inMemory,
  workers = 1,
}) {
  const cases = CASES.filter((row) => only.includes(row.case));
  const durability = inMemory === undefined ? 'FULL' : 'FULL, in memory';
  const bare = await bareServer();
  const served = workers === 1 ? [] : ['--workers', String(workers)];
  const title = `HTTP, ${CONNECTIONS} connections${workers === 1 ? '' : `, ${workers} workers`}, ${rounds} rounds of ${seconds} s, ${tokens} tokens; Node ${process.versions.node}`;
  try {
    const rows = await withFolder({ ownEnvironment, parent: inMemory }, async (folder, environment) => {
      const made = await makeBenchVault(folder, environment);
      await importCards(made, tokens);
      const rawCopy = cases.some(({ raw }) => raw) ? openRawCopy(made.file, path.join(folder, 'raw.db')) : undefined;
      rawCopy?.catchUp();
      const lines = [];
      let daemon;
      let level;
      try {
        for (const row of cases) {
          if (daemon === undefined || level !== row.audit) {
            await daemon?.stop();
            daemon = await serve([...served, ...(row.audit === undefined ? [] : ['--audit', row.audit])], made.env);
            level = row.audit;
          }
          const request = benchRequests(made.keys, `127.0.0.1:${daemon.port}`);
          const vault = { request, tokens, ids: tokenIds(made.file), made: tokens };
          const figures = await againstBare(row, { vault, daemon, bare, rounds, seconds, warmUp, rawCopy });
          lines.push(...linesOf(row, figures, { durability, workers }));
        }
      } finally {
        await daemon?.stop();
        rawCopy?.close();
      }
      return lines;
    });
    return { title, rows };
  } finally {
    bare.stop();
  }
}
