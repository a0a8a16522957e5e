import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, openCore, PRIVATE, rule } from './core-fixture.ts';

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

describe('creates and updates that find a duplicate which the caller does not read', () => {
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

  it('share one limit, and an update beyond it changes nothing', async () => {
    const rules = [rule({ container: '/own/', permissions: PRIVATE })];
    const blind = await core.application({ name: 'blind', type: 'private', rules });
    const own = await core.token({ type: 'token', data: 'other', containers: ['/own/'] }, blind);
    const patch = (key: string, data: string) =>
      core.call(key, 'updateToken', { id: own, body: { data, deduplicate_token: true } });
    const create = () =>
      core.call(blind, 'createToken', {
        body: { type: 'token', data: 'known', containers: ['/own/'], deduplicate_token: true },
      });
    for (let n = 0; n < 50; n += 1) {
      expect([(await patch(blind, 'known')).status, (await create()).status]).toEqual([200, 201]);
      // A patch that leaves the fingerprint as it was confirms no guess, so it does not count.
      expect((await patch(blind, 'known')).at('data')).toBe('known');
      expect((await patch(blind, 'unknown')).status).toBe(200);
    }
    expect([(await patch(blind, 'known')).status, (await create()).status]).toEqual([429, 429]);
    expect((await core.call(blind, 'getToken', { id: own })).at('data')).toBe('unknown');
    expect((await patch(core.key, 'known')).at('data')).toBe('known');
    core.clock.advance(60_000);
    expect((await create()).status).toBe(201);
  });

  it('leave new tokens and readable duplicates unlimited', async () => {
    await statuses(101, writer, () => 'known');
    expect(await statuses(150, writer, (n) => `new ${n}`)).toEqual([201]);
    const redacted = [rule({ transform: 'redact', permissions: ['token:create', 'token:read'] })];
    const reader = await core.application({ name: 'reader', type: 'private', rules: redacted });
    expect(await statuses(150, reader, () => 'known')).toEqual([201]);
  });
});
