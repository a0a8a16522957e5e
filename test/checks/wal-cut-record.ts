import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { type DaemonProcess, startDaemon } from './daemon-process.ts';
import { createCaller } from './perform.ts';
import { makeVaultFile, type VaultFile } from './vault-file.ts';
import { makePagesSmall } from './wal-cut-rows.ts';
import { type LogLayout, readLogLayout } from './wal-frames.ts';

/** The anchor follows every second. */
const ANCHOR_MS = 1_400;

/** Characters: some tokens need more than a page. */
const MAX_FILLING = 400;

/** The tokens of a vault: what was written last into each. */
export type Tokens = ReadonlyMap<string, number>;

/** A vault whose daemon was killed with all of its commits in the log. */
export interface RecordedLog extends LogLayout, Pick<VaultFile, 'credential' | 'everything'> {
  readonly database: Buffer;
  readonly log: Buffer;
  /** The tokens after so many commits: one more than there are commits. */
  readonly states: readonly Tokens[];
  /** An anchor that was written after so many commits. */
  readonly anchors: ReadonlyMap<number, string>;
}

/** Writes `commits` times, one after the other; `anchoredAt` are the numbers of commits at which the anchor is kept. */
export async function recordLog(
  commits: number,
  anchoredAt: readonly number[],
  random: () => number,
): Promise<RecordedLog> {
  const folder = mkdtempSync(join(tmpdir(), 'vault-check-'));
  const anchor = join(folder, 'anchor');
  let daemon: DaemonProcess | undefined;
  try {
    const { file, keyFile: _, ...keys } = await makeVaultFile(folder);
    await makePagesSmall(file);
    daemon = await startDaemon({ file, readyFile: join(folder, 'ready.json'), flags: ['--anchor', anchor] });
    const release = await holdLog(file);
    const states: Tokens[] = [new Map()];
    const anchors = new Map<number, string>();
    const write = writer(daemon.url, keys.everything, random);
    for (let count = 1; count <= commits; count += 1) {
      states.push(await write(count, states.at(-1) ?? new Map()));
      if (!anchoredAt.includes(count)) continue;
      await sleep(ANCHOR_MS);
      anchors.set(count, readFileSync(anchor, 'utf8'));
    }
    await daemon.stop('SIGKILL');
    const [database, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
    release();
    const layout = readLogLayout(log);
    if (layout.commitEnds.length !== commits) {
      throw new Error(`${commits} writes made ${layout.commitEnds.length} commits: which holds which is not known`);
    }
    return { ...keys, ...layout, database, log, states, anchors };
  } finally {
    await daemon?.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A reader of the state before all commits: nothing of the log is copied into the database while it reads. */
async function holdLog(file: string): Promise<() => void> {
  const { default: Database } = await import('better-sqlite3');
  const connection = new Database(file, { readonly: true });
  connection.exec('BEGIN');
  connection.prepare('SELECT count(*) FROM token').get();
  return () => void connection.close();
}

function writer(url: string, key: string, random: () => number) {
  const perform = createCaller(() => remoteClient({ url }));

  return async (version: number, before: Tokens): Promise<Tokens> => {
    const after = new Map(before);
    const kind = random();
    const id = [...before.keys()][Math.floor(random() * before.size)];
    const content = { data: { version, filling: 'x'.repeat(Math.floor(random() * MAX_FILLING)) } };
    if (id === undefined || kind < 0.5) {
      const fresh = `cut-${version}`;
      expectStatus(201, await perform(key, 'createToken', { body: { id: fresh, type: 'token', ...content } }));
      after.set(fresh, version);
    } else if (kind < 0.8) {
      expectStatus(200, await perform(key, 'updateToken', { id, body: content }));
      after.set(id, version);
    } else {
      expectStatus(204, await perform(key, 'deleteToken', { id }));
      after.delete(id);
    }
    return after;
  };
}

function expectStatus(expected: number, { status }: { readonly status: number }): void {
  if (status !== expected) throw new Error(`a write was answered ${status}, not ${expected}`);
}
