import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createChainRecorder } from '../../src/core/audit/chain-events.ts';
import type { AuditStore } from '../../src/core/audit/ports.ts';
import { readLedger } from '../../src/maintenance/read-ledger.ts';
import { LOSSES } from '../../src/store/rows/channels.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { between, type ServedStore, SOUND, serve, servedStore } from './served-store.ts';

let vault: ServedStore;
beforeEach(async () => {
  vault = await servedStore();
});

async function open() {
  const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
  onTestFinished(() => opened.close());
  return opened;
}

/** Reads the ledger of the vault, with other reads of the audit. */
async function readWith(change: (store: AuditStore) => Partial<AuditStore>) {
  const opened = await open();
  return readLedger({ ...opened, store: { ...opened.store, ...change(opened.store) } });
}

describe('beside a prune of a store', () => {
  it('a check of the audit accepts that rows of the index are removed', async () => {
    let isFirst = true;
    const { bad, heads } = await readWith((store) => ({
      async findUnindexed(chain, rows) {
        if (isFirst) await vault.prune();
        isFirst = false;
        return store.findUnindexed(chain, rows);
      },
    }));
    expect(bad).toEqual([]);
    expect(heads.map(({ chain }) => chain)).toEqual(['0', '3']);
    // Control: a row that no prune removed.
    await vault.query('DELETE FROM vault.audit_subject WHERE chain = 3 AND sequence = 5');
    const control = await readWith(() => ({}));
    expect(control.bad).toMatchObject([{ chain: '3', sequence: 5 }]);
  });

  it.each(['countAuditIndex', 'countLogIndex'] as const)('%s may change between two counts', async (count) => {
    await vault.daemon.sweep();
    await vault.killedPrune('old', 2);
    const { bad } = await readWith((store) => ({
      async [count](chain: string, upTo: number) {
        const rows = await store[count](chain, upTo);
        // Completes the prune.
        await vault.prune('none', 1);
        return rows;
      },
    }));
    expect(bad).toEqual([]);
    expect(await vault.chains()).toEqual(['0', '3']);
  });
});

describe('after a prune of a store', () => {
  it('a suspended process may record the end of its removed chain', async () => {
    const { store, audit } = await open();
    const [, , end] = await store.auditHeads();
    await vault.prune();
    if (end !== undefined) await store.appendAudit([createChainRecorder(audit).noted([end])]);
    expect(end?.chain).toBe('2');
    expect(await vault.verify()).toMatchObject({ ok: true });
    await vault.expectSound();
  });

  it('a suspended process reports no loss of its removed chain', async () => {
    const losses: unknown[] = [];
    const onLoss = (loss: unknown) => void losses.push(loss);
    LOSSES.subscribe(onLoss);
    onTestFinished(() => void LOSSES.unsubscribe(onLoss));
    await vault.query('UPDATE vault.chain SET heartbeat_at = 0 WHERE chain = 3');
    const four = await serve(vault.at);
    await four.sweep();
    await vault.prune('old', await between());
    expect(await vault.chains()).toEqual(['0']);
    expect(await vault.change(vault.daemon, 'one-10')).toBe(200);
    expect(losses).toEqual([]);
    // Control: a chain that no prune removed.
    await vault.query('DELETE FROM vault.audit WHERE chain = 4');
    expect(await vault.change(vault.daemon, 'one-7')).toBe(200);
    expect(losses).toEqual([{ chain: '4', missing: 1 }]);
  });

  it('a row in the index of a removed chain that somebody puts back is found', async () => {
    await vault.query('CREATE TEMPORARY TABLE lost AS SELECT * FROM vault.audit_subject WHERE chain = 2');
    await vault.prune();
    await vault.expectSound();
    await vault.query('INSERT INTO vault.audit_subject SELECT * FROM lost');
    const found = { table: 'audit_subject', id: 'chain 2', what: 'names rows beyond the end of the audit' };
    expect((await vault.doctor()).findings).toEqual([found]);
  });
});

it('a prune removes chains that always overlap, since a new day ends the older ones', async () => {
  async function replaceDaemon(): Promise<void> {
    const next = await serve(vault.at);
    for (let n = 0; n < 9; n += 1) await vault.change(next, 'one-1', n);
    await vault.daemon.close();
    vault.daemon = next;
  }
  await replaceDaemon();
  await replaceDaemon();
  await vault.prune('first', await between());
  // Control: without a new day, the chain 5 keeps 4, which keeps 3.
  expect(await vault.chains()).toEqual(['0', '3', '4', '5']);
  await vault.query(`UPDATE vault.chain SET opened_at = opened_at - ${24 * 60 * 60 * 1000}`);
  await replaceDaemon();
  await replaceDaemon();
  await vault.prune('second', await between());
  expect(await vault.chains()).toEqual(['0', '6', '7']);
  expect(await vault.doctor(vault.at, ['first', 'second'])).toMatchObject(SOUND);
});
