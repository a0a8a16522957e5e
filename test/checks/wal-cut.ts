import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, CheckFailure, type CheckOptions, mustAllFail } from './check.ts';
import { runVault } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { seededNumbers } from './perform.ts';
import { readTokens, withVault } from './vault-file.ts';
import { createCutRows, type RecordedLog, recordLog, type Tokens } from './wal-cut-record.ts';

const COMMITS = 20;
const FIRST_ANCHOR = 10;
/** The number of random lengths to open the vault with, besides those around each frame's end. */
const RANDOM = { quick: 60, full: 1_000 } as const;
/** The step between the lengths at which a quick run reads rows. A full run reads at every length. */
const QUICK_STEP = 37;

interface Outcome {
  readonly tokens: Tokens | undefined;
  readonly fault: string | undefined;
}

/** Returns lengths around the ends of the log's header and of each frame, and random ones. */
function lengthsOf(log: RecordedLog, random: () => number, { quick }: Pick<CheckOptions, 'quick'>): readonly number[] {
  const lengths = new Set([0, 1, 31, 32, 33]);
  const around = quick ? [-1, 0] : [-2, -1, 0, 1, 2];
  for (const end of log.frameEnds) for (const more of around) lengths.add(end + more);
  for (let count = RANDOM[quick ? 'quick' : 'full']; count > 0; count -= 1) {
    lengths.add(Math.floor(random() * log.log.length));
  }
  return [...lengths].filter((length) => length >= 0 && length <= log.log.length).toSorted((a, b) => a - b);
}

const within = (ends: readonly number[], length: number) => ends.filter((end) => end <= length).length;
const writesWithin = ({ writeEnds }: RecordedLog, length: number) => within(writeEnds, length);

function sameTokens(a: Tokens, b: Tokens): boolean {
  return a.size === b.size && [...a].every(([id, version]) => b.get(id) === version);
}

function place({ database, log, credential }: RecordedLog, length: number, folder: string, anchor?: string): string {
  const file = join(folder, 'vault.db');
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  writeFileSync(file, database, { mode: 0o600 });
  writeFileSync(`${file}-wal`, log.subarray(0, length), { mode: 0o600 });
  writeFileSync(`${file}.key`, credential.key, { mode: 0o600 });
  if (anchor !== undefined) writeFileSync(join(folder, 'anchor'), anchor, { mode: 0o600 });
  return file;
}

async function cutAndOpen(recorded: RecordedLog, length: number, folder: string, anchor?: string): Promise<Outcome> {
  const file = place(recorded, length, folder, anchor);
  const { credential, everything } = recorded;
  try {
    const options = { file, credential, ...(anchor !== undefined && { anchor: join(folder, 'anchor') }) };
    const found = await withVault(options, (perform) => readTokens(perform, everything));
    const version = (data: unknown) => (data as { readonly version: number }).version;
    return { tokens: new Map([...found].map(([id, { data }]) => [id, version(data)])), fault: undefined };
  } catch (error) {
    return { tokens: undefined, fault: String(error) };
  }
}

/** Runs the command line on a cut log. Resolves to its exit code. */
async function cutAndRun(recorded: RecordedLog, length: number, folder: string, anchor: string) {
  const file = place(recorded, length, folder, anchor);
  const args = ['tokens', 'list', '--size', '1', '--file', file, '--anchor', join(folder, 'anchor')];
  return (await runVault(args, { VAULT_API_KEY: recorded.everything })).code;
}

interface Flaw {
  readonly forgetsAnchor?: boolean;
  readonly countsEarly?: boolean;
}

