import { once } from 'node:events';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';

/** What a pooler does with the options of a start-up message: PgBouncer drops them or refuses the connection. */
export type Options = 'drop' | 'refuse';

/** The parts of the message before its parameters: its length and the version of the protocol. */
const HEAD_BYTES = 8;

const REFUSAL = message('E', 'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter in options: search_path\0\0');

export function message(type: string, content: string | Uint8Array): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

function withoutOptions(start: Buffer): Buffer | undefined {
  const words = start.subarray(HEAD_BYTES).toString('latin1').split('\0');
  const at = words.findIndex((word, place) => place % 2 === 0 && word === 'options');
  if (at < 0) return undefined;
  const parameters = Buffer.from(words.toSpliced(at, 2).join('\0'), 'latin1');
  const head = Buffer.from(start.subarray(0, HEAD_BYTES));
  head.writeInt32BE(HEAD_BYTES + parameters.length);
  return Buffer.concat([head, parameters]);
}

/** Starts a proxy in front of the server at this port. It treats options as PgBouncer does, without TLS. */
export async function startPooler(serverPort: number, options: Options) {
  const sockets = new Set<Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(serverPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      const end = () => [client, upstream].forEach((each) => void each.destroy());
      socket.on('error', end).on('close', end);
    }
    client.once('data', (start) => {
      const shortened = withoutOptions(start);
      if (shortened !== undefined && options === 'refuse') {
        client.end(REFUSAL);
        return;
      }
      upstream.write(shortened ?? start);
      client.pipe(upstream).pipe(client);
    });
  });
  return listenLocally(server, sockets);
}

/** Listens on a free port. The end closes these sockets, too. */
export async function listenLocally(server: Server, sockets: ReadonlySet<Socket> = new Set()) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}
