/**
 * The thread that `startWriter` starts. It writes the tokens and the audit of a served vault through a second
 * connection with its own session and group commit. It holds no key.
 */
import { parentPort, workerData } from 'node:worker_threads';
import manifest from '../../package.json' with { type: 'json' };
import { Fault } from '../core/fault.ts';
import { setImmediate } from '../core/timers.ts';
import { COMMITS, RETRIES } from '../store/rows/channels.ts';
import type { WriterMessage } from '../store/sqlite/commit/remote-writer.ts';
import { createWriteServer } from '../store/sqlite/commit/write-calls.ts';
import { WriteTurns } from '../store/sqlite/commit/write-turns.ts';
import { openVaultFile } from '../store/sqlite/file/open-vault-file.ts';
import type { WriterOrder } from './writer.ts';

const { version, file, identity, turns, isMeasured }: WriterOrder = workerData;

async function serveWrites(): Promise<void> {
  if (version !== manifest.version)
    throw new Fault('usage', `version ${manifest.version} was installed while version ${version} is running`);
  const post = (message: WriterMessage) => parentPort?.postMessage(message);
  if (isMeasured) {
    COMMITS.subscribe((waits) => post({ waits: waits as readonly number[] }));
    RETRIES.subscribe(() => post('retried'));
  }
  const { store, session } = await openVaultFile(file, { isOpenHere: true });
  if (session.identity !== identity) {
    await store.close();
    throw new Fault('file_unsafe', `${file} was replaced while it was open`);
  }
  session.takeTurns(new WriteTurns(1, turns));
  const serve = createWriteServer(store, (replies) => post({ replies }));
  parentPort?.on('message', async (message) => {
    if (message !== 'close') {
      serve(message);
      return;
    }
    await store.close();
    // Post the replies of the last commit first: a closed port delivers nothing.
    setImmediate(() => parentPort?.close());
  });
  post('ready');
}

// A rejection ends the thread, and the parent receives the error.
void serveWrites();
