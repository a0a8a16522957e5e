import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { seededNumbers } from './perform.ts';
import { codeOf, judgeReply, type ReadReply, type Replies, readEverything } from './tamper-reads.ts';
import type { TamperVault } from './tamper-vault.ts';

/** Bytes in a cell. The worker replaces a whole cell with noise to learn whether any question reads it. */
export const CELL = 32;
/** Maximum number of unread bytes that one copy flips together, far apart from each other. */
const GROUP = 24;
/** Share of the groups from which one byte is also flipped alone. */
const SPOTS = 1 / 3;

export interface FlipJob {
  readonly bytes: Uint8Array;
  /** The path of the altered copy, which only this worker uses. Each copy replaces the one before it. */
  readonly file: string;
  readonly keyFile: string;
  readonly asked: Pick<TamperVault, 'readers' | 'managers' | 'tokens'>;
  readonly seed: number;
  /** The offsets of the bytes to flip, in ascending order. */
  readonly offsets: Uint32Array;
  /** Whether bytes in unread cells may be flipped in groups. If false, every byte gets its own copy. */
  readonly grouped: boolean;
  /** Used by the control: skips doctor, so that losses count as missed. */
  readonly blind?: boolean;
}

export interface FlipTrouble {
  readonly offset: number;
  readonly bit: number;
  readonly what: string;
}

export type FlipTally = Awaited<ReturnType<typeof flipAll>>;

/** The problems that clearly report damage. Any other problem, such as a token that is not found, would hide it. */
const CLEAR: ReadonlySet<string> = new Set(['integrity_failure', 'vault_busy']);

/** Flips one bit of each byte. Cells that no answer reads are flipped in groups, to save time. */
async function flipAll(job: FlipJob) {
  const { bytes, file, keyFile, asked, seed, offsets, grouped, blind = false } = job;
  const credential = () => ({ kind: 'key_file', key: new Uint8Array(readFileSync(keyFile)) }) as const;
  const random = seededNumbers(seed);
  const missed: FlipTrouble[] = [];
  const wrong: FlipTrouble[] = [];
  const codes: Record<string, number> = {};
  const counts = {
    flips: offsets.length,
    copies_with_one: 0,
    copies_with_a_group: 0,
    /** Groups that changed an answer, so that each of their bytes was tried alone. */
    groups_taken_apart: 0,
    of_groups_alone_too: 0,
    identical: 0,
    clear_errors: 0,
    losses_found_by_doctor: 0,
  };
  const count = (code: string) => {
    codes[`with_${code}`] = (codes[`with_${code}`] ?? 0) + 1;
  };

  const copy = createFlippedCopy(file, bytes);
  copy.place();
  const sound = await askAll();
  if (typeof sound === 'string') throw new Error(`the sound vault answers ${sound}`);

  /** Reads everything. Resolves to the code of a defined error, and rejects with any other. */
  async function askAll(): Promise<Replies | string> {
    let unexpected: unknown;
    const reportError = (error: unknown) => {
      if (!(error instanceof Problem) && !(error instanceof Fault)) unexpected ??= error;
    };
    try {
      const vault = await openFileVault({ file, credential: credential(), reportError });
      try {
        const replies = await readEverything(vault, asked, []);
        if (unexpected !== undefined) throw unexpected;
        return replies;
      } finally {
        await vault.close();
      }
    } catch (error) {
      // A problem counts like the same problem in a reply, because the command line prints both the same way.
      if (error instanceof Fault || (error instanceof Problem && CLEAR.has(error.code))) return error.code;
      throw error;
    }
  }

  /** How a reply differs from that of the sound vault. `lost`: data is absent, which doctor must find. */
  const differenceOf = (name: string, found: ReadReply): 'same' | 'error' | 'lost' | 'wrong' => {
    if (found.status >= 400 && CLEAR.has(codeOf(found))) return 'error';
    const verdict = judgeReply(name, found, sound);
    if (verdict === 'other') return found.status >= 400 && found.status < 500 ? 'lost' : 'wrong';
    // Counters of activity are not sealed.
    if (verdict === 'counters') return name.startsWith('getUsageReport') ? 'same' : 'lost';
    return verdict === 'less' ? 'lost' : 'same';
  };

  async function doctorFinds(): Promise<boolean> {
    try {
      return !(await checkVaultFile({ file, credential: credential() })).ok;
    } catch (error) {
      if (error instanceof Fault || (error instanceof Problem && error.code === 'integrity_failure')) return true;
      throw error;
    }
  }

  async function judge(
    replies: Replies | string,
    trouble: Omit<FlipTrouble, 'what'>,
    again: () => void,
  ): Promise<void> {
    if (typeof replies === 'string') {
      count(replies);
      counts.clear_errors += 1;
      return;
    }
    const differences = [...replies].map(([name, found]) => ({ name, found, kind: differenceOf(name, found) }));
    const of = (wanted: string) => differences.find(({ kind }) => kind === wanted);
    const refused = differences.filter(({ found, kind }) => found.status >= 400 && kind !== 'same');
    for (const code of new Set(refused.map(({ found }) => codeOf(found)))) count(code);
    const [bad, lost] = [of('wrong'), of('lost')];
    const say = (one: typeof bad) => `${one?.name}: ${one?.found.status} ${one?.found.text.slice(0, 300)}`;
    if (bad) wrong.push({ ...trouble, what: say(bad) });
    else if (lost) {
      again();
      if (blind || !(await doctorFinds())) missed.push({ ...trouble, what: say(lost) });
      else counts.losses_found_by_doctor += 1;
    } else if (of('error')) counts.clear_errors += 1;
    else counts.identical += 1;
  }

  const isQuiet = (changes: readonly Change[]): Promise<boolean> =>
    copy.with(changes, async () => {
      const replies = await askAll().catch(() => 'damaged');
      return typeof replies !== 'string' && [...replies].every(([name, found]) => differenceOf(name, found) === 'same');
    });

  const flipOf = (offset: number): Flip => {
    const bit = Math.floor(random() * 8);
    return { offset, bit, mask: 1 << bit };
  };

  async function flipAlone({ offset, bit, mask }: Flip): Promise<void> {
    counts.copies_with_one += 1;
    await copy.with([{ offset, mask }], async (again) => {
      try {
        await judge(await askAll(), { offset, bit }, again);
      } catch (error) {
        wrong.push({ offset, bit, what: `an error without a code: ${placeOf(error)}` });
      }
    });
  }

  async function flipTogether(group: readonly Flip[]): Promise<boolean> {
    counts.copies_with_a_group += 1;
    if (await isQuiet(group)) {
      counts.identical += group.length;
      return true;
    }
    counts.groups_taken_apart += 1;
    for (const flip of group) await flipAlone(flip);
    return false;
  }

  const quiet: number[] = [];
  for (const cell of grouped ? cellsOf(offsets, CELL) : []) {
    const noise = cell.map((offset) => ({ offset, mask: 1 + Math.floor(random() * 255) }));
    if (await isQuiet(noise)) quiet.push(...cell);
  }
  const apart = new Set(quiet);
  for (const offset of offsets) if (!apart.has(offset)) await flipAlone(flipOf(offset));
  for (const group of farApart(quiet, GROUP)) {
    if (!(await flipTogether(group.map(flipOf)))) continue;
    const spot = group[Math.floor(random() * group.length)];
    if (spot === undefined || random() >= SPOTS) continue;
    counts.of_groups_alone_too += 1;
    const flip = flipOf(spot);
    if (!(await isQuiet([flip]))) wrong.push({ ...flip, what: 'it has an effect alone, and none in a group' });
  }
  return { counts, codes, missed, wrong };
}

