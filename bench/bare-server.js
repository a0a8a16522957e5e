/**
 * The baseline of `npm run bench -- http`: a bare `node:http` server in a process of its own that reads all bytes of a
 * request and returns the same response each time.
 */
import { fork } from 'node:child_process';
import { once as messageOf } from 'node:events';
import { createServer } from 'node:http';
import { once } from './load.js';

/** Headers that Node adds by itself, in both servers. */
const NODE_HEADERS = new Set(['connection', 'keep-alive', 'date']);

function headersOf(head) {
  const headers = head.split('\r\n').slice(1);
  return headers
    .map((line) => line.split(/: (.*)/s).slice(0, 2))
    .filter(([name]) => !NODE_HEADERS.has(name.toLowerCase()));
}

const fixed = ({ status, head, body }) => ({ status, headers: headersOf(head).flat(), body: body.toString() });

/** Starts a server that responds like the daemon. Throws when it does not write the same bytes for `request`. */
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
