import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { ENVIRONMENT, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './memory-folder.ts';
import { seededNumbers } from './perform.ts';
import { readTokens, withVault } from './vault-file.ts';
import { type RecordedLog, recordLog, type Tokens } from './wal-cut-record.ts';

const COMMITS = 24;
const FIRST_ANCHOR = 12;
/** Lengths at random, beside those around every frame's end; whole frames whose every length is tried. */
const SIZES = { quick: { random: 60, wholeFrames: 0 }, full: { random: 2_000, wholeFrames: 2 } } as const;
const execute = promisify(execFile);

interface Outcome {
  /** Undefined: it was refused. */
  readonly tokens: Tokens | undefined;
  readonly fault: string | undefined;
}

/** Every length that may matter: around the end of the log's header, of each frame's header, and of each frame. */
function lengthsOf(log: RecordedLog, random: () => number, { quick }: Pick<CheckOptions, 'quick'>): readonly number[] {
  const size = SIZES[quick ? 'quick' : 'full'];
  const lengths = new Set([0, 1, 31, 32, 33]);
  const around = quick ? [-1, 0, 1] : [-513, -2, -1, 0, 1, 2, 4, 8, 12, 16, 20, 23, 24, 25, 512];
  for (const end of log.frameEnds) for (const more of around) lengths.add(end + more);
  for (let count = 0; count < size.random; count += 1) lengths.add(Math.floor(random() * log.log.length));
  const wholeFrom = log.frameEnds.at(-1 - size.wholeFrames) ?? 0;
  for (let length = wholeFrom; length <= log.log.length; length += 1) lengths.add(length);
  return [...lengths].filter((length) => length >= 0 && length <= log.log.length).toSorted((a, b) => a - b);
}

const commitsWithin = ({ commitEnds }: RecordedLog, length: number) => commitEnds.filter((end) => end <= length).length;

function sameTokens(a: Tokens, b: Tokens): boolean {
  return a.size === b.size && [...a].every(([id, version]) => b.get(id) === version);
}

/** Puts the vault into `folder` as it was, with the log cut. */
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

/** The exit code of the command line, which is what a script sees. */
async function cutAndRun(recorded: RecordedLog, length: number, folder: string, anchor: string): Promise<number> {
  const file = place(recorded, length, folder, anchor);
  const args = ['tokens', 'list', '--size', '1', '--file', file, '--anchor', join(folder, 'anchor')];
  const env = { ...ENVIRONMENT, VAULT_API_KEY: recorded.everything };
  return await execute(process.execPath, [VAULT_BIN, ...args], { env }).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
}

/** `forgetsAnchor`: for the control. */
async function cut({ seed, quick }: CheckOptions, { forgetsAnchor = false } = {}) {
  const random = seededNumbers(seed);
  const recorded = await recordLog(COMMITS, [FIRST_ANCHOR, COMMITS], random);
  const lengths = lengthsOf(recorded, random, { quick });
  const folder = makeMemoryFolder();
  const counts = {
    log_bytes: recorded.log.length,
    commits: COMMITS,
    lengths: 0,
    anchored: 0,
    refused: 0,
    by_the_cli: 0,
  };

  function expectPrefix(length: number, { tokens, fault }: Outcome): void {
    const expected = recorded.states[commitsWithin(recorded, length)] ?? new Map();
    if (!tokens) throw new CheckFailure(`cut at ${length}, the vault does not open: ${fault}`, counts);
    if (!sameTokens(tokens, expected)) {
      throw new CheckFailure(`cut at ${length}, the tokens are not those of the commits before it`, counts);
    }
  }

  async function checkAnchored(length: number): Promise<void> {
    for (const [anchoredAt, text] of recorded.anchors) {
      const outcome = await cutAndOpen(recorded, length, folder.path, forgetsAnchor ? undefined : text);
      counts.anchored += 1;
      if (commitsWithin(recorded, length) >= anchoredAt) {
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
    const expected = commitsWithin(recorded, length) < FIRST_ANCHOR ? 9 : 0;
    counts.by_the_cli += 1;
    if (code === expected) return;
    throw new CheckFailure(`cut at ${length}, the command line ends with ${code}, not ${expected}`, counts);
  }

  try {
    for (const length of lengths) {
      counts.lengths += 1;
      expectPrefix(length, await cutAndOpen(recorded, length, folder.path));
    }
    const atCommits = recorded.commitEnds.flatMap((end) => [end - 1, end]);
    for (const length of atCommits) await checkAnchored(length);
    for (const end of recorded.commitEnds.slice(FIRST_ANCHOR - 2, FIRST_ANCHOR)) {
      for (const length of [end - 1, end]) await checkCli(length);
    }
    return counts;
  } finally {
    folder.remove();
  }
}

const run = (options: CheckOptions) => cut(options);

/** A vault that is opened without its anchor does not notice that its log was cut. */
const control = (options: CheckOptions) => cut({ ...options, quick: true }, { forgetsAnchor: true });

export const CHECK: Check = { number: 3, name: 'log cut', quick: false, run, control };
