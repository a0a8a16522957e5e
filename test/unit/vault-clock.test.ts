import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import type { Client } from '../../src/contract/call.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/contract/limits.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import { createVault, openFileVault, type Vault } from '../../src/vault/vault.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const CREDENTIAL = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
const START = Date.UTC(2031, 0, 1);

let folder: string;
let file: string;
let management: string;
let key: string;
let wall: number;
let running: number;

const times: Times = { wall: () => wall, running: () => running };

/** Moves the clock of the machine on, without a jump. */
function pass(ms: number): void {
  wall += ms;
  running += ms;
}

const open = (limits?: Limits) => openFileVault({ file, credential: CREDENTIAL, times, limits });

async function call(target: Vault | Client, operation: 'createApplication' | 'createToken', body: object) {
  const apiKey = operation === 'createToken' ? key : management;
  const bodyText = JSON.stringify(body);
  const asked = { operation, apiKey, params: {}, query: [], mediaType: 'application/json', bodyText } as const;
  const reply = await ('call' in target ? target.call(asked) : target.dispatch(asked));
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
  const { vault, application } = await createVault({ file, credential: CREDENTIAL, times, tenantName: 'clock' });
  management = application.key ?? '';
  const permissions = ['token:create', 'token:read'];
  key = (await call(vault, 'createApplication', { name: 'app', type: 'private', permissions })).key;
  await vault.close();
});

/** Resolves to the status of a call with an application's key; 403 for a key that works. */
async function keyStatus(vault: Vault, apiKey: string): Promise<number> {
  return (await vault.dispatch({ operation: 'getApplicationByKey', apiKey, params: {}, query: [] })).status;
}

const ask = (vault: Vault, operation: 'getApplication' | 'getApplicationByKey', params: { id?: string }) =>
  vault.dispatch({ operation, apiKey: management, params, query: [] });

async function mint(vault: Vault, life?: number): Promise<string> {
  const end = life === undefined ? {} : { expires_at: new Date(wall + life).toISOString() };
  const body = { name: 'minted', type: 'expiring', permissions: ['token:read'], ...end };
  return (await call(vault, 'createApplication', body)).key;
}

async function createExpiring(vault: Vault, id: string, lifetime: number): Promise<void> {
  const expires_at = new Date(START + lifetime).toISOString();
  await call(vault, 'createToken', { id, type: 'token', data: 1, expires_at });
}

