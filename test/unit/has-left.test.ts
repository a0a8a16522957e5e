import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { hasLeft, noteClients } from '../../src/http/connected-clients.ts';

afterEach(() => vi.restoreAllMocks());

function connected() {
  const server = new EventEmitter();
  noteClients(server, 'connection');
  const socket = new Socket();
  server.emit('connection', socket);
  return { socket, response: new ServerResponse(new IncomingMessage(socket)) };
}

it('a client that closes its sending side has half a second for its reply', () => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { socket, response } = connected();
  seconds = 10;
  expect(hasLeft(response)).toBe(false);
  socket.emit('end');
  const after = (ms: number) => {
    seconds = 10 + ms / 1000;
    return hasLeft(response);
  };
  expect([after(0), after(490), after(510)]).toEqual([false, false, true]);
});

it('a client whose connection has ended has left at once', () => {
  const { response } = connected();
  response.destroyed = true;
  expect(hasLeft(response)).toBe(true);
});
