import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { environment, execute } from './execute.js';

/** The number of calls in test/runners/calls.cjs. */
const CALLS = 50;

/** The prefix of the folders that a vault for tests makes. */
const VAULT_FOLDER = /^token-vault-/;

/** Returns a folder of its own for the temporary files of one part, and the variables that name it. */
export function temporaryOf(folder) {
  const temporary = path.join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  return { temporary, variables: { TMPDIR: temporary, TEMP: temporary, TMP: temporary } };
}

/** Returns the folders of vaults in a folder for temporary files. */
export const vaultsIn = (temporary) => readdirSync(temporary).filter((name) => VAULT_FOLDER.test(name));

/**
 * Runs a test runner that makes all calls `runs` times. Throws when the runner fails, when results are missing or
 * differ from `expected`, and when a vault leaves its folder. Returns the results of the first run.
 */
export async function compareCalls(line, { folder, bin, runs, expected, more = {} }) {
  const results = path.join(folder, 'results');
  mkdirSync(results);
  const { temporary, variables } = temporaryOf(folder);
  await execute(line, { cwd: folder, env: environment([bin], { ...variables, RUNNERS_RESULTS: results, ...more }) });
  const found = readdirSync(results).map((name) => JSON.parse(readFileSync(path.join(results, name, 'results.json'))));
  if (found.length !== runs) throw new Error(`\`${line}\` made the calls ${found.length} times instead of ${runs}`);
  for (const each of found) checkEqual(each, expected ?? found[0]);
  const left = vaultsIn(temporary);
  if (left.length > 0) throw new Error(`\`${line}\` left ${left.join(', ')}`);
  return found[0];
}

/** Throws when a run has other results than plain Node, with the first call that differs. */
function checkEqual(results, expected) {
  for (const [index, row] of expected.entries()) {
    const [wanted, got] = [row, results[index]].map((value) => JSON.stringify(value));
    if (got !== wanted) throw new Error(`other results than plain Node:\n  ${got}\n  instead of ${wanted}`);
  }
}

/** Throws when plain Node did not make all calls. */
export function checkExpected(expected) {
  const [name, result] = expected.at(-1);
  if (name === 'failed') throw new Error(result);
  if (expected.length !== CALLS) throw new Error(`${expected.length} calls instead of ${CALLS}`);
}
