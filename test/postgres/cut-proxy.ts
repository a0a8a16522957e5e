import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { listenLocally } from './pooler.ts';

/**
 * Where the proxy cuts a connection:
 *
 * - `before COMMIT`: the server receives everything before COMMIT, so it rolls back.
 * - `after COMMIT`: the server commits, but its answer to COMMIT is lost.
 * - `after COMMIT, without answers`: the answers to the statements in the same write as COMMIT are lost, too.
 * - `late COMMIT`: the client loses its connection, and the server receives COMMIT a little later.
 * - `late`: the client loses its connection, and the server receives the whole transaction a little later.
 */
export type Cut = 'before COMMIT' | 'after COMMIT' | 'after COMMIT, without answers' | 'late COMMIT' | 'late';

/** The cuts after which the server receives nothing more. */
export const CUTS: readonly Cut[] = ['before COMMIT', 'after COMMIT', 'after COMMIT, without answers'];

export type CutProxy = Awaited<ReturnType<typeof startCutProxy>>;

/** Splits a stream of messages: a type, then a length of 4 bytes that includes itself. */
function messages(onMessage: (message: Buffer) => void, startsUntyped: boolean): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes = startsUntyped ? 0 : 1;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      onMessage(rest.subarray(0, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
  };
}

const LATE_MS = 150;

const SENT_COMMIT = Buffer.from('COMMIT\0');

function isCommit(message: Buffer, type: 'Q' | 'C'): boolean {
  return message[0] === type.charCodeAt(0) && message.subarray(5).equals(SENT_COMMIT);
}

/** Returns whether the message is part of a chunk with others that ends with COMMIT. */
function holdsCommit(chunk: Buffer): boolean {
  return chunk.subarray(-SENT_COMMIT.length).equals(SENT_COMMIT);
}

export async function startCutProxy(serverPort: number) {
  let armed: Cut | undefined;
  let done = 0;
  let isRefusing = false;
  let delivered: Promise<unknown> = Promise.resolve();
  const sockets = new Set<Socket>();

  const server = net.createServer((client) => {
    if (isRefusing) {
      client.destroy();
      return;
    }
    const upstream = net.connect(serverPort, '127.0.0.1');
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    let cut: Cut | undefined;
    let isMute = false;

    function end(): void {
      upstream.destroy();
      client.destroy();
    }
    function cutNow(): void {
      done += 1;
      upstream.end();
      client.resetAndDestroy();
    }
    function cutEarly(commit: Buffer): void {
      done += 1;
      client.removeListener('close', end);
      client.resetAndDestroy();
      delivered = once(upstream, 'close');
      setTimeout(() => upstream.end(commit), LATE_MS);
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => sockets.delete(socket));
      socket.on('close', end);
    }

    const fromClient = messages((message) => {
      if (cut === undefined && isCommit(message, 'Q') && armed !== undefined) {
        [cut, armed] = [armed, undefined];
        if (cut === 'before COMMIT') return cutNow();
        if (cut === 'late COMMIT') return cutEarly(message);
      }
      if (!client.destroyed) upstream.write(message);
    }, true);
    client.on('data', (chunk) => {
      if (armed === 'after COMMIT, without answers' && holdsCommit(chunk)) isMute = true;
      if (armed === 'late' && holdsCommit(chunk)) {
        [cut, armed] = [armed, undefined];
        return cutEarly(chunk);
      }
      fromClient(chunk);
    });
    upstream.on(
      'data',
      messages((message) => {
        if (cut !== undefined && !client.destroyed && isCommit(message, 'C')) return cutNow();
        if (!isMute && !client.destroyed) client.write(message);
      }, false),
    );
  });
  return {
    ...(await listenLocally(server, sockets)),
    /** Cuts the next connection that sends COMMIT. */
    arm(cut: Cut): void {
      armed = cut;
    },
    /** Refuses new connections, or accepts them again. */
    refuse(isOn: boolean): void {
      isRefusing = isOn;
    },
    /** Resolves when the server has received and answered the last late message. */
    delivered: () => delivered,
    cuts: () => done,
  };
}
