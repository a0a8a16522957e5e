import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import { createVault } from '../../src/vault/vault.ts';
import { CELL, type FlipJob, type FlipTally, type FlipTrouble } from './bit-flip-worker.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import type { Question } from './flipped-answers.ts';
import { createCaller, seededNumbers } from './perform.ts';

/** A file system in memory, on Linux. It saves disk writes. */
const MEMORY = '/dev/shm';
const TOKENS = 40;
/** The number of tokens that are also read one by one. */
const SINGLE = 5;
const QUICK_FLIPS = 1_500;
const CONTROL_FLIPS = 3_000;
/** The maximum number of troubles of each kind in the error message. */
const MAX_NAMED = 20;

interface Subject {
  readonly bytes: Uint8Array;
  readonly key: Uint8Array;
  readonly questions: readonly Question[];
}

/** Creates and closes a vault with several token types and deleted tokens, and returns the questions to ask it. */
async function makeSubject(file: string, random: () => number): Promise<Subject> {
  const key = Uint8Array.from({ length: 32 }, () => Math.floor(random() * 256));
  const { vault, application } = await createVault({
    file,
    credential: { kind: 'key_file', key },
    tenantName: 'flips',
  });
  const client = directClient(vault);
  const perform = createCaller(() => client);
  const management = application.key ?? '';
  const create = async (body: object) => (await perform(management, 'createApplication', { body })).body;
  const permissions = ['token:create', 'token:read', 'token:delete'];
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions };
  const revealing = String((await create({ name: 'revealing', type: 'private', rules: [rule] }))['key']);
  const masking = String((await create({ name: 'masking', type: 'private', permissions }))['key']);
  const ids: string[] = [];
  for (let n = 0; n < TOKENS; n++) {
    const [type, data] = n % 2 === 0 ? ['card_number', '4242424242424242'] : ['token', `value ${n} ${random()}`];
    const expires = n % 5 === 0 ? { expires_at: '2099-01-01T00:00:00Z' } : {};
    const body = {
      id: `flip-${n}`,
      type,
      data,
      mask: '{{ data | reveal_last: 4 }}',
      metadata: { tag: `${n % 4}` },
      ...expires,
    };
    const { status } = await perform(revealing, 'createToken', { body });
    if (status !== 201) throw new Error(`a token was answered ${status}`);
    ids.push(body.id);
  }
  for (const id of ['flip-dead-1', 'flip-dead-2']) {
    await perform(revealing, 'createToken', { body: { id, type: 'token', data: id } });
    await perform(revealing, 'deleteToken', { id });
  }
  await client.close();
  const questions: Question[] = [
    // A list call takes half the time of single reads.
    { operation: 'listTokens', apiKey: revealing, query: [['size', '100'], ...ids.map((id) => ['id', id] as const)] },
    ...ids.slice(0, SINGLE).map((id): Question => ({ operation: 'getToken', apiKey: revealing, id })),
    { operation: 'listTokens', apiKey: masking, query: [['size', '100']] },
    { operation: 'listTokens', apiKey: masking, query: [['metadata.tag', '1']] },
    { operation: 'listApplications', apiKey: management },
    { operation: 'getTenant', apiKey: management },
  ];
  return { bytes: new Uint8Array(readFileSync(file)), key, questions };
}

/** Runs a job in its own process, because an altered file may crash its reader. */
function runWorker(script: string, job: FlipJob): Promise<FlipTally> {
  return new Promise((resolve, reject) => {
    const worker = fork(script, ['flip'], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    process.once('exit', () => worker.kill('SIGKILL'));
    worker.once('message', (tally: FlipTally) => resolve(tally));
    worker.once('error', reject);
    worker.once('exit', (code, signal) => {
      reject(new CheckFailure(`a process that opens altered files ended with ${signal ?? code}`));
    });
    worker.send(job);
  });
}

interface FlipOptions {
  readonly seed: number;
  /** The number of bytes to flip. Default: all. */
  readonly sample?: number;
  readonly blind?: boolean;
}

async function flips({ seed, sample, blind = false }: FlipOptions): Promise<Figures> {
  const random = seededNumbers(seed);
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'vault-check-'));
  const script = join(import.meta.dirname, 'bit-flip-worker.ts');
  try {
    const subject = await makeSubject(join(folder, 'vault.db'), random);
    const size = subject.bytes.length;
    const offsets =
      sample === undefined
        ? Uint32Array.from({ length: size }, (_, offset) => offset)
        : Uint32Array.from({ length: sample }, () => Math.floor(random() * size)).toSorted();
    const workers = availableParallelism();
    const tallies = await Promise.all(
      Array.from({ length: workers }, (_, worker) =>
        runWorker(script, {
          ...subject,
          file: join(folder, `flipped-${worker}.db`),
          seed: seed + worker,
          offsets: offsets.filter((offset) => Math.floor(offset / CELL) % workers === worker),
          grouped: sample === undefined,
          blind,
        }),
      ),
    );
    return judge(size, tallies);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function judge(size: number, tallies: readonly FlipTally[]): Figures {
  const sum = (of: (tally: FlipTally) => number) => tallies.reduce((total, tally) => total + of(tally), 0);
  const missed = tallies.flatMap((tally) => tally.missed);
  const wrong = tallies.flatMap((tally) => tally.wrong);
  const codes: Record<string, number> = {};
  for (const tally of tallies) {
    for (const [code, count] of Object.entries(tally.codes))
      codes[`with_${code}`] = (codes[`with_${code}`] ?? 0) + count;
  }
  const figures = {
    bytes: size,
    flips: sum((tally) => tally.flips),
    copies_with_one: sum((tally) => tally.alone),
    copies_with_a_group: sum((tally) => tally.groups),
    groups_taken_apart: sum((tally) => tally.split),
    of_groups_alone_too: sum((tally) => tally.spots),
    identical: sum((tally) => tally.identical),
    clear_errors: sum((tally) => tally.errors),
    losses_found_by_doctor: sum((tally) => tally.foundByDoctor),
    losses_missed: missed.length,
    wrong_answers: wrong.length,
    ...codes,
  };
  if (wrong.length > 0) throw new CheckFailure(`wrong answers: ${name(wrong)}`, figures);
  if (missed.length > 0) throw new CheckFailure(`losses that doctor does not find: ${name(missed)}`, figures);
  return figures;
}

function name(troubles: readonly FlipTrouble[]): string {
  const named = troubles.slice(0, MAX_NAMED).map(({ offset, bit, what }) => `byte ${offset} bit ${bit}: ${what}`);
  return named.join('; ');
}

const run = ({ seed, quick }: CheckOptions) => flips({ seed, ...(quick && { sample: QUICK_FLIPS }) });

/** Runs without `vault doctor`, so that silent losses must make the check fail. */
const control = ({ seed }: CheckOptions) => flips({ seed, sample: CONTROL_FLIPS, blind: true });

export const CHECK: Check = { number: 4, name: 'bit flips', quick: false, runs: 'early', run, control };