async function cut({ seed, quick }: CheckOptions, { forgetsAnchor = false, countsEarly = false }: Flaw = {}) {
  const random = seededNumbers(seed);
  const recorded = await recordLog(COMMITS, [FIRST_ANCHOR, COMMITS], random);
  const lengths = lengthsOf(recorded, random, { quick });
  using folder = makeMemoryFolder();
  const counts = {
    log_bytes: recorded.log.length,
    commits: recorded.commitEnds.length,
    frames: recorded.frameEnds.length,
    ...{ lengths_read: 0, lengths_opened: 0, anchored: 0, refused: 0, by_the_cli: 0 },
  };

  function expectPrefix(length: number, { tokens, fault }: Outcome): void {
    const expected = recorded.states[writesWithin(recorded, length)] ?? new Map();
    if (!tokens) throw new CheckFailure(`cut at ${length}, the vault does not open: ${fault}`, counts);
    if (!sameTokens(tokens, expected)) {
      throw new CheckFailure(`cut at ${length}, the tokens are not those of the commits before it`, counts);
    }
  }

  /** Compares all rows at every length with those of the commits before it. */
  async function checkRows(): Promise<void> {
    const { log, commitEnds } = recorded;
    const whole = await createCutRows(folder.path, recorded);
    const states = new Map<number, string>();
    for (const length of [...commitEnds, 0].toSorted((a, b) => b - a)) {
      states.set(within(commitEnds, length), whole.at(length));
    }
    const differ = new Set(states.values()).size;
    if (differ !== commitEnds.length + 1)
      throw new CheckFailure(`after ${commitEnds.length} commits there were ${differ} states`, counts);
    const rows = await createCutRows(folder.path, recorded);
    for (let length = log.length; length >= 0; length -= quick ? QUICK_STEP : 1) {
      counts.lengths_read += 1;
      const commits = within(commitEnds, countsEarly ? length + 1 : length);
      if (rows.at(length) === states.get(commits)) continue;
      throw new CheckFailure(`cut at ${length}, the rows are not those of the ${commits} commits before it`, counts);
    }
  }

  async function checkAnchored(length: number): Promise<void> {
    for (const [anchoredAt, text] of recorded.anchors) {
      const outcome = await cutAndOpen(recorded, length, folder.path, forgetsAnchor ? undefined : text);
      counts.anchored += 1;
      if (writesWithin(recorded, length) >= anchoredAt) {
        expectPrefix(length, outcome);
        continue;
      }
      if (!outcome.fault?.includes('older than its anchor')) {
        const what = outcome.fault ?? 'it opens';
        throw new CheckFailure(`cut at ${length}, below the anchor of commit ${anchoredAt}: ${what}`, counts);
      }
      counts.refused += 1;
    }
  }

  async function checkCli(length: number): Promise<void> {
    const code = await cutAndRun(recorded, length, folder.path, recorded.anchors.get(FIRST_ANCHOR) ?? '');
    const expected = writesWithin(recorded, length) < FIRST_ANCHOR ? 9 : 0;
    counts.by_the_cli += 1;
    if (code === expected) return;
    throw new CheckFailure(`cut at ${length}, the command line ends with ${code}, not ${expected}`, counts);
  }

  await checkRows();
  for (const length of lengths) {
    counts.lengths_opened += 1;
    expectPrefix(length, await cutAndOpen(recorded, length, folder.path));
  }
  const atCommits = recorded.commitEnds.flatMap((end) => [end - 1, end]);
  for (const length of atCommits) await checkAnchored(length);
  for (const end of recorded.writeEnds.slice(FIRST_ANCHOR - 2, FIRST_ANCHOR)) {
    for (const length of [end - 1, end]) await checkCli(length);
  }
  return counts;
}

const run = (options: CheckOptions) => cut(options);

/** Opens vaults without their anchor, then counts commits too early. The check must detect both. */
const control = (options: CheckOptions) =>
  mustAllFail([
    () => cut({ ...options, quick: true }, { forgetsAnchor: true }),
    () => cut({ ...options, quick: false }, { countsEarly: true }),
  ]);

export const CHECK: Check = { number: 3, name: 'log cut', quick: false, run, control };
