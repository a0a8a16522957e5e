import { type Profiler, Session } from 'node:inspector';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { loadSubjects, type Subject } from './parser-fuzz-subjects.ts';
import { seededNumbers } from './perform.ts';

/** Starts block coverage of the code below a URL, before that code is loaded. */
function startCoverage(urlPrefix: string) {
  const session = new Session();
  session.connect();
  /** Posts a command. The answer is synchronous because the session belongs to this thread. */
  const post = (method: string, parameters: object = {}) => {
    let answer: unknown;
    session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answer = result;
    });
    return answer;
  };
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

  return {
    take(): ReadonlySet<string> {
      const blocks = new Set<string>();
      const { result } = post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType;
      for (const { url, scriptId, functions } of result) {
        if (!url.startsWith(urlPrefix)) continue;
        for (const { ranges } of functions) {
          for (const { count, startOffset, endOffset } of ranges) {
            if (count > 0) blocks.add(`${scriptId}:${startOffset}:${endOffset}`);
          }
        }
      }
      return blocks;
    },
    stop: () => session.disconnect(),
  };
}

type Change = (text: string, at: number, draw: Draw) => string;

/** Returns a whole number from 0 to below `end`. */
type Draw = (end: number) => number;

/** Characters that parsers may treat specially. */
const ODD = [
  ...['\0', '\v', '\u2028', '\ufeff', '\ud800', '\udc00', '\u00e9', '\u{1f600}', '"', "'", '\\', '\r\n', '-', '0'],
];

const CHANGES: readonly Change[] = [
  (text, at, draw) => text.slice(0, at) + text.slice(at + 1 + draw(8)),
  (text, at, draw) => text.slice(0, at) + text.slice(at, at + 1 + draw(16)).repeat(2 + draw(3)) + text.slice(at),
  (text, at, draw) => text.slice(0, at) + (ODD[draw(ODD.length)] ?? '') + text.slice(at),
  (text, at, draw) => text.slice(0, at) + String.fromCharCode(draw(128)) + text.slice(at + 1),
  (text, at, draw) => {
    const from = draw(text.length + 1);
    return text.slice(0, at) + text.slice(from, from + 1 + draw(24)) + text.slice(at);
  },
  (text, at, draw) => text.slice(0, at) + String(draw(2) === 0 ? draw(20) : draw(2 ** 31) ** 2) + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at, draw) => text.slice(0, at) + '[{('.charAt(draw(3)).repeat(1 + draw(70)) + text.slice(at),
];

/** The maximum length of a text. Longer texts take longer but reach no new code. */
const MAX_LENGTH = 1_200;

/** Returns a text made from one or two corpus texts. The same random numbers give the same text. */
function mutate(corpus: readonly string[], dictionary: readonly string[], random: () => number): string {
  const draw: Draw = (end) => Math.floor(random() * end);
  const pick = (from: readonly string[]) => from[draw(from.length)] ?? '';
  let text = pick(corpus);
  if (draw(4) === 0) {
    const other = pick(corpus);
    text = text.slice(0, draw(text.length + 1)) + other.slice(draw(other.length + 1));
  }
  for (let changes = 1 + draw(4); changes > 0; changes -= 1) {
    const at = draw(text.length + 1);
    const word = pick(dictionary);
    const change = CHANGES[draw(2 * CHANGES.length)];
    text = change === undefined ? text.slice(0, at) + word + text.slice(at) : change(text, at, draw);
  }
  return text.slice(0, MAX_LENGTH);
}

export interface FuzzJob {
  readonly root: string;
  readonly seed: number;
  readonly milliseconds: number;
  readonly only?: string;
  /** Shared memory for the progress: `[inputs started, length of the current input]`, then its characters. */
  readonly progress: SharedArrayBuffer;
}

export interface FuzzTally {
  readonly inputs: number;
  readonly corpus: number;
  readonly blocks_of_seeds: number;
  readonly blocks: number;
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
