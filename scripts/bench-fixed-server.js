import { createServer } from 'node:http';

/**
 * A `node:http` server that reads all bytes of a request and answers the same ones each time, once `beforehand` calls what it
 * is given. Over IPC it says its port first; then it is told what to answer, `{ answer: { status, headers, body } }`, and what
 * else there is to tell it, which `told` answers.
 */
export function serveFixed(beforehand, told = () => ({ ready: true })) {
  let fixed = { status: 204, headers: [], body: '' };

  const server = createServer((request, response) => {
    request.on('data', () => undefined);
    request.on('end', () => {
      beforehand(() => {
        response.writeHead(fixed.status, fixed.headers);
        response.end(fixed.body);
      });
    });
  });

  process.on('message', (message) => {
    fixed = message.answer ?? fixed;
    process.send(told(message));
  });
  process.on('disconnect', () => process.exit(0));
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
}
