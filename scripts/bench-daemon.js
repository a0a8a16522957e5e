import { fork } from 'node:child_process';
import { once as messageOf } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from './bench-load.js';
import { BIN, start } from './run-vault.js';

const LISTENING = /^vault: listening on (\S+)/m;

/**
 * A started daemon: resolves as soon as it says that it listens, to its port, its pid, what
 * ends it and what it has written to stderr.
 */
export async function serve(args, env) {
  const { child, output, ended } = start([BIN, 'serve', '--port', '0', '--no-log', ...args], env);
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const found = output.stderr.match(LISTENING)?.[1];
      if (found !== undefined) resolve(found);
    });
    ended.then(([code]) => reject(new Error(`serve ended with ${code}: ${output.stderr}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url, port: Number(new URL(url).port), pid: child.pid, stop, said: () => output.stderr };
}

/** What Node writes of its own accord, in both servers. */
const OWN_HEADERS = new Set(['connection', 'keep-alive', 'date']);

function fieldsOf(head) {
  return head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(/: (.*)/s).slice(0, 2))
    .filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()));
}

/** The bare server, which only answers. */
export function bareServer() {
  return fixedServer('bench-bare-server.js');
}

/** One that puts the rows of a token into SQLite before it answers. `take` says how many it has now. */
export async function storingServer(from, to) {
  const server = await fixedServer('bench-storing-server.js', [from, to]);
  return { ...server, take: async () => (await server.ask({ take: true })).taken };
}

/**
 * A server with fixed answers. `answerLike` has it answer what a response of the daemon was, and throws when the two would
 * not put the same number of bytes on the wire for `asked`.
 */
async function fixedServer(name, args = []) {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const child = fork(file, args, { execArgv: [], cwd: path.dirname(file) });
  const [{ port }] = await messageOf(child, 'message');
  async function ask(message) {
    child.send(message);
    const [said] = await messageOf(child, 'message');
    return said;
  }
  async function answerLike({ status, head, body }, asked) {
    await ask({ answer: { status, headers: fieldsOf(head).flat(), body: body.toString() } });
    const own = await once(port, asked);
    const written = (response) => JSON.stringify([response.status, fieldsOf(response.head), response.body.toString()]);
    if (written(own) !== written({ status, head, body })) throw new Error(`${name} answers ${own.head}`);
  }
  return { port, pid: child.pid, ask, answerLike, stop: () => child.disconnect() };
}
