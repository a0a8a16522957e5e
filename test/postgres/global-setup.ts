import net from 'node:net';
import type { TestProject } from 'vitest/node';
import { listenLocally } from './pooler.ts';
import { startPostgres, type TestServer } from './start-postgres.ts';

/** A URL, or the folder of the binaries to start. */
const GIVEN = process.env['VAULT_TEST_POSTGRES'];

/** Starts the server of a run at the first call of `createDatabase`. Resolves to the function that ends the run. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  let server: Promise<TestServer> | undefined;
  async function url(): Promise<string> {
    if (GIVEN?.startsWith('postgres://')) return GIVEN;
    server ??= startPostgres({ binaries: GIVEN });
    return `postgres://postgres@127.0.0.1:${(await server).port}/postgres`;
  }
  const replies = net.createServer((socket) => {
    url().then(
      (text) => socket.end(text),
      (error: Error) => socket.destroy(error),
    );
  });
  provide('postgres', (await listenLocally(replies)).port);
  return async () => {
    replies.close();
    await (await server?.catch(() => undefined))?.stop();
  };
}