describe('the clock of a vault', () => {
  it('keeps its own time while the clock is wrong for two seconds', async () => {
    const vault = await open();
    await createExpiring(vault, 'year', 365 * DAY);
    await vault.ready();
    wall += 3 * 365 * DAY;
    running += 1000;
    expect(await statusOf(vault, 'year')).toBe(404);
    expect(await call(vault, 'createToken', { type: 'token', data: 1, expires_at: '2031-02-01' })).toMatchObject({
      created_at: '2031-01-01T00:00:01.000+00:00',
    });
    expect(await vault.notices()).toEqual([expect.stringContaining('it jumped by over an hour')]);
    await expect(vault.ready()).rejects.toMatchObject({
      code: 'vault_busy',
      detail: expect.stringContaining('jumped'),
    });
    expect(await vault.sweep()).toBe(0);
    wall = START + 2000;
    running += 1000;
    await vault.ready();
    expect(await statusOf(vault, 'year')).toBe(200);
    expect(await call(vault, 'createToken', { type: 'token', data: 1 })).toMatchObject({
      created_at: '2031-01-01T00:00:02.000+00:00',
    });
    expect(await vault.notices()).toEqual([]);
    await vault.close();
  });

  it('is ready when the clock ticks while it looks for hidden records', async () => {
    const vault = await open();
    for (let life = 1; life <= 20; life += 1)
      await createExpiring(vault, `soon ${life}`.replace(' ', '-'), HOUR + life);
    pass(HOUR);
    let readings = 0;
    const ticking = { wall: () => wall + ++readings, running: () => running + readings };
    const other = await openFileVault({ file, credential: CREDENTIAL, times: ticking });
    await other.ready();
    await other.close();
    await vault.close();
  });

  it.each([
    ['a record that the jump hides', 2 * HOUR, false],
    ['a record that has not ended by either clock', 4 * HOUR, true],
    ['a record that has ended by both clocks', HOUR / 2, true],
  ])('is ready during a doubt except with %s', async (_name, life, isReady) => {
    const vault = await open();
    await createExpiring(vault, 'token', life);
    pass(HOUR / 2);
    await vault.ready();
    wall += 3 * HOUR;
    await (isReady ? vault.ready() : expect(vault.ready()).rejects.toMatchObject({ code: 'vault_busy' }));
    await vault.close();
  });

  it('is ready after a start far from the note, and after sleep', async () => {
    await (await open()).close();
    wall += 3 * DAY;
    let asleep = 0;
    const vault = await openFileVault({ file, credential: CREDENTIAL, times: { ...times, asleep: () => asleep } });
    await vault.ready();
    expect(await vault.notices()).toEqual([expect.stringContaining('not removed before')]);
    pass(HOUR);
    expect(await vault.notices()).toEqual([]);
    wall += 8 * HOUR;
    asleep += 8 * HOUR;
    await vault.ready();
    expect(await vault.notices()).toEqual([]);
    await vault.close();
  });

  it('does not count applications of a wrong clock among the live ones of their creator', async () => {
    wall += 1000 * DAY;
    const wrong = await open({ ...DEFAULT_LIMITS, expiring: 1 });
    await mint(wrong);
    await wrong.close();
    wall = START;
    const vault = await open({ ...DEFAULT_LIMITS, expiring: 1 });
    const { id } = JSON.parse((await ask(vault, 'getApplicationByKey', {})).bodyText ?? '');
    const count = async () =>
      JSON.parse((await ask(vault, 'getApplication', { id })).bodyText ?? '').expiring_applications;
    expect(await count()).toBe(0);
    expect(await keyStatus(vault, await mint(vault))).toBe(403);
    expect(await count()).toBe(1);
    await expect(mint(vault)).rejects.toThrow();
    await vault.close();
  });

  it('does not accept an expiring application whose end is more than a day ahead', async () => {
    const right = await open();
    const day = await mint(right, DAY);
    expect(await keyStatus(right, day)).toBe(403);
    await right.close();
    wall = START + 3 * 365 * DAY;
    const wrong = await open();
    const minute = await mint(wrong);
    expect(await keyStatus(wrong, minute)).toBe(403);
    await wrong.close();
    // Another process may be a moment behind.
    wall = START - 1000;
    const again = await open();
    expect([await keyStatus(again, day), await keyStatus(again, minute)]).toEqual([403, 401]);
    pass(DAY);
    expect([await keyStatus(again, day), await keyStatus(again, minute)]).toEqual([403, 401]);
    pass(1000);
    expect(await keyStatus(again, day)).toBe(401);
    await again.close();
  });

  it('goes back with the clock, but not below the latest expiry that passed by settled time', async () => {
    const vault = await open();
    await createExpiring(vault, 'hour', HOUR);
    await createExpiring(vault, 'three', 3 * HOUR);
    pass(2 * HOUR);
    await vault.sweep();
    wall = START;
    await vault.sweep();
    expect(await call(vault, 'createToken', { type: 'token', data: 1 })).toMatchObject({
      created_at: '2031-01-01T02:00:00.000+00:00',
    });
    wall += HOUR / 2;
    running += HOUR;
    expect(await call(vault, 'createToken', { type: 'token', data: 1 })).toMatchObject({
      created_at: '2031-01-01T01:00:00.000+00:00',
    });
    expect([await statusOf(vault, 'hour'), await statusOf(vault, 'three')]).toEqual([404, 200]);
    await vault.close();
  });

  it('does not store the time of a moved test clock', async () => {
    const first = await open();
    await createExpiring(first, 'short', HOUR);
    await first.close();
    const later = () => START + 25 * HOUR;
    const clock = { now: later, cutoff: later, settled: later };
    const moved = await openFileVault({ file, credential: CREDENTIAL, times, clock });
    expect(await moved.sweep()).toBe(1);
    await moved.close();
    const again = await open();
    const { created_at } = await call(again, 'createToken', { type: 'token', data: 1 });
    expect(Date.parse(created_at)).toBe(START);
    await again.close();
  });

  it('loses nothing through one command with a clock 20 years ahead', async () => {
    const first = await open();
    await createExpiring(first, 'month', 30 * DAY);
    await first.close();
    wall = START + 20 * 365 * DAY;
    const command = directClient(await open());
    expect(await call(command, 'createToken', { type: 'token', data: 1 })).toBeDefined();
    await command.close();
    wall = START + 5 * 60_000;
    const served = await open();
    expect(await served.notices()).toEqual([]);
    for (let minute = 0; minute < 70; minute += 1) {
      expect([await served.sweep(), await statusOf(served, 'month')]).toEqual([0, 200]);
      pass(60_000);
    }
    await served.close();
    const { findings, notices } = await checkVaultFile({ file, credential: CREDENTIAL, times });
    expect(findings).toEqual([]);
    expect(notices).toEqual([
      expect.stringContaining('behind the newest entry of the audit'),
      expect.stringMatching(/^1 record was created more than a day after now/),
    ]);
  });

  it('distrusts a clock that moves to and fro', async () => {
    const first = await open();
    await createExpiring(first, 'month', 30 * DAY);
    await first.close();
    for (const day of [3, 2000, 3.1, 2000.05]) {
      wall = START + day * DAY;
      const command = directClient(await open());
      await command.close();
    }
    wall = START + 3.2 * DAY;
    const last = await open();
    expect(await statusOf(last, 'month')).toBe(200);
    await last.close();
  });
});

