import { hash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copySources, type Mutant } from '../mutants-run.ts';
import { countsReader } from './executed-lines.ts';

const WORDS = ['--config=test/checks/kill-matrix/vitest.config.ts'];
/** Milliseconds after which a run of several test files, or of one, is killed. */
const [MAX_MS, MAX_FILE_MS] = [900_000, 120_000];
/** So few killers run again, each by itself: the test files of a mutant share a process, and one may upset another. */
const FEW = 3;

/** The lines of src/ that a test file executes, by file. */
interface Mapped {
  /** The hashes of the files that the answer depends on. */
  readonly hashes: Readonly<Record<string, string>>;
  readonly lines: Readonly<Record<string, readonly number[]>>;
  /** Whether it runs the built product. */
  readonly built: boolean;
  /** Whether it passes without a mutant. */
  readonly passed: boolean;
}

/** A copy of the checkout, in which one thing runs at a time. */
export interface Bench {
  mapOf(test: string): Promise<Mapped>;
  /** Resolves to the test files that fail with a mutant. `built` says that the mutant must also be in the bundles. */
  killersOf(mutant: Mutant, tests: readonly string[], built: boolean): Promise<readonly string[]>;
}

/** Returns the lines of a mutant's text. */
export function linesOfMutant({ from }: Mutant, text: string): readonly number[] {
  const first = text.slice(0, text.indexOf(from)).split('\n').length;
  return from.split('\n').map((_, index) => first + index);
}

/** Makes a copy of the checkout whose bundles have source maps. `cache` is the folder that keeps the maps. */
export function openBench(cache: string): Bench {
  const copy = copySources();
  const inCopy = (file: string) => join(copy.folder, file);
  copy.removeGuard({
    name: 'bundles have no source maps',
    file: 'scripts/build-bundle.ts',
    from: '  minifySyntax: true,',
    to: "  minifySyntax: true, sourcemap: 'external', preserveSymlinks: true,",
  });
  copy.build();
  const read = countsReader(copy.folder);
  const hashOf = (file: string) => (existsSync(inCopy(file)) ? hash('sha1', readFileSync(inCopy(file))) : '');

  async function measure(test: string): Promise<Mapped> {
    const counts = inCopy('counts');
    rmSync(counts, { recursive: true, force: true });
    mkdirSync(counts);
    const env = { NODE_V8_COVERAGE: counts, NODE_DISABLE_COMPILE_CACHE: '1' };
    const failed = await copy.failedFiles([test], { words: WORDS, env, maxMs: MAX_MS });
    const { files, lines } = read(counts);
    const data = globSync(`${dirname(test)}/*.{txt,json,ndjson}`, { cwd: copy.folder });
    const own = [...files, ...data].filter((file) => !file.startsWith('dist/')).sort();
    return {
      hashes: Object.fromEntries([test, ...own].map((file) => [file, hashOf(file)])),
      lines,
      built: [...files].some((file) => file.startsWith('dist/')),
      passed: failed?.length === 0,
    };
  }

  async function failures(tests: readonly string[]): Promise<readonly string[]> {
    const failed = tests.length > 1 ? await copy.failedFiles(tests, { words: WORDS, maxMs: MAX_MS }) : tests;
    if (failed !== undefined && failed.length > FEW) return failed;
    const alone: string[] = [];
    for (const test of failed ?? tests) {
      alone.push(...((await copy.failedFiles([test], { words: WORDS, maxMs: MAX_FILE_MS })) ?? [test]));
    }
    return alone;
  }

  return {
    async mapOf(test) {
      const kept = join(cache, `${test.replaceAll('/', '__')}.json`);
      const found: Mapped | undefined = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : undefined;
      if (found && Object.entries(found.hashes).every(([file, own]) => hashOf(file) === own)) return found;
      const mapped = await measure(test);
      mkdirSync(cache, { recursive: true });
      writeFileSync(kept, JSON.stringify(mapped));
      return mapped;
    },
    async killersOf(mutant, tests, built) {
      const restore = copy.removeGuard(mutant);
      try {
        return built && !copy.build() ? ['the build'] : await failures(tests);
      } finally {
        restore();
      }
    },
  };
}
