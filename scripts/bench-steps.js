import { randomBytes } from 'node:crypto';
import path from 'node:path';
import Database from 'better-sqlite3';
import { line } from './bench-figures.js';
import { withTimedSources } from './bench-timed-build.js';
import { cardBody, folderInMemory, withFolder } from './bench-vault.js';
import { REVEAL_RULE } from './run-vault.js';

const TOKENS = 2000;
/** Rounds are short, so that some are not interrupted; the audit of reads is written once in 256 of them. */
const GETS_A_ROUND = 512;
const CREATES_A_ROUND = 64;
const WARM_UP_ROUNDS = 10;

/** Statement → step: the first that matches. */
const STATEMENTS = [
  [/^(BEGIN|COMMIT|ROLLBACK|UPDATE change)/, 'commit'],
  [/\baudit\b/, 'audit'],
  [/^INSERT INTO token_index/, 'index rows'],
  [/^INSERT INTO token\b/, 'insert'],
  [/\b(token_count|active_count)\b/, 'counters'],
  [/^(SELECT|PRAGMA)/, 'store read'],
];

const METHODS = { findToken: 'store read', findShownToken: 'store read', insertToken: 'store', appendAudit: 'audit' };

/** Every statement of better-sqlite3 counts for its step from now on. Answers what ends that. */
function timeStatements({ timed }) {
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql);
    const [, step] = STATEMENTS.find(([pattern]) => pattern.test(sql.trim())) ?? [undefined, 'store'];
    for (const name of ['run', 'get', 'all']) statement[name] = timed(step, statement[name].bind(statement));
    return statement;
  };
  return () => {
    Database.prototype.prepare = prepare;
  };
}

/** A vault in this process with timers around its store and keyring; `call` throws when the status is not the expected one. */
async function openTimedVault(product, folder) {
  const { createVault, composeVault, openVaultFile, followMasterKey, timedMethods } = product;
  const file = path.join(folder, 'vault.db');
  const credential = { kind: 'key_file', key: randomBytes(32) };
  const created = await createVault({ file, credential, tenantName: 'bench' });
  await created.vault.close();
  const { header, store } = await openVaultFile(file);
  const keyring = await followMasterKey(header, credential, () => store.header());
  const vault = composeVault({
    file,
    store: timedMethods(store, METHODS),
    keyring: timedMethods(keyring, { auditLink: 'audit' }),
  });
  async function call(apiKey, operation, expected, parts) {
    const reply = await vault.dispatch({ operation, apiKey, params: {}, query: [], ...parts });
    if (reply.status !== expected) throw new Error(`${operation}: ${reply.status} ${reply.bodyText}`);
    return reply.bodyText;
  }
  const json = (body) => ({ mediaType: 'application/json', bodyText: body });
  const makeKey = async (name, rule) => {
    const body = JSON.stringify({ name, type: 'private', rules: [rule] });
    return JSON.parse(await call(created.application.key, 'createApplication', 201, json(body))).key;
  };
  const reveal = await makeKey('reveal', REVEAL_RULE);
  const mask = await makeKey('mask', { ...REVEAL_RULE, transform: 'mask' });
  let made = 0;
  return {
    create: () => call(reveal, 'createToken', 201, json(cardBody(made++))),
    getRevealed: (id) => call(reveal, 'getToken', 200, { params: { id } }),
    getMasked: (id) => call(mask, 'getToken', 200, { params: { id } }),
    close: () => vault.close(),
  };
}

const total = (steps) => [...steps.values()].reduce((sum, ms) => sum + ms, 0);

/**
 * Microseconds of one call by step, in the quickest of the rounds, which was the least disturbed; and of a whole call without
 * timers, likewise.
 */
async function breakDown({ timeSteps }, { rounds, calls, call }) {
  const repeat = async () => {
    for (let n = 0; n < calls; n += 1) await call(n);
  };
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await repeat();
  let quickest = new Map([['', Number.POSITIVE_INFINITY]]);
  let whole = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const found = await timeSteps(repeat);
    if (total(found) < total(quickest)) quickest = found;
    const started = performance.now();
    await repeat();
    whole = Math.min(whole, performance.now() - started);
  }
  const each = (ms) => (ms / calls) * 1000;
  const shares = [...quickest].map(([step, ms]) => ({ step, us: each(ms), percent: (ms / total(quickest)) * 100 }));
  return { steps: shares.sort((a, b) => b.us - a.us), whole: each(whole) };
}

/**
 * Where the time of a get and of a create goes, without HTTP: one call after the other on a file in this process, so a create
 * pays alone for the commit that 32 at once would share. The file is in memory where there is such a folder: then a commit is
 * what it costs without waiting for a disk.
 */
export async function steps({ rounds, ownEnvironment }) {
  const inMemory = await folderInMemory();
  const rows = await withFolder({ ownEnvironment, parent: inMemory }, (folder) =>
    withTimedSources(async (product) => {
      const end = timeStatements(product);
      const vault = await openTimedVault(product, folder);
      try {
        const ids = [];
        for (let n = 0; n < TOKENS; n += 1) ids.push(JSON.parse(await vault.create()).id);
        const idOf = (n) => ids[(n * 1597) % TOKENS];
        const cases = {
          'get-masked': { calls: GETS_A_ROUND, call: (n) => vault.getMasked(idOf(n)) },
          'get-revealed': { calls: GETS_A_ROUND, call: (n) => vault.getRevealed(idOf(n)) },
          create: { calls: CREATES_A_ROUND, call: () => vault.create() },
        };
        const lines = [];
        for (const [name, parts] of Object.entries(cases)) {
          const { steps: found, whole } = await breakDown(product, { rounds, ...parts });
          lines.push(...found.map(({ step, ...figures }) => line('steps', `${name}: ${step}`, figures)));
          lines.push(line('steps', `${name}: whole call, without timers`, { us: whole }));
        }
        return lines;
      } finally {
        await vault.close();
        end();
      }
    }),
  );
  const place = inMemory === undefined ? 'a file on disk' : 'a file in memory';
  const title = `Microseconds by step, without HTTP, one call at a time, ${place}, synchronous=FULL, audit reveal; Node ${process.versions.node}`;
  return { title, rows };
}
