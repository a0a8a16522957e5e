import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from './folder.ts';

export interface SourceGuard {
  readonly name: string;
  readonly file: string;
  /** A text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

export const guard = (name: string, file: string, from: string, to: string): SourceGuard => ({ name, file, from, to });

export interface Mutant extends SourceGuard {
  /** Test files. With a pattern, only the matching tests run. */
  readonly tests: readonly string[];
  readonly pattern?: string;
  /** Whether the tests run the built product, so that it must be built without the guard. */
  readonly isBuilt?: boolean;
}

const TABLE = readFileSync(new URL('mutants.txt', import.meta.url), 'utf8');

/** The guards of mutants.txt, whose header explains the format. */
export const MUTANTS: readonly Mutant[] = TABLE.trimEnd()
  .split('\n\n')
  .slice(1)
  .flatMap((block) => {
    const [file = '', ...guards] = block.split(/\n(?![-+])/);
    return guards.map((guard) => readMutant(file, guard.split('\n')));
  });

function readMutant(file: string, [head = '', ...lines]: readonly string[]): Mutant {
  const text = (sign: string) => lines.flatMap((line) => (line.startsWith(sign) ? line.slice(1) : [])).join('\n');
  const [from = '', to = text('+')] = text('-').split(' → ');
  const { name, built, tests, pattern }: Readonly<Record<string, string | undefined>> =
    /^(?<name>.*?) \| (?<built>built )?(?<tests>.*?)(?: -t (?<pattern>.*))?$/.exec(head)?.groups ?? {};
  return {
    name: name ?? head,
    file,
    from,
    to,
    tests: (tests ?? '').split(' ').map((test) => `test/${test}.test.ts`),
    isBuilt: built !== undefined,
    ...(pattern !== undefined && { pattern }),
  };
}

/** The numbers of tests that passed and failed. `broken` is the reason why no test ran. */
interface TestRun {
  readonly passed: number;
  readonly failed: number;
  readonly broken: string | undefined;
}

/** More words and variables for Vitest, and the milliseconds after which it is killed. */
interface RunOptions {
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly maxMs: number;
}

export type MutantCopy = ReturnType<typeof copySources>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Some tests of processes run commands of the build. They start a daemon of the sources. */
const COPIED = [
  ...['src', 'test', 'scripts', 'bin', 'dist', 'docs', 'deploy'],
  ...['README.md', 'package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'],
];
/** Milliseconds after which a mutant that hangs counts as killed. */
const MAX_MS = 120_000;

/** Enough for a check that imports the copied sources instead of running tests or the product. */
export const IMPORTED = ['src', 'test', 'scripts', 'package.json'];

/** Copies the sources and tests, so that guards can be removed. */
export function copySources(copied: readonly string[] = COPIED) {
  const { path: folder, [Symbol.dispose]: remove } = makeFolder();
  for (const name of copied) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');

  /** Runs Vitest. Resolves to its report, or to undefined when it did not end within `maxMs`. */
  async function run(files: readonly string[], { words, env, maxMs }: RunOptions): Promise<Report | undefined> {
    const report = join(folder, 'report.json');
    rmSync(report, { force: true });
    const all = ['run', ...files, '--mode=all', '--reporter=json', `--outputFile=${report}`, '--no-cache', ...words];
    const runner = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
    const child = spawn(process.execPath, [runner, ...all], {
      cwd: folder,
      stdio: 'ignore',
      env: { ...process.env, ...env },
      timeout: maxMs,
      killSignal: 'SIGKILL',
    });
    await once(child, 'exit');
    return child.signalCode === null ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
  }

  async function test(files: readonly string[], pattern?: string): Promise<TestRun> {
    const report = await run(files, { words: pattern === undefined ? [] : ['-t', pattern], maxMs: MAX_MS });
    return report === undefined ? { passed: 0, failed: 1, broken: undefined } : readReport(report);
  }

  /** Runs test files. Resolves to those that fail, or to undefined when the run does not end within `maxMs`. */
  async function failedFiles(files: readonly string[], options: RunOptions): Promise<readonly string[] | undefined> {
    const report = await run(files, options);
    const failed = report?.testResults.filter(({ status }) => status === 'failed');
    return failed?.map(({ name }) => relative(realpathSync(folder), name).replaceAll(sep, '/'));
  }

  /** Removes a guard. Returns a function that restores it. Throws when the guard does not fit the source. */
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

  function build(): boolean {
    const run = (script: string) =>
      spawnSync(process.execPath, [join('scripts', script)], { cwd: folder, stdio: 'ignore' });
    return ['build-validators.ts', 'build-bundle.ts'].every((script) => run(script).status === 0);
  }

  return {
    folder,
    removeGuard,
    build,
    test,
    failedFiles,
    /** Runs the mutant's tests without its guard, then restores the guard. Rejects when the row does not fit the source. */
    async testMutant(mutant: Mutant): Promise<TestRun> {
      const restore = removeGuard(mutant);
      const isBroken = mutant.isBuilt && !build();
      try {
        if (isBroken) return { passed: 0, failed: 0, broken: 'the product cannot be built' };
        return await test(mutant.tests, mutant.pattern);
      } finally {
        restore();
        if (mutant.isBuilt) build();
      }
    },
    [Symbol.dispose]: remove,
  };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly name: string; readonly status: string; readonly message: string }[];
}

/** Reads a test report. If no test ran, the mutant is not a valid program and proves nothing. */
function readReport({ numPassedTests, numFailedTests, testResults }: Report): TestRun {
  const ran = numPassedTests + numFailedTests;
  const broken = ran > 0 ? undefined : (testResults.find(({ message }) => message !== '')?.message ?? 'no test ran');
  return { passed: numPassedTests, failed: numFailedTests, broken };
}

/** A change without effect, which no test can detect. */
export const HARMLESS: Mutant = {
  name: 'a sum that is written in another way',
  file: 'src/core/tokens/validate-data.ts',
  from: 'sum += doubled > 9 ? doubled - 9 : doubled;',
  to: 'sum += doubled > 9 ? -9 + doubled : doubled;',
  tests: ['test/unit/token-types.test.ts'],
};
