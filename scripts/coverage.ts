/**
 * Measures the branch coverage of access control with V8's block counts. Runs the tests of `COVERING`. Prints each file's
 * coverage and the blocks that never ran. Exits with 1 when a test fails, or a folder's coverage is below 98 %.
 *
 *   npm run coverage [-- --folder src/core/access …]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startVitest } from 'vitest/node';
import { ROOT } from './build-output.ts';
import { parseFlags } from './parse-flags.ts';

const FOLDERS = ['src/core/access', 'src/core/tokens', 'src/keyring'];
const MIN_SHARE = 0.98;

/** The tests of these folders, by the beginnings of their paths. */
const COVERING = [
  ...['test/contract', 'test/conformance/keyring', 'test/vectors'],
  ...`access- accounts activity altered-rows compare-records core- data-limit expires-at explain-access
    expressions. fingerprints idempotency keyring large-pages list- opened-token preview query-test reach realms replays
    require-found rotate-tenant rotate-beside search-query sent-back show-token stored- sums ticks token unread- update-`
    .split(/\s+/)
    .map((name) => `test/unit/${name}`),
];

const { values } = parseFlags('coverage', 'node scripts/coverage.ts [--folder FOLDER …]', {
  options: { folder: { type: 'string', multiple: true, default: FOLDERS } },
});

/** A block of code and how often it ran, as V8 reports it. */
interface Block {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The functions of a file in one report. */
type Functions = readonly { readonly ranges: readonly Block[] }[];

interface V8Report {
  readonly result: readonly { readonly url: string; readonly functions: Functions }[];
}

/** The number of blocks in a file, and a line of text for each block that never ran. */
interface Measured {
  readonly blocks: number;
  readonly missed: readonly string[];
}

/** Runs the tests. Node strips the types in place, so V8's offsets match the sources. */
async function runTests() {
  const vitest = await startVitest('test', COVERING, {
    root: ROOT,
    watch: false,
    reporters: ['dot'],
    maxWorkers: 2,
    // A test that measures time may fail once while V8 counts.
    retry: 1,
    setupFiles: [path.join(ROOT, 'scripts', 'coverage-setup.ts')],
    experimental: { viteModuleRunner: false },
  });
  // Sets the exit code 1 when a test failed.
  await vitest.close();
}

/** Returns the files under the measured folders by URL, each with its functions in every report. */
function readReports(folder: string): ReadonlyMap<string, readonly Functions[]> {
  const files = new Map<string, readonly Functions[]>();
  const wanted = values.folder.map((name) => `${pathToFileURL(path.join(ROOT, name)).href}/`);
  for (const name of readdirSync(folder)) {
    const { result }: V8Report = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    for (const { url, functions } of result) {
      if (wanted.some((prefix) => url.startsWith(prefix))) files.set(url, [...(files.get(url) ?? []), functions]);
    }
  }
  return files;
}

/** Returns how often each character ran in one report, according to its innermost block. */
function countsOf(functions: Functions, length: number): Float64Array {
  const counts = new Float64Array(length);
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) counts.fill(count, startOffset, endOffset);
  }
  return counts;
}

function measure(url: string, reports: readonly Functions[]): Measured {
  const text = readFileSync(new URL(url), 'utf8');
  const total = new Float64Array(text.length);
  const blocks = new Map<string, Block>();
  for (const functions of reports) {
    countsOf(functions, text.length).forEach((count, at) => {
      total[at] = (total[at] ?? 0) + count;
    });
    // V8 counts a closing brace after a return as a block.
    const ranges = functions.flatMap((each) => each.ranges).filter((range) => /\w/.test(textOf(text, range)));
    for (const range of ranges) blocks.set(`${range.startOffset}:${range.endOffset}`, range);
  }
  const missed = [...blocks.values()].filter(
    ({ startOffset, endOffset }) => !total.subarray(startOffset, endOffset).some((count) => count > 0),
  );
  const lines = missed.map((block) => {
    const line = text.slice(0, block.startOffset).split('\n').length;
    return `${line}: ${textOf(text, block).replaceAll(/\s+/g, ' ').slice(0, 80)}`;
  });
  return { blocks: blocks.size, missed: lines };
}

const textOf = (text: string, { startOffset, endOffset }: Block) => text.slice(startOffset, endOffset);
const shareOf = (files: readonly Measured[]) => {
  const sum = (count: (file: Measured) => number) => files.reduce((all, file) => all + count(file), 0);
  return (
    1 -
    sum(({ missed }) => missed.length) /
      Math.max(
        1,
        sum(({ blocks }) => blocks),
      )
  );
};
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

const folder = mkdtempSync(path.join(tmpdir(), 'vault-coverage-'));
process.env['NODE_V8_COVERAGE'] = folder;
try {
  await runTests();
  const files = [...readReports(folder)].map(([url, reports]) => ({
    name: path.relative(ROOT, fileURLToPath(url)),
    ...measure(url, reports),
  }));
  for (const name of values.folder) {
    const own = files.filter((file) => file.name.startsWith(`${name}/`)).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const file of own) {
      process.stdout.write(`${percent(shareOf([file])).padStart(8)}  ${file.name}\n`);
      for (const line of file.missed) process.stdout.write(`          ${line}\n`);
    }
    const share = shareOf(own);
    process.stdout.write(`${percent(share).padStart(8)}  ${name}: ${own.length} files\n`);
    if (own.length === 0 || share < MIN_SHARE) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
