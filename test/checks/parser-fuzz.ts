import { Worker } from 'node:worker_threads';
import { ROOT } from '../../scripts/build-output.ts';
import { type Check, CheckFailure, type CheckOptions, mustAllFail } from './check.ts';
import { copySources, IMPORTED } from './mutants-run.ts';
import type { FuzzJob, FuzzTally } from './parser-fuzz-worker.ts';

const MILLISECONDS = { quick: 4_000, full: 600_000 } as const;
/** The maximum time for one text, in milliseconds. A slower parser counts as hanging. */
const MAX_INPUT_MS = 5_000;
const LOOK_EVERY_MS = 250;
const MAX_LENGTH = 1 << 20;

/** Fuzzes in a separate thread, which can be terminated when a parser hangs. */
async function fuzz(job: Omit<FuzzJob, 'progress'>): Promise<FuzzTally> {
  const progress = new SharedArrayBuffer(8 + 2 * MAX_LENGTH);
  const worker = new Worker(new URL('parser-fuzz-worker.ts', import.meta.url), { workerData: { ...job, progress } });
  const head = new Int32Array(progress, 0, 2);
  let begun = 0;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<FuzzTally>((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
      timer = setInterval(() => {
        const inputs = Atomics.load(head, 0);
        if (inputs !== begun) since = performance.now();
        begun = inputs;
        if (inputs === 0 || performance.now() - since < MAX_INPUT_MS) return;
        const text = String.fromCharCode(...new Uint16Array(progress, 8, head[1]));
        resolve({ inputs, corpus: 0, blocks_of_seeds: 0, blocks: 0, flaw: `does not end: ${JSON.stringify(text)}` });
      }, LOOK_EVERY_MS);
    });
  } finally {
    clearInterval(timer);
    await worker.terminate();
  }
}

async function run({ seed, quick }: CheckOptions) {
  const milliseconds = MILLISECONDS[quick ? 'quick' : 'full'];
  const { flaw, ...figures } = await fuzz({ root: ROOT, seed, milliseconds });
  if (flaw !== undefined) throw new CheckFailure(flaw, figures);
  if (figures.blocks <= figures.blocks_of_seeds)
    throw new CheckFailure('nothing was reached beyond the seeds', figures);
  return figures;
}

/** A bug for each parser: the file, a text in it, and its replacement. The first bug hangs. */
const BUGS = [
  [
    'json',
    'core/json/parse.ts',
    "if (code !== COMMA) throw refuse(cursor, 'syntax', 'expected a comma or a closing bracket');",
    "while (code === 0x0b); if (code !== COMMA) throw refuse(cursor, 'syntax', 'expected a comma');",
  ],
  [
    'template',
    'core/expressions/parse-template.ts',
    'if (name === undefined) throw noOutput',
    'if (name === undefined) throw TypeError',
  ],
  ['csv', 'cli/commands/transfer/csv-rows.ts', "piece.split('\\0', 2)", "piece.trimEnd().split('\\0', 2)"],
  ['ndjson', 'cli/commands/transfer/input-file.ts', "rest = texts.pop() ?? '';", "rest = (texts.pop() ?? '').trim();"],
] as const;

async function findBug([only, file, from, to]: (typeof BUGS)[number], seed: number): Promise<void> {
  using copy = copySources(IMPORTED);
  copy.removeGuard({ name: only, file: `src/${file}`, from, to });
  const { flaw } = await fuzz({ root: copy.folder, seed, only, milliseconds: 60_000 });
  if (flaw !== undefined) throw new CheckFailure(flaw);
}

const control = ({ seed }: CheckOptions) => mustAllFail(BUGS.map((bug) => () => findBug(bug, seed)));

/** Checks that the parsers terminate on any text, return correct results, and throw only defined errors. */
export const CHECK: Check = { number: 21, name: 'parser fuzz', quick: true, runs: 'early', run, control };
