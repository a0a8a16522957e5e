/**
 * The baseline of `npm run bench -- http`: a bare `node:http` server in its own process, which reads each request
 * completely and always returns the same response.
 */
import { createServer } from 'node:http';
import { type Answer, once } from './load.ts';
import { listenForParent, startProcess } from './own-process.ts';

/** Headers that Node adds in both servers. */
const NODE_HEADERS = new Set(['connection', 'keep-alive', 'date']);

function headersOf(head: string): readonly string[] {
  const headers = head.split('\r\n').slice(1);
  return headers
    .map((line) => line.split(/: (.*)/s).slice(0, 2))
    .filter(([name = '']) => !NODE_HEADERS.has(name.toLowerCase()))
    .flat();
}

const fixed = ({ status, head, body }: Answer) => ({ status, headers: headersOf(head), body: body.toString() });

/** Starts a server that responds like the daemon. Throws when its response to `request` has other bytes. */
export async function bareServer(response: Answer, request: Buffer) {
  const wanted = JSON.stringify(fixed(response));
  const server = await startProcess(import.meta.filename, wanted);
  const own = await once(server.port, request);
  if (JSON.stringify(fixed(own)) !== wanted) throw new Error(`the bare server answers ${own.head}`);
  return server;
}

if (process.argv[1] === import.meta.filename) {
  const { status, headers, body }: ReturnType<typeof fixed> = JSON.parse(process.argv[2] ?? '');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, [...headers]);
      response.end(body);
    });
  });
  listenForParent(server);
}
