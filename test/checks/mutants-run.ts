import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A guard to remove from the source. */
export interface SourceGuard {
  readonly name: string;
  readonly file: string;
  /** A text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

/** A guard to remove, and the tests that must then fail. */
export interface Mutant extends SourceGuard {
  /** Test files. With a pattern, only the matching tests run. */
  readonly tests: readonly string[];
  readonly pattern?: string;
}

const TABLE = readFileSync(new URL('mutants.txt', import.meta.url), 'utf8');

/** The rows of mutants.txt, whose header explains the format. */
export const MUTANTS: readonly Mutant[] = TABLE.trimEnd()
  .split('\n\n')
  .slice(1)
  .map((row) => {
    const [name = '', place = '', ...lines] = row.split('\n');
    const text = (sign: string) =>
      lines
        .filter((line) => line.startsWith(sign))
        .map((line) => line.slice(1))
        .join('\n');
    const {
      file = '',
      tests = '',
      pattern,
    } = /^(?<file>.*?): (?<tests>.*?)(?: -t (?<pattern>.*))?$/.exec(place)?.groups ?? {};
    return { name, file, from: text('-'), to: text('+'), tests: tests.split(' '), ...(pattern && { pattern }) };
  });

/** The numbers of tests that passed and failed. `broken` is the reason why no test ran. */
export interface TestRun {
  readonly passed: number;
  readonly failed: number;
  readonly broken: string | undefined;
}

/** A copy of the sources and tests in which guards can be removed. */
export interface MutantCopy {
  readonly folder: string;
  /** Removes a guard. Returns a function that restores it. Throws when the guard does not fit the source. */
  removeGuard(guard: SourceGuard): () => void;
  test(files: readonly string[], pattern?: string): Promise<TestRun>;
  /**
   * Runs the mutant's tests without its guard, then restores the guard. Rejects when the row does not fit the source.
   */
  testMutant(mutant: Mutant): Promise<TestRun>;
  remove(): void;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Some tests of processes run commands of the build. They start a daemon of the sources. */
const COPIED = [
  'src',
  'test',
  'scripts',
  'bin',
  'dist',
  'docs',
  'deploy',
  'README.md',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
/** Milliseconds after which a mutant that hangs counts as killed. */
const MAX_MS = 120_000;

export function copySources(): MutantCopy {
  const folder = mkdtempSync(join(tmpdir(), 'vault-mutants-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');

  async function test(files: readonly string[], pattern?: string): Promise<TestRun> {
    const report = join(folder, 'report.json');
    rmSync(report, { force: true });
    const words = ['run', ...files, '--mode=all', '--reporter=json', `--outputFile=${report}`, '--no-cache'];
    const runner = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
    const named = pattern === undefined ? [] : ['-t', pattern];
    const child = spawn(process.execPath, [runner, ...words, ...named], {
      cwd: folder,
      stdio: 'ignore',
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
    });
    await once(child, 'exit');
    if (child.signalCode !== null) return { passed: 0, failed: 1, broken: undefined };
    return readReport(report);
  }

  function removeGuard({ name, file, from, to }: SourceGuard): () => void {
    const path = join(folder, file);
    const whole = readFileSync(path, 'utf8');
    if (whole.split(from).length !== 2) {
      throw new Error(`a stale mutant: ${name}: its text does not occur exactly once in ${file}`);
    }
    writeFileSync(
      path,
      whole.replace(from, () => to),
    );
    return () => writeFileSync(path, whole);
  }

  return {
    folder,
    removeGuard,
    test,
    async testMutant(mutant) {
      const restore = removeGuard(mutant);
      try {
        return await test(mutant.tests, mutant.pattern);
      } finally {
        restore();
      }
    },
    remove() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly message: string }[];
}

/** Reads a test report. If no test ran, the mutant is not a valid program and proves nothing. */
function readReport(path: string): TestRun {
  const { numPassedTests, numFailedTests, testResults }: Report = JSON.parse(readFileSync(path, 'utf8'));
  const ran = numPassedTests + numFailedTests;
  const broken = ran > 0 ? undefined : (testResults.find(({ message }) => message !== '')?.message ?? 'no test ran');
  return { passed: numPassedTests, failed: numFailedTests, broken };
}

/** A change without effect, which no test can detect. */
export const HARMLESS: Mutant = {
  name: 'a sum that is written in another way',
  file: 'src/core/tokens/check-digits.ts',
  from: 'sum += doubled > 9 ? doubled - 9 : doubled;',
  to: 'sum += doubled > 9 ? -9 + doubled : doubled;',
  tests: ['test/unit/token-types.test.ts'],
};
