import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { threadedStore } from '../../src/store/sqlite/commit/threaded-store.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { relayedWriter, serveRelay, type WriteRelay } from '../../src/vault/write-relay.ts';
import { addTenant, addToken, ENTRY, MONTH, NOW, sealed, tokenRecord } from '../conformance/store-fixtures.ts';
import { openThreadedStore, temporaryVault, testChain } from './store-sqlite-fixture.ts';

/** Opens the stores of two workers, where the second sends its writes to the first. `end` ends the first. */
async function openWorkers() {
  const file = await temporaryVault();
  const chain = await testChain();
  const supervisor = new EventEmitter();
  const relayOf = (own: number): WriteRelay => ({
    isFirst: own === 1,
    // Deliver a copy in a later turn, as between processes.
    send: (to, message) => void setImmediate(() => supervisor.emit(`to ${to}`, own, structuredClone(message))),
    onMessage: (listener) => void supervisor.on(`to ${own}`, listener),
    onLost: (listener) => void supervisor.on('lost', listener),
  });
  const { store: first } = await openThreadedStore(file);
  serveRelay(relayOf(1), first, chain);
  const { session } = await openVaultFile(file);
  const second = threadedStore(session, chain, (lost) => relayedWriter(relayOf(2), lost));
  await second.startThread();
  const { id } = await addTenant(first);
  const end = () => {
    supervisor.removeAllListeners('to 1');
    supervisor.emit('lost');
  };
  const close = async () => {
    await second.close();
    await first.close();
  };
  const writtenHere = () => session.connection.prepare('SELECT total_changes()').pluck().get();
  return { first, second, id, end, close, writtenHere };
}

it('the first worker makes every write of the second, with the same errors', async () => {
  const { first, second, id, close, writtenHere } = await openWorkers();
  const before = writtenHere();
  const { sequence } = await second.auditHead('0');
  const token = await addToken(second, id, { active_month: MONTH - 1 });
  await second.appendAudit([ENTRY]);
  await second.markActive(id, [token.id], MONTH);
  expect(await first.findToken(id, token.id, NOW)).toEqual(await second.findToken(id, token.id, NOW));
  expect((await second.auditHead('0')).sequence).toBe(sequence + 2);
  const options = { deduplicate: false, now: NOW };
  const stale = tokenRecord(id, { key_id: 99 });
  await expect(
    second.insertToken(stale, { fingerprint: sealed('f', 16), others: [] }, options, ENTRY),
  ).rejects.toMatchObject({ name: 'Problem', code: 'write_conflict' });
  expect(writtenHere()).toBe(before);
  await close();
});

it('creates in the thread of the first worker keep the authority version of the second; an application changes it', async () => {
  const { first, second, id, close } = await openWorkers();
  await first.startThread();
  await addToken(second, id);
  const version = await second.authorityVersion();
  for (let i = 0; i < 5; i += 1) await addToken(i % 2 === 0 ? first : second, id);
  expect(await second.authorityVersion()).toBe(version);
  const { application } = await addTenant(first);
  await addToken(second, id);
  expect(await second.authorityVersion()).not.toBe(version);
  expect(await second.findAuthority(application.key_hash, NOW)).toBeDefined();
  await close();
});

it('a pending write fails when the first worker has ended, and the second makes later ones itself', async () => {
  const { first, second, id, end, close } = await openWorkers();
  const pending = [addToken(second, id), second.appendAudit([ENTRY])];
  end();
  for (const write of pending) await expect(write).rejects.toThrow('has ended');
  const token = await addToken(second, id);
  expect(await first.findToken(id, token.id, NOW)).toBeDefined();
  await close();
});

it('closing waits for running writes', async () => {
  const { first, second, id } = await openWorkers();
  const written = Promise.all([addToken(second, id), addToken(second, id)]);
  await second.close();
  for (const token of await written) expect(await first.findToken(id, token.id, NOW)).toBeDefined();
  await expect(addToken(second, id)).rejects.toMatchObject({ code: 'vault_stopping' });
  await first.close();
});
