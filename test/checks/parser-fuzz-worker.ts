import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { startCoverage } from './parser-fuzz-coverage.ts';
import { mutate } from './parser-fuzz-mutate.ts';
import { loadSubjects, type Subject } from './parser-fuzz-subjects.ts';
import { seededNumbers } from './perform.ts';

export interface FuzzJob {
  /** The folder whose `src` contains the parsers. */
  readonly root: string;
  readonly seed: number;
  readonly milliseconds: number;
  /** Fuzzes only this subject. */
  readonly only?: string;
  /** Shared memory for the progress: `[inputs started, length of the current input]`, then its characters. */
  readonly progress: SharedArrayBuffer;
}

export interface FuzzTally {
  readonly inputs: number;
  readonly corpus: number;
  readonly blocks_of_seeds: number;
  readonly blocks: number;
  /** The property that does not hold, and the text. */
  readonly flaw?: string;
}

/** Inputs between two coverage reads. One read takes as long as dozens of inputs. */
const BATCH = 64;

async function fuzz({ root, seed, milliseconds, only, progress }: FuzzJob): Promise<FuzzTally> {
  const coverage = startCoverage(`${pathToFileURL(root).href}/src/`);
  const subjects = (await loadSubjects(root)).filter(({ name }) => only === undefined || name === only);
  const random = seededNumbers(seed);
  const head = new Int32Array(progress, 0, 2);
  const characters = new Uint16Array(progress, 8);
  const corpora = subjects.map(({ seeds }) => [...seeds]);
  const seen = new Set<string>();
  let blocksOfSeeds = 0;
  let inputs = 0;

  async function feed(subject: Subject, text: string): Promise<string | undefined> {
    inputs += 1;
    for (let at = 0; at < text.length; at += 1) characters[at] = text.charCodeAt(at);
    head[1] = text.length;
    Atomics.store(head, 0, inputs);
    try {
      await subject.try(text, random);
      return undefined;
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return `${subject.name} ${what}: ${JSON.stringify(text)}`;
    }
  }

  const tally = (flaw?: string): FuzzTally => ({
    inputs,
    corpus: corpora.reduce((sum, { length }) => sum + length, 0),
    blocks_of_seeds: blocksOfSeeds,
    blocks: seen.size,
    ...(flaw !== undefined && { flaw }),
  });

  /** Returns the blocks that ran for the first time. */
  function takeFresh(): Set<string> {
    const fresh = new Set([...coverage.take()].filter((block) => !seen.has(block)));
    for (const block of fresh) seen.add(block);
    return fresh;
  }

  for (const subject of subjects) {
    for (const text of subject.seeds) {
      const flaw = await feed(subject, text);
      if (flaw !== undefined) return tally(flaw);
    }
  }
  takeFresh();
  blocksOfSeeds = seen.size;

  const end = performance.now() + milliseconds;
  /** Milliseconds by subject. All get the same time, because one CSV text takes as long as forty JSON texts. */
  const spent = subjects.map(() => 0);
  for (let now = performance.now(); now < end; ) {
    const next = spent.indexOf(Math.min(...spent));
    const [subject, corpus] = [subjects[next], corpora[next]];
    if (subject === undefined || corpus === undefined) throw new Error('unreachable: a corpus for each subject');
    const batch = Array.from({ length: BATCH }, () => mutate(corpus, subject.dictionary, random));
    for (const text of batch) {
      const flaw = await feed(subject, text);
      if (flaw !== undefined) return tally(flaw);
    }
    const fresh = takeFresh();
    for (const text of fresh.size === 0 ? [] : batch) {
      await feed(subject, text);
      const reached = [...coverage.take()].filter((block) => fresh.delete(block));
      if (reached.length > 0) corpus.push(text);
    }
    spent[next] = (spent[next] ?? 0) + performance.now() - now;
    now = performance.now();
  }
  coverage.stop();
  return tally();
}

parentPort?.postMessage(await fuzz(workerData as FuzzJob));
