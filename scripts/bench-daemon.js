import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BIN, start } from './run-vault.js';

const LISTENING = /^vault: listening on (\S+)/m;

/** A started daemon: resolves as soon as it says that it listens, to its port, its pid and what ends it. */
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
  return { url, port: Number(new URL(url).port), pid: child.pid, stop };
}

/** The bare server, which answers what a response of the daemon was. */
export async function bareServer() {
  const file = fileURLToPath(new URL('bench-bare-server.js', import.meta.url));
  const child = fork(file, { execArgv: [], cwd: path.dirname(file) });
  const [{ port }] = await once(child, 'message');
  async function answerLike({ status, head, body }) {
    const headers = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(/: (.*)/s).slice(0, 2))
      .filter(([name]) => !['connection', 'keep-alive', 'date'].includes(name.toLowerCase()))
      .flat();
    child.send({ status, headers, body: body.toString('base64') });
    await once(child, 'message');
  }
  return { port, answerLike, stop: () => child.disconnect() };
}
