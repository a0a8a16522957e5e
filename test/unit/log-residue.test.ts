import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import { addTenant, addToken, ENTRY, NOW } from '../conformance/store-fixtures.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { openStore, temporaryFolder, temporaryVault } from './store-sqlite-fixture.ts';

/** Longer than the idle time before the log is truncated, after additions and after removals, in milliseconds. */
const IDLE_MS = 2400;
const REMOVED_MS = 500;

const log = (file: string) => statSync(`${file}-wal`).size;

fakeableTimers();

let seconds: number;
beforeEach(() => {
  seconds = process.uptime();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
});

/** Lets time pass in short steps that wake the event loop, as the timers of a daemon do. */
async function sleep(ms: number): Promise<void> {
  for (let waited = 0; waited < ms; waited += 50) {
    await setImmediate();
    seconds += 0.05;
    await vi.advanceTimersByTimeAsync(50);
  }
}

/** Returns which of the file (`''`) and its log (`-wal`) contain the bytes. */
function foundIn(file: string, needle: Uint8Array): readonly string[] {
  return ['', '-wal'].filter((end) => existsSync(file + end) && readFileSync(file + end).includes(Buffer.from(needle)));
}

async function remove(store: FileStore, tenantId: string, id: string): Promise<void> {
  const times = { created_at: NOW, deleted_at: NOW };
  const tombstone = {
    tenant_id: tenantId,
    id,
    type: 'token',
    created_by: tenantId,
    ...times,
    mac: new Uint8Array(16),
  } as const;
  expect(await store.deleteToken(tombstone, 1, ENTRY)).toBe(true);
  await sleep(REMOVED_MS);
}

describe('the log of an idle file', () => {
  it('keeps its length while tokens are added, and nothing of a removed token', async () => {
    const file = await temporaryVault();
    const store = await openStore(file);
    const { id } = await addTenant(store);
    // The log is truncated once at the start, since another process may have left it.
    await sleep(IDLE_MS);
    expect(log(file)).toBe(0);
    const { full } = await addToken(store, id, { id: 'gone' });
    await sleep(IDLE_MS);
    const kept = log(file);
    // Control: an existing token is found.
    expect(foundIn(file, full)).toEqual(['', '-wal']);
    await addToken(store, id, { id: 'kept' });
    expect(log(file)).toBe(kept);

    await remove(store, id, 'gone');
    expect(log(file)).toBe(0);
    expect(foundIn(file, full)).toEqual([]);
  });

  it('contains nothing of a token that is removed after a crash', async () => {
    const file = await temporaryVault();
    const killed = await openStore(file);
    const { id } = await addTenant(killed);
    const { full } = await addToken(killed, id, { id: 'gone' });
    const left = join(temporaryFolder(), 'vault.db');
    for (const end of ['', '-wal']) copyFileSync(file + end, left + end);
    const store = await openStore(left);
    // The opening may have moved the log into the file.
    expect(foundIn(left, full)).not.toEqual([]);
    await remove(store, id, 'gone');
    expect(foundIn(left, full)).toEqual([]);
    await addToken(store, id, { id: 'last' });
    await store.close();
    expect(existsSync(`${left}-wal`)).toBe(false);
  });
});
