import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { readBody } from '../../src/http/read-body.ts';

it('a body that finds no room can be read later', () => {
  const request = new IncomingMessage(new Socket());
  request.headers['content-length'] = '2';
  request.push('{}');
  request.push(null);
  request.complete = true;
  const response = new ServerResponse(request);
  let isFull = true;
  const budget = { take: (bytes: number) => !isFull || bytes === 0, giveBack: () => undefined };
  const read = () => readBody(request, response, { limit: 10, budget });
  expect(read).toThrow('vault_busy');
  expect(read).toThrow('vault_busy');
  isFull = false;
  expect(read()).toEqual({ bodyText: '{}' });
});
