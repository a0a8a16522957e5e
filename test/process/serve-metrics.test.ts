import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Served } from '../scripts/run-script.ts';
import { makePlace, send } from './cli-fixture.ts';

const place = makePlace();
/** Texts that no metric may contain. */
const canaries = {
  tenant: '',
  application: '',
  key: '',
  name: 'canary-app',
  id: 'canary-token',
  path: '/canary/',
  data: 'canary data',
};
beforeAll(async () => {
  const management = await place.init('v');
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: management };
  canaries.tenant = (await place.vault('tenant get --field id', env)).stdout.trim();
  const rule = 'container=/ transform=reveal permissions=token:create,token:read';
  const made = await place.vault(`apps create --name ${canaries.name} --type private --rule '${rule}'`, env);
  ({ id: canaries.application, key: canaries.key } = JSON.parse(made.stdout));
});

const serve = (...words: readonly string[]) => place.serve(['--file', 'v.db', '--metrics', '127.0.0.1:0', ...words]);

async function metricsOf({ ready }: Served): Promise<string> {
  const response = await fetch(String(ready['metrics']));
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return response.text();
}

/** Returns the value of a sample, as it is printed. */
function sampleOf(text: string, sample: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return Number(line?.slice(sample.length));
}

async function create({ url }: Served, id?: string): Promise<number> {
  const body = { type: 'token', data: canaries.data, containers: [canaries.path], id };
  return (await send(url, 'POST /tokens', canaries.key, body)).status;
}

describe('vault serve --metrics', { timeout: 60_000 }, () => {
  it('answers nothing without the flag', async () => {
    const daemon = await place.serve(['--file', 'v.db', '--no-log']);
    expect(Object.keys(daemon.ready)).toEqual(['url', 'pid', 'version']);
    // The ready file may be read before the line on standard error arrives.
    await expect.poll(daemon.told).toBe(`vault: listening on ${daemon.url}\n`);
    expect((await fetch(`${daemon.url}/metrics`)).status).toBe(404);
    expect(await daemon.stop()).toBe(0);
  });

  it('counts requests, commits of both threads, and tokens, and names no record', async () => {
    const daemon = await serve();
    await expect.poll(daemon.told).toContain(`vault: metrics on ${daemon.ready['metrics']}\n`);
    expect(await create(daemon, canaries.id)).toBe(201);
    const together = await Promise.all(Array.from({ length: 40 }, () => create(daemon)));
    expect(together).toEqual(Array(40).fill(201));
    expect((await send(daemon.url, `GET /tokens/${canaries.id}`, canaries.key)).status).toBe(200);
    const text = await metricsOf(daemon);
    expect(sampleOf(text, 'vault_requests_total{operation="createToken",status="201"}')).toBe(41);
    expect(sampleOf(text, 'vault_request_duration_seconds_count{operation="getToken"}')).toBe(1);
    expect(sampleOf(text, 'vault_tokens{type="token"}')).toBe(41);
    expect(sampleOf(text, 'vault_commit_wait_seconds_count')).toBe(sampleOf(text, 'vault_commit_writes_sum'));
    const before = sampleOf(text, 'vault_commit_writes_sum');
    // The concurrent creates have started the writer thread. It commits these, one at a time.
    for (let n = 0; n < 10; n += 1) expect(await create(daemon)).toBe(201);
    expect(sampleOf(await metricsOf(daemon), 'vault_commit_writes_sum')).toBeGreaterThanOrEqual(before + 10);
    expect(sampleOf(text, 'vault_wal_bytes')).toBeGreaterThan(0);
    expect(sampleOf(text, 'vault_file_bytes')).toBeGreaterThan(0);
    expect(sampleOf(text, 'vault_free_bytes')).toBeGreaterThan(0);
    expect([sampleOf(text, 'vault_ready'), sampleOf(text, 'vault_writable')]).toEqual([1, 1]);
    // The daemon compares the file with its audit soon after the start.
    const checked = async () => sampleOf(await metricsOf(daemon), 'vault_audit_checked_timestamp_seconds');
    await expect.poll(checked, { timeout: 20_000 }).toBeGreaterThan(Date.now() / 1000 - 60);
    expect(sampleOf(await metricsOf(daemon), 'vault_findings')).toBe(0);
    for (const canary of Object.values(canaries)) {
      expect(canary).not.toBe('');
      expect(text).not.toContain(canary);
    }
    // The log, which names the application, shows that the search works.
    expect(daemon.told()).toContain(canaries.application);
    expect(await daemon.stop()).toBe(0);
  });

  it('shows when another process last backed the file up', async () => {
    const daemon = await serve('--no-log');
    const backedUp = async () => sampleOf(await metricsOf(daemon), 'vault_backup_timestamp_seconds');
    expect(await backedUp()).toBeNaN();
    const before = Date.now() / 1000;
    expect(await place.vault('backup copy.db --file v.db')).toMatchObject({ exitCode: 0, stderr: '' });
    const first = await backedUp();
    expect(first).toBeGreaterThanOrEqual(before);
    expect(await place.vault('backup --keep 2 . --file v.db')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await backedUp()).toBeGreaterThan(first);
    // A backup needs no lock, its time does.
    const lock = new Database(place.inside('v.db'));
    onTestFinished(() => void lock.close());
    lock.exec('BEGIN IMMEDIATE');
    const [last, { exitCode, stderr }] = [await backedUp(), await place.vault('backup later.db --file v.db')];
    expect([exitCode, stderr]).toEqual([
      0,
      'vault: the backup is complete, but its time cannot be recorded in the vault: The vault is busy; try again.\n',
    ]);
    lock.exec('ROLLBACK');
    expect(await backedUp()).toBe(last);
    expect(await place.vault('backup --verify later.db --file v.db')).toMatchObject({ exitCode: 0 });
    expect(await daemon.stop()).toBe(0);
  });

  it('answers only GET /metrics', async () => {
    const daemon = await serve('--no-log');
    const url = String(daemon.ready['metrics']);
    expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(404);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect(await daemon.stop()).toBe(0);
  });
});
