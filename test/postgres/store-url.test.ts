import { expect, it } from 'vitest';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';

const HOST = { host: 'db', port: 5432 };
const URL = 'postgres://app@db/cards';

it.each([
  [
    URL,
    {
      user: 'app',
      hosts: [HOST],
      database: 'cards',
      schema: 'vault',
      tls: 'verify-full',
      shown: 'postgres://app@db:5432/cards',
      whole: 'postgres://app@db:5432/cards',
    },
  ],
  ['postgresql://app@db/cards', { hosts: [HOST] }],
  [
    'postgres://app@db:6000,db2/cards',
    {
      hosts: [
        { ...HOST, port: 6000 },
        { ...HOST, host: 'db2' },
      ],
    },
  ],
  ['postgres://app@db:6000,db2/cards', { shown: 'postgres://app@db:6000,db2:5432/cards' }],
  ['postgres://app@[::1]:6000/cards', { hosts: [{ host: '::1', port: 6000 }] }],
  ['postgres://app@[::1]:6000/cards', { shown: 'postgres://app@[::1]:6000/cards' }],
  ['postgres://app@%2Frun%2Fpg/cards', { hosts: [{ ...HOST, host: '/run/pg' }] }],
  ['postgres://app@%2Ftmp%2Fa%3Ab:6000/cards', { hosts: [{ host: '/tmp/a:b', port: 6000 }] }],
  ['postgres://app@%2Fpg,%2Fa%3Ab:6000/cards', { shown: 'postgres://app@%2Fpg:5432,%2Fa%3Ab:6000/cards' }],
  ['postgres://a%40b@db/my%20cards', { user: 'a@b', database: 'my cards' }],
  ['postgres://a%40b@db/my%20cards', { shown: 'postgres://a%40b@db:5432/my%20cards' }],
  [`${URL}?schema=other_1`, { schema: 'other_1', shown: 'postgres://app@db:5432/cards?schema=other_1' }],
  [`${URL}?sslmode=verify-ca&sslrootcert=a/ca.pem`, { tls: 'verify-ca', sslrootcert: 'a/ca.pem' }],
  [`${URL}?sslcert=c&sslkey=k&passfile=p`, { sslcert: 'c', sslkey: 'k', passfile: 'p' }],
  [`${URL}?passfile=p`, { shown: 'postgres://app@db:5432/cards', whole: `postgres://app@db:5432/cards?passfile=p` }],
  ['postgres://app@localhost/cards?sslmode=disable', { tls: 'disable' }],
  ['postgres://app@127.9.9.9/cards?sslmode=disable', { tls: 'disable' }],
  ['postgres://app@[::1]/cards?sslmode=disable', { tls: 'disable' }],
  ['postgres://app@%2Frun%2Fpg/cards?sslmode=disable', { tls: 'disable' }],
])('%s', (text, expected) => {
  const parsed = parseStoreUrl(text);
  expect(parsed).toMatchObject(expected);
  expect(parseStoreUrl(parsed.whole)).toEqual(parsed);
});

it.each([
  ['postgres://app:hunter2@db/cards', 'holds a password'],
  ['postgres://app:hunter2@db', 'is malformed'],
  [`${URL}?password=hunter2`, 'holds a password'],
  [`${URL}?hunter2=1`, 'has an unknown parameter'],
  [`${URL}?schema=a&schema=b`, 'needs one value for schema'],
  [`${URL}?passfile=`, 'needs one value for passfile'],
  [`${URL}?schema=pg_toast`, 'has an unusable schema'],
  [`${URL}?schema=a%22b`, 'has an unusable schema'],
  [`${URL}?sslmode=require`, 'has an unknown sslmode'],
  [`${URL}?sslmode=prefer`, 'has an unknown sslmode'],
  [`${URL}?sslcert=c`, 'needs both sslcert and sslkey, or neither'],
  [`${URL}#hunter2`, 'is malformed'],
  ['postgres://db/cards', 'names no user'],
  ['postgres://app@db/', 'names no database'],
  ['postgres://app@/cards', 'is malformed'],
  ['postgres://app@db,/cards', 'is malformed'],
  ['postgres://app@db:0/cards', 'is malformed'],
  ['postgres://app@db:65536/cards', 'is malformed'],
  ['postgres://app@::1/cards', 'is malformed'],
  ['postgres://%ZZ@db/cards', 'is malformed'],
  ['mysql://app@db/cards', 'is malformed'],
])('refuses %s', (text, what) => {
  expect(() => parseStoreUrl(text)).toThrow(
    expect.objectContaining({ code: 'usage', message: `the URL of the store ${what}` }),
  );
});

it.each(['db', 'localhost,db', '10.0.0.1', '127.example.org'])('needs TLS to %s, unless it is allowed', (hosts) => {
  const text = `postgres://app@${hosts}/cards?sslmode=disable`;
  expect(() => parseStoreUrl(text)).toThrow(expect.objectContaining({ code: 'store_insecure' }));
  expect(parseStoreUrl(text, { insecure: true }).tls).toBe('disable');
});
