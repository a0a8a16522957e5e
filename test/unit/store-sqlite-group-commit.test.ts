import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../src/store/sqlite/commit/group-commit.ts';

class Busy extends Error {
  readonly code = 'SQLITE_BUSY';
}

/** Simulates a journal with transactions and a lock that others may hold. */
function journal() {
  const state = { committed: [] as string[], pending: [] as string[], open: false, commits: 0, locked: 0, full: false };
  const transactions = {
    begin() {
      if (state.locked > 0) {
        state.locked -= 1;
        throw new Busy();
      }
      if (state.open) throw new Error('a transaction in a transaction');
      state.open = true;
    },
    commit() {
      if (state.full) throw new Error('full');
      state.committed.push(...state.pending.splice(0));
      state.open = false;
      state.commits += 1;
    },
    rollback() {
      state.pending.splice(0);
      state.open = false;
    },
  };
  const append = (entry: string) => () => {
    if (!state.open) throw new Error('a write outside a transaction');
    state.pending.push(entry);
    return entry;
  };
  return { state, transactions, append };
}

describe('GroupCommit', () => {
  it('commits a lone write in the turn in which it arrives', async () => {
    const { transactions, append } = journal();
    const group = new GroupCommit(transactions);
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await group.run(append('a'));
    expect(turned).toBe(false);
  });

  it('shares one commit among writes a few promises apart', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions);
    const late = async (promises: number, entry: string) => {
      for (let n = 0; n < promises; n += 1) await undefined;
      return group.run(append(entry));
    };
    await Promise.all([late(0, 'a'), late(3, 'b'), late(30, 'c')]);
    expect(state).toMatchObject({ committed: ['a', 'b', 'c'], commits: 1 });
  });

  it('resolves a write only after its commit', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions);
    const first = group.run(append('a')).then(() => [...state.committed]);
    expect(state.committed).toEqual([]);
    expect(await first).toEqual(['a']);
  });

  it('puts writes that follow a commit into the next one', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions);
    const caller = async (name: string) => {
      for (let n = 0; n < 5; n += 1) await group.run(append(`${name}${n}`));
    };
    await Promise.all(Array.from({ length: 32 }, (_, n) => caller(`c${n}-`)));
    expect(state.committed).toHaveLength(160);
    expect(state.commits).toBe(5);
  });

  it('limits the size of a group', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions, { size: 4 });
    await Promise.all(Array.from({ length: 10 }, (_, n) => group.run(append(String(n)))));
    expect(state.commits).toBe(3);
    expect(state.committed).toEqual(Array.from({ length: 10 }, (_, n) => String(n)));
  });

  it('rolls back a write that throws and keeps its neighbours', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions);
    const broken = () => {
      append('half')();
      throw new RangeError('broken');
    };
    const answers = await Promise.allSettled([group.run(append('a')), group.run(broken), group.run(append('b'))]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(answers[1]).toMatchObject({ reason: { message: 'broken' } });
    expect(state.committed).toEqual(['a', 'b']);
  });

  it('rejects every write of a group whose commit fails, and continues', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions);
    state.full = true;
    const answers = await Promise.allSettled([group.run(append('a')), group.run(append('b'))]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    state.full = false;
    await group.run(append('c'));
    expect(state.committed).toEqual(['c']);
  });

  it('tries again while another process holds the lock, until its deadline', async () => {
    const { state, transactions, append } = journal();
    state.locked = 3;
    await new GroupCommit(transactions).run(append('a'));
    expect(state).toMatchObject({ committed: ['a'], locked: 0 });
    state.locked = Number.POSITIVE_INFINITY;
    const group = new GroupCommit(transactions, { deadlineMs: 60 });
    await expect(group.run(append('b'))).rejects.toMatchObject({ code: 'vault_busy' });
    state.locked = 0;
    await group.run(append('c'));
    expect(state.committed).toEqual(['a', 'c']);
  });

  it('completes accepted writes on close, and rejects later ones', async () => {
    const { state, transactions, append } = journal();
    const group = new GroupCommit(transactions, { size: 2 });
    const taken = Array.from({ length: 5 }, (_, n) => group.run(append(String(n))));
    await group.close();
    expect(state.committed).toHaveLength(5);
    await Promise.all(taken);
    await expect(group.run(append('late'))).rejects.toMatchObject({ code: 'vault_stopping' });
    await group.close();
  });

  it('keeps the writes that do not throw, in order, under any locks and faults', async () => {
    const write = fc.record({ throws: fc.boolean(), turn: fc.boolean(), locked: fc.nat(2) });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), async (writes, size) => {
        const { state, transactions, append } = journal();
        const group = new GroupCommit(transactions, { size });
        const answers: Promise<unknown>[] = [];
        for (const [n, { throws, turn, locked }] of writes.entries()) {
          state.locked += locked > 1 ? 1 : 0;
          const entry = append(String(n));
          const run = () => {
            entry();
            if (throws) throw new Error('thrown');
          };
          answers.push(
            group.run(run).then(
              () => true,
              () => false,
            ),
          );
          if (turn) await new Promise((resolve) => setImmediate(resolve));
        }
        expect(await Promise.all(answers)).toEqual(writes.map(({ throws }) => !throws));
        const kept = [...writes.entries()].filter(([, { throws }]) => !throws).map(([n]) => String(n));
        expect(state.committed).toEqual(kept);
      }),
      { numRuns: 30 },
    );
  });
});
