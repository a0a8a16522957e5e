/**
 * The baseline of `npm run bench -- http`: a bare `node:http` server that reads all bytes of a request and answers fixed
 * ones. Over IPC it is told what to answer: `{ status, headers, body }`; it says its port first.
 */
import { createServer } from 'node:http';

let answer = { status: 204, headers: [], body: '' };

const server = createServer((request, response) => {
  request.on('data', () => undefined);
  request.on('end', () => {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  });
});

process.on('message', (given) => {
  answer = given;
  process.send({ ready: true });
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
