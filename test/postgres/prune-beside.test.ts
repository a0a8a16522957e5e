import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { readLog } from '../../src/history/read-log.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { type ServedStore, servedStore } from './served-store.ts';

let vault: ServedStore;
beforeEach(async () => {
  vault = await servedStore();
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