describe('an altered clock note', () => {
  const EDITS: Readonly<Record<string, string>> = {
    'the latest expiry moved to 2100': "'4102444800000' || substr(clock, instr(clock, ' '))",
    'the last settled time moved': "replace(clock, ' 19', ' 18')",
    'a doubt taken back': "replace(clock, ' 0 ', ' 1 ')",
    'a MAC of zeros': "substr(clock, 1, length(clock) - 64) || printf('%064d', 0)",
    'no text': "''",
    'no number': "'9e99 x ' || clock",
    'that of another vault': '(SELECT clock FROM other.counter WHERE tenant = 0)',
  };

  it.each(Object.entries(EDITS))('is an integrity failure and a finding: %s', async (_name, sql) => {
    const other = join(folder, 'other.db');
    await (await createVault({ file: other, credential: CREDENTIAL, times, tenantName: 'other' })).vault.close();
    await tamperFile(file, (connection) => {
      connection.prepare('ATTACH ? AS other').run(other);
      expect(
        connection.prepare(`UPDATE counter SET clock = ${sql} WHERE tenant = 0 AND clock <> ${sql}`).run().changes,
      ).toBe(1);
    });
    await expect(open()).rejects.toMatchObject({ code: 'integrity_failure' });
    await expect(openVaultAdmin({ file, credential: CREDENTIAL })).rejects.toMatchObject({ code: 'integrity_failure' });
    const { findings } = await checkVaultFile({ file, credential: CREDENTIAL, times });
    expect(findings).toEqual([{ table: 'counter', id: '', what: 'the clock note was altered' }]);
  });

  it('stops the sweep of an open vault', async () => {
    const vault = await open();
    await tamperFile(file, (connection) => connection.exec("UPDATE counter SET clock = '0 0 0 00' WHERE tenant = 0"));
    await expect(vault.sweep()).rejects.toMatchObject({ code: 'integrity_failure' });
    await vault.close();
  });

  it('stays valid under a new master key', async () => {
    const before = await open();
    await createExpiring(before, 'hour', HOUR);
    pass(HOUR);
    await before.close();
    const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
    await admin.rotate({ master: true, indexes: false });
    await admin.close();
    wall = START;
    const after = await open();
    expect(await statusOf(after, 'hour')).toBe(404);
    await after.close();
  });
});

describe('doctor', () => {
  it.each([
    [
      'a week behind the note',
      -7,
      [
        'the clock is in doubt',
        'the latest expiry that passed',
        'the newest entry of the audit',
        // The tenant, its two applications and the token.
        '4 records were created more than a day after now',
      ],
    ],
    ['a week ahead of the note', 7, ['the clock is in doubt']],
    ['near the note', 0.5, []],
  ])('compares the clock with the clock note: %s', async (_name, days, named) => {
    const vault = await open();
    await createExpiring(vault, 'hour', HOUR);
    pass(HOUR);
    await vault.close();
    wall = START + days * DAY;
    const { ok, notices } = await checkVaultFile({ file, credential: CREDENTIAL, times });
    expect({ ok, notices }).toEqual({ ok: true, notices: named.map((words) => expect.stringContaining(words)) });
  });
});
