import { expect, it } from 'vitest';
import { devText } from '../../src/cli/commands/dev/dev-banner.ts';

const KEYS = { tenant_id: 't', management_key: 'key_m', private_key: 'key_p' };
const PLAIN = {
  url: 'http://127.0.0.1:1',
  pid: 7,
  version: '1.0.0',
  ...KEYS,
};
const READY = { ...PLAIN, seed: { apps: {}, tokens: { visa: 'visa' } } };
const printed = (format: Parameters<typeof devText>[0]) => devText(format, READY, KEYS, 'SVC');

it('serve --dev prints the ready file in the requested format', async () => {
  expect(JSON.parse(await printed('json'))).toEqual(READY);
  expect(await printed('ndjson')).toBe(`${JSON.stringify(READY)}\n`);
  expect((await printed('csv')).split(/\r?\n/)).toEqual([
    'url,tenant_id,management_key,private_key,ui',
    'http://127.0.0.1:1,t,key_m,key_p,',
    '',
  ]);
});

it('serve --dev prints a table and a shell command for people', async () => {
  const text = await printed('table');
  expect(text).toMatch(/^private_key {5}key_p$/m);
  expect(text).toMatch(/^TOKEN_VISA='visa'$/m);
  expect(text).toMatch(/^curl -s http:\/\/127\.0\.0\.1:1\/tokens -H 'SVC-API-KEY: key_p' /m);
  const socket = await devText('table', { ...PLAIN, url: 'unix:/a.sock' }, KEYS, 'ABC');
  expect(socket).toMatch(/^curl -s --unix-socket \/a\.sock http:\/\/localhost\/tokens -H 'ABC-API-KEY: /m);
  expect(socket).not.toContain('TOKEN_');
});
