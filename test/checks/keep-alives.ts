import { connect, type Socket } from 'node:net';

const MAX_WAIT_MS = 20_000;
/** The number of connections that are opened at a time. A larger burst would measure the machine's connection queue. */
const WIDTH = 200;

export function createKeepAlives(url: string) {
  const { hostname, port, host } = new URL(url);
  const request = `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const answered = new Set<Socket>();
  const all = new Set<Socket>();

  /** Sends a request. Resolves to true when the answer is 200 and arrives in time. */
  function answer(socket: Socket, milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (ok: boolean) => {
        clearTimeout(timer);
        socket.off('data', onData).off('close', onClose);
        resolve(ok);
      };
      const onData = (bytes: Buffer) => settle(bytes.toString('latin1').startsWith('HTTP/1.1 200'));
      const onClose = () => settle(false);
      const timer = setTimeout(settle, milliseconds, false);
      socket.on('data', onData).once('close', onClose);
      socket.write(request);
    });
  }

  async function openOne(milliseconds: number): Promise<boolean> {
    const socket = connect({ host: hostname, port: Number(port) });
    all.add(socket);
    // A refused or reset connection counts as closed.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      all.delete(socket);
      answered.delete(socket);
    });
    const ok = await answer(socket, milliseconds);
    socket.resume();
    if (ok) answered.add(socket);
    return ok;
  }

  const close = () => {
    for (const socket of all) socket.destroy();
  };

  return {
    /** Opens `count` connections. Rejects unless each is answered. */
    async open(count: number): Promise<void> {
      for (let done = 0; done < count; done += WIDTH) {
        const batch = Array.from({ length: Math.min(WIDTH, count - done) }, () => openOne(MAX_WAIT_MS));
        const failed = (await Promise.all(batch)).filter((ok) => !ok).length;
        if (failed > 0) throw new Error(`${failed} connections were not answered`);
      }
    },
    /** Tries to open `count` connections at once. Resolves to how many are answered within two seconds. */
    async attempt(count: number): Promise<number> {
      const tried = await Promise.all(Array.from({ length: count }, () => openOne(2_000)));
      return tried.filter(Boolean).length;
    },
    /** Sends a request on `count` open connections. Resolves to how many are answered within two seconds. */
    async ask(count: number): Promise<number> {
      const asked = await Promise.all([...answered].slice(0, count).map((socket) => answer(socket, 2_000)));
      return asked.filter(Boolean).length;
    },
    openNow: () => answered.size,
    close,
    [Symbol.dispose]: close,
  };
}
