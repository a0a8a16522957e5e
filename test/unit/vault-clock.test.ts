import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Times } from '../../src/vault/system-clock.ts';
import { createVault, openVault, type Vault } from '../../src/vault/vault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const HOUR = 3_600_000;
const CREDENTIAL = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
const START = Date.UTC(2031, 0, 1);

let folder: string;
let file: string;
let management: string;
let key: string;
let wall: number;
let running: number;

const times: Times = { wall: () => wall, running: () => running };
const open = () => openVault({ file, credential: CREDENTIAL, times });

async function call(vault: Vault, operation: 'createApplication' | 'createToken', body: object) {
  const apiKey = operation === 'createToken' ? key : management;
  const bodyText = JSON.stringify(body);
  const reply = await vault.dispatch({
    operation,
    apiKey,
    params: {},
    query: [],
    mediaType: 'application/json',
    bodyText,
  });
  expect(reply.status).toBe(201);
  return JSON.parse(reply.bodyText ?? '');
}

async function statusOf(vault: Vault, id: string): Promise<number> {
  return (await vault.dispatch({ operation: 'getToken', apiKey: key, params: { id }, query: [] })).status;
}

beforeEach(async () => {
  folder = temporaryFolder(onTestFinished);
  file = join(folder, 'vault.db');
  wall = START;
  running = 0;
  const { vault, application } = await createVault({ file, credential: CREDENTIAL, tenantName: 'clock' });
  management = application.key ?? '';
  const permissions = ['token:create', 'token:read'];
  key = (await call(vault, 'createApplication', { name: 'app', type: 'private', permissions })).key;
  await vault.close();
});

async function createExpiring(vault: Vault, id: string, lifetime: number): Promise<void> {
  const expires_at = new Date(START + lifetime).toISOString();
  await call(vault, 'createToken', { id, type: 'token', data: 1, expires_at });
}

describe('a vault whose clock is set', () => {
  it('hides across restarts what has expired, whatever the clock says then', async () => {
    const first = await open();
    await createExpiring(first, 'hour', HOUR);
    await createExpiring(first, 'day', 24 * HOUR);
    expect(await statusOf(first, 'hour')).toBe(200);
    wall += HOUR;
    running += HOUR;
    expect(await statusOf(first, 'hour')).toBe(404);
    await first.close();
    for (const back of [HOUR, 24 * HOUR]) {
      wall = START - back;
      const again = await open();
      expect([await statusOf(again, 'hour'), await statusOf(again, 'day')]).toEqual([404, 200]);
      await again.close();
    }
  });

  it('removes nothing by a jump that is corrected within the hour, and shows it again when opened anew', async () => {
    const first = await open();
    await createExpiring(first, 'day', 24 * HOUR);
    wall += 48 * HOUR;
    expect(await statusOf(first, 'day')).toBe(404);
    expect(await first.sweep()).toBe(0);
    wall = START;
    running += 2 * HOUR;
    expect(await first.sweep()).toBe(0);
    await first.close();
    const again = await open();
    expect(await statusOf(again, 'day')).toBe(200);
    await again.close();
  });

  it('does not remember the time of a clock that a test has moved', async () => {
    const first = await open();
    await createExpiring(first, 'short', HOUR);
    await first.close();
    const later = () => START + 25 * HOUR;
    const moved = await openVault({ file, credential: CREDENTIAL, times, clock: { now: later, settled: later } });
    expect(await moved.sweep()).toBe(1);
    await moved.close();
    const again = await open();
    const { created_at } = await call(again, 'createToken', { type: 'token', data: 1 });
    expect(Date.parse(created_at)).toBe(START);
    await again.close();
  });
});
