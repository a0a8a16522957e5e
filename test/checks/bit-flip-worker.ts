import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Reply } from '../../src/contract/call.ts';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';
import { checkVaultFile } from '../../src/vault-admin.ts';
import { type Answers, askAll, differenceOf, type Question } from './flipped-answers.ts';
import { seededNumbers } from './perform.ts';

/** What one worker is given: the offsets that it flips are `first`, `first + step`, … of the permuted file. */
export interface FlipJob {
  readonly bytes: Uint8Array;
  /** A path of its own, where the altered copies stand one after the other. */
  readonly file: string;
  readonly key: Uint8Array;
  readonly questions: readonly Question[];
  readonly seed: number;
  /** The offsets to flip a bit of. */
  readonly offsets: Uint32Array;
  /** For the control: what is answered is held against this one's answers, and doctor is not asked. */
  readonly blind?: boolean;
}

/** One flip that came to what must not be. */
export interface FlipTrouble {
  readonly offset: number;
  readonly bit: number;
  readonly what: string;
}

export interface FlipTally {
  readonly flips: number;
  readonly identical: number;
  /** Answered with an error that says so. */
  readonly errors: number;
  /** Something was absent without a word, and doctor named it. */
  readonly foundByDoctor: number;
  /** The same, and doctor did not. */
  readonly missed: readonly FlipTrouble[];
  readonly wrong: readonly FlipTrouble[];
  /** How often each fault and problem was the answer. */
  readonly codes: Readonly<Record<string, number>>;
}

async function flipAll({ bytes, file, key, questions, seed, offsets, blind = false }: FlipJob): Promise<FlipTally> {
  const credential = { kind: 'key_file', key } as const;
  const random = seededNumbers(seed);
  const missed: FlipTrouble[] = [];
  const wrong: FlipTrouble[] = [];
  const codes: Record<string, number> = {};
  let [identical, errors, foundByDoctor] = [0, 0, 0];

  // Nobody has the file open when it is written. Not truncated: some file systems then write to the disk at once.
  const place = (content: Uint8Array) => {
    for (const end of ['-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
    const handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      writeSync(handle, content, 0, content.length, 0);
      if (fstatSync(handle).size !== content.length) ftruncateSync(handle, content.length);
    } finally {
      closeSync(handle);
    }
  };
  const sound = await soundAnswers();

  async function soundAnswers(): Promise<readonly Reply[]> {
    place(bytes);
    const answers = await askAll(file, credential, questions);
    if (typeof answers === 'string') throw new Error(`the sound vault answers ${answers}`);
    return answers;
  }

  async function doctorFinds(content: Uint8Array): Promise<boolean> {
    place(content);
    try {
      return !(await checkVaultFile({ file, credential })).ok;
    } catch (error) {
      if (error instanceof Fault || (error instanceof Problem && error.code === 'integrity_failure')) return true;
      throw error;
    }
  }

  async function judge(flipped: Uint8Array, answers: Answers, trouble: Omit<FlipTrouble, 'what'>): Promise<void> {
    if (typeof answers === 'string') {
      codes[answers] = (codes[answers] ?? 0) + 1;
      errors += 1;
      return;
    }
    const differences = answers.map((found, index) => ({
      question: questions[index],
      ...differenceOf(sound[index] ?? found, found),
    }));
    const of = (wanted: string) => differences.find(({ kind }) => kind === wanted);
    for (const code of new Set(differences.map(({ code }) => code))) if (code) codes[code] = (codes[code] ?? 0) + 1;
    const [bad, lost] = [of('wrong'), of('lost')];
    const say = (one: typeof bad) =>
      `${one?.question?.operation} ${one?.question?.id ?? ''} ${one?.code ?? 'other members'}`;
    if (bad) wrong.push({ ...trouble, what: say(bad) });
    else if (lost && (blind || !(await doctorFinds(flipped)))) missed.push({ ...trouble, what: say(lost) });
    else if (lost) foundByDoctor += 1;
    else if (of('error')) errors += 1;
    else identical += 1;
  }

  const flipped = Uint8Array.from(bytes);
  for (const offset of offsets) {
    const bit = Math.floor(random() * 8);
    const value = bytes[offset] ?? 0;
    flipped[offset] = value ^ (1 << bit);
    place(flipped);
    try {
      await judge(flipped, await askAll(file, credential, questions), { offset, bit });
    } catch (error) {
      wrong.push({ offset, bit, what: `an error without a code: ${error}` });
    }
    flipped[offset] = value;
  }
  return { flips: offsets.length, identical, errors, foundByDoctor, missed, wrong, codes };
}

function start(job: FlipJob): void {
  flipAll(job).then(
    (tally) => process.send?.(tally, () => process.exit(0)),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}

// The module is loaded by whoever looks for checks, too; only the process that is told to flip does so.
if (process.argv[2] === 'flip') {
  process.once('message', start);
  // Whoever sent the job is gone.
  process.once('disconnect', () => process.exit(1));
}
