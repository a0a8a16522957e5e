import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure } from './check.ts';
import type { ServedVault } from './served-vault.ts';

/** The sizes of written tokens. All slow bodies of 64 KiB together leave less than a small one of 24 MiB. */
const [SMALL, LARGE] = ['x'.repeat(8 * 1024), 'x'.repeat(200 * 1024)];

/** A caller beside an attack, which sends one request after another. */
export type Beside = ReturnType<typeof callBeside>;

/** Sends rounds of requests until it is stopped. Each request resolves to its status. */
function callBeside(requests: readonly (() => Promise<number>)[], pauseMs: number) {
  /** The statuses other than success. */
  const refused: number[] = [];
  let [longest, rounds, over] = [0, 0, false];
  const running = (async () => {
    while (!over) {
      for (const request of requests) {
        const asked = performance.now();
        const status = await request();
        longest = Math.max(longest, performance.now() - asked);
        if (status >= 300) refused.push(status);
        await sleep(pauseMs);
      }
      rounds += 1;
    }
  })();
  // `stop` reports the error.
  running.catch(() => undefined);
  return {
    waitMs: () => longest,
    refused,
    rounds: () => rounds,
    /** Ends after the current round. */
    async stop() {
      over = true;
      await running;
    },
  };
}

/** Sends a GET on a connection of its own, as a command does. Resolves to its status. */
async function getOnNewConnection(url: string, key: string): Promise<number> {
  const [response] = await once(get(url, { agent: false, headers: { 'SVC-API-KEY': key } }), 'response');
  await once(response.resume(), 'end');
  return response.statusCode;
}

/**
 * Starts an honest application, which reads a small token on an open and on a new connection, and writes a small token
 * and one of 200 KiB.
 */
export async function callHonestly({ remote, everything, url }: ServedVault, pauseMs: number): Promise<Beside> {
  const create = (data: string) => remote(everything, 'createToken', { body: { type: 'token', data } });
  const id = String((await create('x')).body['id']);
  const called = [
    async () => (await remote(everything, 'getToken', { id })).status,
    () => getOnNewConnection(`${url()}/tokens/${id}`, everything),
    async () => (await create(SMALL)).status,
    async () => (await create(LARGE)).status,
  ];
  const requests = called.map((call) => async () => {
    try {
      return await call();
    } catch (error) {
      throw new CheckFailure(`the daemon does not answer: ${error}`);
    }
  });
  return callBeside(requests, pauseMs);
}

/** Starts a caller of a bare server, with bodies of the same sizes. Its waits are those that the machine causes. */
export function callBare(url: string, pauseMs: number): Beside {
  const send = async (body?: string) => {
    const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
    await response.arrayBuffer();
    return response.status;
  };
  return callBeside([() => send(), () => send(SMALL), () => send(LARGE)], pauseMs);
}
