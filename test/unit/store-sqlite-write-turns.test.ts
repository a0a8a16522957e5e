import { describe, expect, it } from 'vitest';
import { endOfTick } from '../../src/core/timers.ts';
import { GroupCommit } from '../../src/store/sqlite/commit/group-commit.ts';
import { WriteTurns } from '../../src/store/sqlite/commit/write-turns.ts';

const MAX_WRITES = 300;

/** Simulates SQLite's lock: a connection gets it only after the other one has not taken it for some turns. */
function lockBetween() {
  let turn = 0;
  // The busy connection holds it first; otherwise either one could get it in the first turns.
  let taken = { by: 'busy', at: 0 };
  const connection = (name: string) => ({
    begin() {
      if (taken.by !== name && turn - taken.at < 5) throw Object.assign(new Error('locked'), { code: 'SQLITE_BUSY' });
      taken = { by: name, at: turn };
    },
    commit() {},
    rollback() {},
  });
  return {
    connection,
    async countTurnsUntil(end: Promise<unknown>): Promise<void> {
      let isOver = false;
      void end.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        turn += 1;
        await endOfTick();
      }
    },
  };
}

/** Counts the writes of a busy connection before the single write of the other one succeeds. */
async function writesBefore(turns: readonly [WriteTurns, WriteTurns] | undefined): Promise<number> {
  const lock = lockBetween();
  const [busy, other] = [new GroupCommit(lock.connection('busy')), new GroupCommit(lock.connection('other'))];
  if (turns !== undefined) {
    busy.takeTurns(turns[0]);
    other.takeTurns(turns[1]);
  }
  let writes = 0;
  let isDone = false;
  const single = endOfTick().then(() => other.run(() => undefined));
  const done = single.then(() => {
    isDone = true;
    return writes;
  });
  const many = (async () => {
    while (!isDone && writes < MAX_WRITES) {
      await busy.run(() => undefined);
      writes += 1;
    }
  })();
  await lock.countTurnsUntil(Promise.all([done, many]));
  return done;
}

function bothSides(): readonly [WriteTurns, WriteTurns] {
  const first = new WriteTurns(0);
  return [first, new WriteTurns(1, first.cells)];
}

describe('WriteTurns', () => {
  it('lets a connection write soon beside a busy one', async () => {
    expect(await writesBefore(bothSides())).toBeLessThan(MAX_WRITES / 2);
  });

  it('control: without turns it waits until the busy one ends', async () => {
    expect(await writesBefore(undefined)).toBe(MAX_WRITES);
  });

  it('does not wait for a connection that misses its turn', async () => {
    const [here, there] = bothSides();
    there.wait();
    await here.otherFirst();
    expect([...here.cells]).toEqual([1, 1]);
    here.done();
    there.done();
    expect([...here.cells]).toEqual([0, 0]);
  });

  it('stops announcing a write that was refused for too long', async () => {
    const [here] = bothSides();
    const locked = () => {
      throw Object.assign(new Error('locked'), { code: 'SQLITE_BUSY' });
    };
    const group = new GroupCommit({ begin: locked, commit: () => {}, rollback: () => {} }, { deadlineMs: 5 });
    group.takeTurns(here);
    await expect(group.run(() => undefined)).rejects.toMatchObject({ code: 'vault_busy' });
    await group.close();
    expect([...here.cells]).toEqual([0, 0]);
  });
});
