import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The files of the package in which each function is. */
const BUNDLES = ['dist/testing/start-vault.cjs', 'dist/library/open-vault.cjs'];

/** Faults that the product had: the text of the built package, and the text that has the fault. */
const FAULTS = {
  'errors of another realm': {
    files: BUNDLES,
    good: 'return typeof value == "object" && value !== null && "name" in value && "message" in value;',
    bad: 'return value instanceof Error;',
  },
  'timers of the test runner': {
    files: BUNDLES,
    good: 'Reflect.apply(machineTimers[',
    bad: 'Reflect.apply(globalThis[',
  },
  'a child that outlives its parent': {
    files: ['dist/testing/start-vault.cjs'],
    good: 'ENDS_WITH_INPUT = "VAULT_ENDS_WITH_INPUT"',
    bad: 'ENDS_WITH_INPUT = "VAULT_ENDS_WITH_NOTHING"',
  },
};

export type RunnerFault = keyof typeof FAULTS;

interface Control {
  readonly installed: string;
  readonly folder: string;
  check(): Promise<unknown>;
}

/** Copies the installed package into `folder`, and puts a fault back. Throws when the package has no such text. */
function putBack(fault: RunnerFault, installed: string, folder: string): void {
  const copy = path.join(folder, 'node_modules/token-vault');
  cpSync(installed, copy, { recursive: true });
  const { files, good, bad } = FAULTS[fault];
  for (const file of files) {
    const text = readFileSync(path.join(copy, file), 'utf8');
    if (!text.includes(good)) throw new Error(`${file} does not contain ${good}`);
    writeFileSync(path.join(copy, file), text.replace(good, bad));
  }
}

/**
 * Puts a fault back into a copy of the installed package, and makes a check of it. Throws when the check does not fail,
 * or fails with another message than `expected`.
 */
export async function checkControl(fault: RunnerFault, expected: RegExp, { installed, folder, check }: Control) {
  putBack(fault, installed, folder);
  const failure = await check().then(
    () => undefined,
    (error: unknown) => String(error),
  );
  if (failure === undefined) throw new Error('the check did not fail');
  if (!expected.test(failure)) throw new Error(`the check failed otherwise: ${failure}`);
}