interface Change {
  readonly offset: number;
  readonly mask: number;
}

/** Creates a copy at `file` that can be rewritten with altered bytes. The file must be closed during each write. */
function createFlippedCopy(file: string, bytes: Uint8Array) {
  const content = Uint8Array.from(bytes);

  function place(): void {
    for (const end of ['-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
    // Do not truncate: some file systems then write to the disk at once.
    const handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      writeSync(handle, content, 0, content.length, 0);
      if (fstatSync(handle).size !== content.length) ftruncateSync(handle, content.length);
    } finally {
      closeSync(handle);
    }
  }

  function turn(changes: readonly Change[]): void {
    for (const { offset, mask } of changes) content[offset] = (content[offset] ?? 0) ^ mask;
  }

  return {
    /** Writes the bytes of the original, without changes, to the file. */
    place,
    /** Writes the file with the changes, then resolves to the result of `ask`. `again` rewrites the same altered file. */
    async with<T>(changes: readonly Change[], ask: (again: () => void) => Promise<T>): Promise<T> {
      turn(changes);
      try {
        place();
        return await ask(place);
      } finally {
        turn(changes);
      }
    },
  };
}

function cellsOf(offsets: Uint32Array, size: number): readonly (readonly number[])[] {
  const cells = new Map<number, number[]>();
  for (const offset of offsets) {
    const cell = Math.floor(offset / size);
    const found = cells.get(cell);
    if (found) found.push(offset);
    else cells.set(cell, [offset]);
  }
  return [...cells.values()];
}

/** Splits the offsets into groups of at most `most`, whose members are as far apart as possible. */
function farApart(offsets: readonly number[], most: number): readonly (readonly number[])[] {
  const groups: number[][] = Array.from({ length: Math.ceil(offsets.length / most) }, () => []);
  for (const [index, offset] of offsets.entries()) groups[index % groups.length]?.push(offset);
  return groups;
}

function placeOf(error: unknown): string {
  const [what, where] = String(error instanceof Error ? error.stack : error).split('\n');
  return `${what} ${where?.trim() ?? ''}`;
}

interface Flip extends Change {
  readonly bit: number;
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

// `scripts/check.ts` also imports this module, so start only with the argument `flip`.
if (process.argv[2] === 'flip') {
  process.once('message', start);
  process.once('disconnect', () => process.exit(1));
}
