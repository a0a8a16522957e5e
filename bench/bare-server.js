/**
 * The baseline of `npm run bench -- http`: a bare `node:http` server in its own process, which reads each request
 * completely and always returns the same response.
 */
import { fork } from 'node:child_process';
import { once as messageOf } from 'node:events';
import { createServer } from 'node:http';
import { once } from './load.js';

/** Headers that Node adds in both servers. */
const NODE_HEADERS = new Set(['connection', 'keep-alive', 'date']);

function headersOf(head) {
  const headers = head.split('\r\n').slice(1);
  return headers
    .map((line) => line.split(/: (.*)/s).slice(0, 2))
    .filter(([name]) => !NODE_HEADERS.has(name.toLowerCase()));
}

const fixed = ({ status, head, body }) => ({ status, headers: headersOf(head).flat(), body: body.toString() });

/** Starts a server that responds like the daemon. Throws when its response to `request` has other bytes. */
export async function bareServer(response, request) {
  const wanted = JSON.stringify(fixed(response));
  const child = fork(import.meta.filename, [wanted], { execArgv: [] });
  const [port] = await messageOf(child, 'message');
  const own = await once(port, request);
  if (JSON.stringify(fixed(own)) !== wanted) throw new Error(`the bare server answers ${own.head}`);
  return { port, pid: child.pid, stop: () => child.disconnect() };
}

if (process.argv[1] === import.meta.filename) {
  const { status, headers, body } = JSON.parse(process.argv[2]);
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, headers);
      response.end(body);
    });
  });
  process.on('disconnect', () => process.exit(0));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}
