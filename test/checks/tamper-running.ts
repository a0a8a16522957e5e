import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { ask, startDaemon } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { builtText, withPatch } from './patched-product.ts';
import { tamperFile } from './tamper-file.ts';
import { makeVaultFile } from './vault-file.ts';

/** Copies what is written and keeps it from expiring. */
const TRIGGER = `CREATE TABLE loot (full BLOB);
  CREATE TRIGGER spy AFTER INSERT ON token BEGIN
    INSERT INTO loot VALUES (new.full);
    UPDATE token SET expires_at = NULL WHERE token = new.token;
  END`;

/** How many creates run at a time. Several start the writer thread, which then writes all tokens. */
const WRITERS = { main_thread: 1, writer_thread: 12 } as const;

const GUARD = builtText('this.#isAltered)throw');

/**
 * Adds a trigger to the file of a running daemon, and creates tokens. Resolves to the number of rows that the trigger
 * copied, and to the statuses of the creates, a read and `/readyz`.
 */
async function plantTrigger(writers: number, bin?: string) {
  using folder = makeFolder();
  const vault = await makeVaultFile(folder.path);
  await using daemon = await startDaemon({ file: vault.file, readyFile: join(folder.path, 'ready.json'), bin });
  const call = async (path: string, body?: object) => (await ask(daemon.url, vault.everything, path, body)).status;
  const create = (id: string) => call('/tokens', { id, type: 'token', data: id, expires_at: '2099-01-01T00:00:00Z' });
  const createAll = (name: string) =>
    Promise.all(Array.from({ length: writers }, (_, at) => create(`${name}-token-${at}`)));
  for (const name of ['first', 'second']) {
    const made = await createAll(name);
    if (made.some((status) => status !== 201)) throw new Error(`before the attack: ${made}`);
  }
  await tamperFile(vault.file, (connection) => void connection.exec(TRIGGER));
  const creates = await createAll('after');
  const [read, ready] = [await call('/tokens/first-token-0'), await call('/readyz')];
  let copied = -1;
  await tamperFile(vault.file, (connection) => {
    copied = Number(connection.prepare('SELECT count(*) FROM loot').pluck().get());
  });
  return { copied, creates: new Set(creates), read, ready };
}

/** Rejects with a `CheckFailure` if a running daemon runs a trigger, or if a daemon without the guard does not. */
export async function plantTriggers(): Promise<Readonly<Record<string, number>>> {
  let refused = 0;
  await withPatch([GUARD, 'false)throw'], async (bin) => {
    for (const [name, writers] of Object.entries(WRITERS)) {
      const { copied, creates, read, ready } = await plantTrigger(writers);
      const found = `${name}: ${copied} rows copied, creates ${[...creates]}, read ${read}, /readyz ${ready}`;
      if (copied !== 0 || [...creates].some((status) => status !== 500) || read !== 500 || ready !== 503) {
        throw new CheckFailure(`a trigger planted in an open file, ${found}`);
      }
      refused += writers;
      const { copied: stolen } = await plantTrigger(writers, bin);
      if (stolen !== writers) throw new Error(`without the guard the trigger copies ${stolen} of ${writers} rows`);
    }
  });
  return { refused_after_trigger: refused };
}
