import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, openCore, rule } from './core-fixture.ts';

let core: Core;
let writer: string;

beforeEach(async () => {
  core = await openCore();
  writer = await core.application({ name: 'web', type: 'public', permissions: ['token:create'] });
  await core.token({ type: 'token', data: 'known', containers: ['/general/'] });
});

const guess = (key: string, data: string) =>
  core.call(key, 'createToken', { body: { type: 'token', data, deduplicate_token: true } });

async function statuses(count: number, key: string, data: (n: number) => string): Promise<readonly number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) seen.push((await guess(key, data(n))).status);
  return [...new Set(seen)];
}

describe('creates that return a duplicate which the caller does not read', () => {
  it('are limited to 100 a minute for each application, then 429', async () => {
    const other = await core.application({ name: 'other', type: 'public', permissions: ['token:create'] });
    expect(await statuses(100, writer, () => 'known')).toEqual([201]);
    const refused = await guess(writer, 'known');
    expect(refused.status).toBe(429);
    expect(refused.text).not.toContain('fingerprint');
    expect((await guess(other, 'known')).status).toBe(201);
    core.clock.advance(60_000);
    expect((await guess(writer, 'known')).status).toBe(201);
  });

  it('leave new tokens and readable duplicates unlimited', async () => {
    await statuses(101, writer, () => 'known');
    expect(await statuses(150, writer, (n) => `new ${n}`)).toEqual([201]);
    const redacted = [rule({ transform: 'redact', permissions: ['token:create', 'token:read'] })];
    const reader = await core.application({ name: 'reader', type: 'private', rules: redacted });
    expect(await statuses(150, reader, () => 'known')).toEqual([201]);
  });
});
