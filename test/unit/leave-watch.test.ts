import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { leaveWatch } from '../../src/http/endpoints.ts';

function watched() {
  const socket = new Socket();
  const response = new ServerResponse(new IncomingMessage(socket));
  let at = 0;
  const hasLeft = leaveWatch(response, () => at);
  const after = (ms: number) => {
    at = ms;
    return hasLeft();
  };
  return { socket, response, after };
}

it('a client that closes its sending side has half a second for its reply', () => {
  const { socket, after } = watched();
  expect([after(0), after(10_000)]).toEqual([false, false]);
  Object.defineProperty(socket, 'readableEnded', { value: true });
  expect([after(20_000), after(20_499), after(20_500)]).toEqual([false, false, true]);
});

it('a client whose connection has ended has left at once', () => {
  const { response, after } = watched();
  response.destroyed = true;
  expect(after(0)).toBe(true);
});
