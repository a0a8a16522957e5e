import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { openVaultFile } from '../src/store/sqlite/open-vault-file.ts';
import { OwnCommits } from '../src/store/sqlite/own-commits.ts';
import { createWriteServer } from '../src/store/sqlite/serve-writes.ts';
import type { Session } from '../src/store/sqlite/session.ts';
import { ThreadedStore } from '../src/store/sqlite/threaded-store.ts';
import { WriteTurns } from '../src/store/sqlite/write-turns.ts';
import { WriterThread } from '../src/store/sqlite/writer-thread.ts';
import { chain } from './conformance/store-fixtures.ts';

/**
 * A store whose other thread is this one: what it is told goes through a channel all the same, is cloned and moved as between
 * threads, and is done on a second connection.
 */
export async function openThreadedStore(file: string) {
  const { session } = await openVaultFile(file);
  const ports: MessagePort[] = [];
  const store = new ThreadedStore(session, async () => {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    return startHere(file, session, port1, port2);
  });
  return { store, session, ports };
}

async function startHere(file: string, session: Session, here: MessagePort, there: MessagePort) {
  const opened = await openVaultFile(file);
  const commits = new OwnCommits();
  opened.session.noteCommits(new OwnCommits(commits.cells));
  session.followCommits(commits);
  const turns = new WriteTurns(0);
  session.takeTurns(turns);
  opened.session.takeTurns(new WriteTurns(1, turns.cells));
  const serve = createWriteServer(opened.store, chain, (replies) => there.postMessage(replies));
  there.on('message', async (message) => {
    if (message !== 'close') {
      serve(message);
      return;
    }
    await opened.store.close();
    setImmediate(() => there.postMessage('closed'));
  });
  const thread = new WriterThread({
    post: (message) => here.postMessage(message, [message.bytes]),
    close: () =>
      new Promise((resolve) => {
        here.once('close', resolve);
        here.postMessage('close');
      }),
  });
  here.on('message', (message) => {
    if (message === 'closed') here.close();
    else thread.receive(message);
  });
  return thread;
}
