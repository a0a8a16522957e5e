import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../run-vault.ts';
import { environment, execute } from './execute.ts';

/** The number of calls in test/runners/calls.cjs. */
const CALLS = 50;

/** The name and the result of each call, in the order of the calls. */
export type Results = readonly (readonly [name: string, result: unknown])[];

interface Comparison {
  readonly folder: string;
  readonly bin: string;
  readonly runs: number;
  readonly expected?: Results | undefined;
  readonly more?: Environment | undefined;
}

/** The prefix of the folders that a vault for tests makes. */
const VAULT_FOLDER = /^token-vault-/;

/** Returns a folder of its own for the temporary files of one part, and the variables that name it. */
export function temporaryOf(folder: string) {
  const temporary = path.join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  return { temporary, variables: { TMPDIR: temporary, TEMP: temporary, TMP: temporary } };
}

/** Returns the folders of vaults in a folder for temporary files. */
export const vaultsIn = (temporary: string) => readdirSync(temporary).filter((name) => VAULT_FOLDER.test(name));

/**
 * Runs a test runner that makes all calls `runs` times. Throws when the runner fails, when results are missing or
 * differ from `expected`, and when a vault leaves its folder. Returns the results of the first run.
 */
export async function compareCalls(line: string, { folder, bin, runs, expected, more = {} }: Comparison) {
  const results = path.join(folder, 'results');
  mkdirSync(results);
  const { temporary, variables } = temporaryOf(folder);
  await execute(line, { cwd: folder, env: environment([bin], { ...variables, RUNNERS_RESULTS: results, ...more }) });
  const found = readdirSync(results).map(
    (name): Results => JSON.parse(readFileSync(path.join(results, name, 'results.json'), 'utf8')),
  );
  const [first] = found;
  if (first === undefined || found.length !== runs)
    throw new Error(`\`${line}\` made the calls ${found.length} times instead of ${runs}`);
  for (const each of found) checkEqual(each, expected ?? first);
  const left = vaultsIn(temporary);
  if (left.length > 0) throw new Error(`\`${line}\` left ${left.join(', ')}`);
  return first;
}

/** Throws when a run has other results than plain Node, with the first call that differs. */
function checkEqual(results: Results, expected: Results): void {
  for (const [index, row] of expected.entries()) {
    const [wanted, got] = [row, results[index]].map((value) => JSON.stringify(value));
    if (got !== wanted) throw new Error(`other results than plain Node:\n  ${got}\n  instead of ${wanted}`);
  }
}

/** Throws when plain Node did not make all calls. */
export function checkExpected(expected: Results): void {
  const [name, result] = expected.at(-1) ?? [];
  if (name === 'failed') throw new Error(String(result));
  if (expected.length !== CALLS) throw new Error(`${expected.length} calls instead of ${CALLS}`);
}
