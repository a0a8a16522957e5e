const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { ON_A_VAULT, ON_FILES, SEED, ownFetch } = require('./calls.cjs');

/** The timers of Node, as they are before a test installs fakes. */
const { clearTimeout, setTimeout } = require('node:timers');

/**
 * The arguments of each run: the mode of the vault, and whether its test fakes the timers. `RUNNERS_CASES` limits their
 * number.
 */
const ALL = [
  ['in-process', false],
  ['in-process', true],
  ['child', true],
  ['child', false],
];
exports.CASES = ALL.slice(0, process.env.RUNNERS_CASES);

/** The time of faked clocks. */
exports.FAR = Date.parse('2040-01-01T00:00:00Z');

const MAX_CALL_MS = Number(process.env.RUNNERS_MAX_CALL_MS ?? 20_000);

/** Rejects when a call takes too long, which is how a vault under fake timers fails. */
async function inTime(call) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no result in time')), MAX_CALL_MS);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Makes all calls with the functions of the package, and writes their results into a file of the folder
 * `RUNNERS_RESULTS`. A call that throws has its message as the result, and is the last one.
 */
exports.runCalls = async function runCalls(mode, { startVault, openVault, createClient, VaultError }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'runners-'));
  const file = (name) => path.join(folder, name);
  const results = [];
  const record = async (name, call) => results.push([name, await inTime(call())]);
  try {
    writeFileSync(file('seed.yaml'), SEED);
    const vault = await inTime(startVault({ mode, seed: 7, seedFile: file('seed.yaml') }));
    const clientOf = (options) =>
      createClient({ url: vault.url, apiKey: vault.keys.private_key, fetch: ownFetch, ...options });
    const context = { vault, openVault, VaultError, clientOf, file, kept: {} };
    for (const [name, call] of Object.entries({ ...ON_A_VAULT, ...ON_FILES }))
      await record(name, async () => call(context));
  } catch (error) {
    results.push(['failed', String(error?.stack ?? error)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    const into = mkdtempSync(path.join(process.env.RUNNERS_RESULTS, 'run-'));
    writeFileSync(path.join(into, 'results.json'), JSON.stringify(results));
  }
};
