import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { readLog } from '../../src/history/read-log.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { moveVault } from '../../src/vault/move.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { between, newStore, type ServedStore, SOUND, serve, servedStore } from './served-store.ts';

const CONFLICT = { code: 'conflict', message: 'entries were pruned meanwhile' };
const MOVE = { readCredential: async () => CREDENTIAL, keepSource: false, full: true };

let vault: ServedStore;
beforeEach(async () => {
  vault = await servedStore();
});

describe('an interrupted prune of a store', () => {
  it('leaves a sound store after each write, and the next one completes it', { timeout: 60_000 }, async () => {
    const seen: string[] = [];
    let killed = 0;
    for (let isKilled = true; isKilled; killed += 1) {
      isKilled = false;
      // The first write is the entry. Each later run moves the base by one step.
      let left = Math.min(killed, 2);
      await vault
        .pruneWith(`archive-${killed}`, async () => {
          if (left-- > 0) return;
          isKilled = true;
          throw new Error('killed');
        })
        .catch(({ message }: Error) => expect(message).toBe('killed'));
      seen.push((await vault.firstRow()).join());
      await vault.expectSound(killed);
      expect((await vault.logged('size=100')).length).toBeGreaterThan(6);
    }
    expect(killed).toBeGreaterThan(9);
    // The audit was seen whole, in parts, and pruned.
    expect(new Set(seen).size).toBeGreaterThan(6);
    expect(seen[0]).toBe('1');
    expect(await vault.doctor(vault.at, ['archive-2'])).toMatchObject(SOUND);
  });

  it('is accepted by doctor with its archive, and by a move to a file and to a store', async () => {
    await vault.killedPrune('old', 2);
    expect(await vault.firstRow()).toEqual(['7']);
    expect(await vault.doctor(vault.at, ['old'])).toMatchObject(SOUND);
    expect(await vault.daemon.check()).toEqual([]);
    // Control: a token of another revision.
    await vault.query("UPDATE vault.token SET revision = revision + 1 WHERE id = 'one-11'");
    expect(await vault.daemon.check()).not.toEqual([]);
    await vault.query("UPDATE vault.token SET revision = revision - 1 WHERE id = 'one-11'");
    await vault.daemon.close();
    const [other, file] = [{ store: await newStore() }, { file: join(vault.folder, 'moved.db') }];
    await moveVault({ from: vault.at, to: other }, { ...MOVE, keepSource: true });
    await moveVault({ from: vault.at, to: file }, MOVE);
    for (const location of [other, file]) {
      expect(await vault.doctor(location)).toMatchObject(SOUND);
      expect(await vault.doctor(location, ['old'])).toMatchObject(SOUND);
    }
    await vault.use(other.store);
    vault.daemon = await serve(vault.at);
    await vault.prune('none', 1);
    expect(await vault.doctor(vault.at, ['old'])).toMatchObject(SOUND);
  });

  it.each([
    ['appendAudit', 'completes', undefined],
    ['moveBase', 'completes', undefined],
    ['appendAudit', 'is killed', 1],
    ['moveBase', 'is killed', 1],
  ] as const)('gives up before %s if another prune moves the base and %s', async (step, _what, removals) => {
    let isFirst = true;
    const pruned = vault.pruneWith(
      'small',
      async (method) => {
        if (!isFirst || method !== step) return;
        isFirst = false;
        await (removals === undefined ? vault.prune('large') : vault.killedPrune('large', removals));
      },
      vault.first,
    );
    await expect(pruned).rejects.toMatchObject(CONFLICT);
    await vault.expectSound();
    await vault.prune('next', await between());
    await vault.expectSound(1);
    expect(await vault.doctor(vault.at, ['large', 'next'])).toMatchObject(SOUND);
  });

  it('is not disturbed by one that is killed before it moves the base', async () => {
    let isFirst = true;
    await vault.pruneWith(
      'small',
      async () => {
        if (isFirst) await vault.killedPrune('large', 0);
        isFirst = false;
      },
      vault.first,
    );
    await vault.expectSound();
    expect(await vault.doctor(vault.at, ['large'])).toMatchObject(SOUND);
  });
});

it('a store that was pruned moves to a file and back', async () => {
  await vault.prune();
  await vault.daemon.close();
  const file = { file: join(vault.folder, 'moved.db') };
  await moveVault({ from: vault.at, to: file }, MOVE);
  expect(await vault.doctor(file)).toMatchObject(SOUND);
  expect(await vault.doctor(file, ['old'])).toMatchObject(SOUND);
  const store = await newStore();
  await moveVault({ from: file, to: { store } }, MOVE);
  await vault.use(store);
  vault.daemon = await serve(vault.at);
  await vault.expectSound();
  await vault.expectSound(1);
  expect(await vault.doctor(vault.at, ['old'])).toMatchObject(SOUND);
  await vault.daemon.close();
  await vault.prune('next', await between());
  expect(await vault.doctor(vault.at, ['old', 'next'])).toMatchObject(SOUND);
  const single = { file: join(vault.folder, 'single.db') };
  await moveVault({ from: vault.at, to: single }, MOVE);
  expect(await vault.doctor(single, ['old', 'next'])).toMatchObject(SOUND);
});

/** Reads the log of the vault, with other reads of the audit. */
async function readWith(change: (store: Store) => Partial<Store>) {
  const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
  onTestFinished(() => opened.close());
  return readLog({ ...opened, store: { ...opened.store, ...change(opened.store) } });
}

describe('beside a prune of a store', () => {
  it('a check of the audit accepts that rows of the index are removed', async () => {
    await vault.daemon.sweep();
    let isFirst = true;
    const { bad } = await readWith((store) => ({
      async findUnlogged(rows) {
        if (isFirst) await vault.prune();
        isFirst = false;
        return store.findUnlogged(rows);
      },
    }));
    expect(bad).toEqual([]);
    // Control: a row that no prune removed.
    const [last = ''] = await vault.query(
      'SELECT max(sequence) FROM vault.audit_index WHERE sequence < (SELECT max(sequence) FROM vault.audit_index)',
    );
    await vault.query(`DELETE FROM vault.audit_index WHERE sequence = ${last}`);
    const control = await readWith(() => ({}));
    expect(control.bad).toContainEqual(expect.objectContaining({ sequence: Number(last) }));
  });

  it('the rows of the index may change between two counts', async () => {
    await vault.daemon.sweep();
    await vault.killedPrune('old', 2);
    const { bad } = await readWith((store) => ({
      async countLogIndex(upTo: number) {
        const rows = await store.countLogIndex(upTo);
        // Completes the prune.
        await vault.prune('next');
        return rows;
      },
    }));
    expect(bad).toEqual([]);
  });
});
