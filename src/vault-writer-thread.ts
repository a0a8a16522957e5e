/**
 * The thread that writes tokens and the audit of a vault that is served (`startWriter`): a second connection to the file, with
 * the same session, store and group commit. Of the keys it has the one that chains the audit's entries.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Fault } from './core/fault.ts';
import { auditChain } from './keyring/audit-chain.ts';
import { loadSodium } from './keyring/sodium.ts';
import { openVaultFileAgain } from './store/sqlite/open-vault-file.ts';
import { OwnCommits } from './store/sqlite/own-commits.ts';
import { createWriteServer } from './store/sqlite/serve-writes.ts';
import { WriteTurns } from './store/sqlite/write-turns.ts';
import type { WriterOrder, WriterSaying } from './vault-writer.ts';

const { file, identity, cells, turns, chain }: WriterOrder = workerData;

async function serveWrites(): Promise<void> {
  const say = (saying: WriterSaying) => parentPort?.postMessage(saying);
  const [sodium, { store, session }] = await Promise.all([loadSodium(), openVaultFileAgain(file)]);
  if (session.identity !== identity) {
    await store.close();
    throw new Fault('file_unsafe', `${file} was replaced while it was open`);
  }
  session.noteCommits(new OwnCommits(cells));
  session.takeTurns(new WriteTurns(1, turns));
  const serve = createWriteServer(store, auditChain(sodium, chain), (replies) => say({ replies }));
  parentPort?.on('message', async (message) => {
    if (message !== 'close') {
      serve(message);
      return;
    }
    await store.close();
    chain.key.fill(0);
    // What the last commit has settled is told first: of a port that is closed nobody hears.
    setImmediate(() => parentPort?.close());
  });
  say('ready');
}

serveWrites().catch((error) => {
  chain.key.fill(0);
  // Ends the thread, and the one that has started it is told.
  throw error;
});
