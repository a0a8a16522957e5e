import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OwnCommits } from '../../src/store/sqlite/commit/own-commits.ts';
import {
  addTenant,
  addToken,
  applicationRecord,
  ENTRY,
  MONTH,
  NOW,
  sealed,
  tokenRecord,
} from '../conformance/store-fixtures.ts';
import { openStore, openThreadedStore, rawConnection, temporaryVault, testChain } from './store-sqlite-fixture.ts';

const NONE = { counter: 0, mark: Buffer.alloc(0) };

function fail(): never {
  throw new Error('not whole');
}

describe('commits of a writer thread', () => {
  it('are recognized by consecutive numbers and by a keyed hash', async () => {
    const chain = await testChain();
    const [noted, read] = [new OwnCommits(chain), new OwnCommits(chain)];
    const commit = (counter: number, alone: boolean) => {
      const mark = noted.nextMark(alone) ?? randomBytes(16);
      noted.note(counter);
      return { counter, mark };
    };
    expect(read.include(5, commit(6, false))).toBe(false); // the first commit: another process may have written before
    const marks = [7, 8, 9].map((counter) => commit(counter, true));
    const [seventh = NONE, , ninth = NONE] = marks;
    expect(marks.map((mark) => read.include(6, mark))).toEqual([true, true, true]);
    expect(read.include(8, ninth)).toBe(true);
    expect(read.include(5, ninth)).toBe(false);
    // Another change of the file that did not count.
    expect(read.include(9, ninth)).toBe(false);
    expect(read.include(10, ninth)).toBe(false);
    expect(read.include(9, commit(11, false))).toBe(false); // commit 10
    expect(read.include(11, commit(12, true))).toBe(true);
    expect(read.include(12, commit(13, false))).toBe(false); // another change without a count

    // Edits of the file.
    expect(read.include(8, { ...seventh, counter: 9 })).toBe(false);
    expect(read.include(6, { counter: 9, mark: randomBytes(56) })).toBe(false);
    const earlier = Buffer.from(ninth.mark);
    earlier.writeBigUInt64BE(1n, 16);
    expect(read.include(5, { counter: 9, mark: earlier })).toBe(false);
    const random = Buffer.from(ninth.mark);
    random[0] = (random[0] ?? 0) ^ 1;
    expect(read.include(6, { counter: 9, mark: random })).toBe(false);
    expect(new OwnCommits(await testChain(1)).include(6, ninth)).toBe(false);
  });

  it('keep the authority version; commits of others change it', async () => {
    const file = await temporaryVault();
    const { store } = await openThreadedStore(file);
    const other = await openStore(file);
    const { id, application } = await addTenant(store);
    await store.startThread();
    // Before its first commit the thread cannot know whether another process wrote.
    await addToken(store, id);
    let version = await store.authorityVersion();
    const moved = async () => {
      const before = version;
      version = await store.authorityVersion();
      return version !== before;
    };
    expect(await moved()).toBe(false);

    for (let i = 0; i < 3; i += 1) await addToken(store, id);
    expect(await moved()).toBe(false);
    await addToken(other, id);
    expect(await moved()).toBe(true);
    expect(await moved()).toBe(false);

    await addToken(store, id);
    await other.replaceApplication({ ...application, key_hash: sealed('other', 32), revision: 2 }, 1, ENTRY);
    await addToken(store, id);
    expect(await moved()).toBe(true);
    expect(await store.findAuthority(application.key_hash, NOW)).toBeUndefined();

    // A change by this process itself moves the version, unlike one by its thread.
    await store.insertApplication(applicationRecord(id), ENTRY);
    expect(await moved()).toBe(true);
    // The thread notices the other commit, but not whose it is.
    await addToken(store, id);
    expect(await moved()).toBe(true);
    await addToken(store, id);
    expect(await moved()).toBe(false);

    // One change without a count, then one with it.
    const raw = await rawConnection(file);
    const change = raw.prepare('UPDATE application SET revision = revision + 1');
    change.run();
    expect(await moved()).toBe(true);
    change.run();
    await addToken(store, id);
    await addToken(store, id);
    expect(await moved()).toBe(true);
    await store.close();
  });

  it('begin with the first two concurrent tokens, and contain all later writes', async () => {
    const file = await temporaryVault();
    const { store, start } = await openThreadedStore(file);
    const { id } = await addTenant(store);
    for (let i = 0; i < 3; i += 1) await addToken(store, id);
    await Promise.all([store.appendAudit([ENTRY]), store.appendAudit([ENTRY]), store.markActive(id, ['x'], 1)]);
    expect(start).not.toHaveBeenCalled();
    await Promise.all([addToken(store, id), addToken(store, id)]);
    expect(start).toHaveBeenCalledOnce();
    await store.startThread();
    const ids = await Promise.all(Array.from({ length: 40 }, () => addToken(store, id)));
    const other = await openStore(file);
    for (const token of ids) {
      const found = await store.findToken(id, token.id, NOW);
      expect(found).toEqual(await other.findToken(id, token.id, NOW));
      expect(found?.full).toEqual(Buffer.from(token.full));
    }
    await store.close();
    expect((await other.findTokens({ tenant_id: id, all: [] }, { offset: 0, limit: 1 }, NOW)).total).toBe(45);
  });

  it('include the writes of reads while there are any', async () => {
    const { store, session } = await openThreadedStore(await temporaryVault());
    const { id } = await addTenant(store);
    const token = await addToken(store, id, { active_month: MONTH - 1 });
    await store.startThread();
    const writtenHere = () => session.connection.prepare('SELECT total_changes()').pluck().get();
    const readThings = () => [store.appendAudit([ENTRY, ENTRY]), store.markActive(id, [token.id], MONTH)];
    const { sequence } = await store.auditHead();
    const before = writtenHere();
    await Promise.all([addToken(store, id), ...readThings()]);
    expect(writtenHere()).toBe(before);
    expect((await store.auditHead()).sequence).toBe(sequence + 3);
    expect((await store.usage(id, MONTH, NOW)).active).toBe(2);
    await Promise.all(readThings());
    expect(writtenHere()).not.toBe(before);
    expect((await store.auditHead()).sequence).toBe(sequence + 5);
    await store.close();
  });

  it('are complete for any number of ids, whatever happens to other calls of the turn', async () => {
    const { store } = await openThreadedStore(await temporaryVault());
    const { id } = await addTenant(store);
    await store.startThread();
    const many = Array.from({ length: 130_000 }, (_, at) => `id-${at}`);
    const [first, marked, broken, second] = await Promise.allSettled([
      addToken(store, id),
      store.markActive(id, many, MONTH),
      store.appendAudit(Object.assign([ENTRY], { [Symbol.iterator]: () => fail() })),
      addToken(store, id),
    ]);
    expect([first, marked, second].map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
    expect(broken).toMatchObject({ status: 'rejected', reason: { message: 'not whole' } });
    await store.close();
  });

  it('fail with the same problem, cause and wait as a direct write', async () => {
    const file = await temporaryVault();
    const { store } = await openThreadedStore(file);
    const { id } = await addTenant(store);
    await store.startThread();
    const options = { deduplicate: false, now: NOW };
    const insert = (parts: Parameters<typeof tokenRecord>[1]) =>
      store.insertToken(tokenRecord(id, parts), { fingerprint: sealed('f', 16), others: [] }, options, ENTRY);
    await expect(insert({ key_id: 99 })).rejects.toMatchObject({
      name: 'Problem',
      code: 'write_conflict',
      status: 409,
    });
    await expect(insert({ id: '\ud800' })).rejects.toMatchObject({
      name: 'RangeError',
      message: expect.stringContaining('well-formed'),
    });
    const raw = await rawConnection(file);
    const entry = raw.prepare('INSERT INTO token_index SELECT tenant, ?, 0, ?, 1 FROM tenant');
    entry.run(sealed('f', 16), NOW);
    await expect(insert({ created_at: NOW })).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_PRIMARYKEY',
      stack: expect.stringContaining('token-index'),
    });
    await store.close();
    await expect(insert({})).rejects.toMatchObject({ code: 'vault_stopping', retryAfter: 1 });
  });
});
