import { renameSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyProduct } from '../checks/patched-product.ts';
import { startServe } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { send } from './cli-fixture.ts';

const { folder: product, bin, remove } = copyProduct();
const cwd = temporaryFolder();
let daemon: Awaited<ReturnType<typeof startServe>> | undefined;

/** Moves the product's files away once the daemon listens, as an update does. */
beforeAll(async () => {
  daemon = await startServe(cwd, ['--dev', '--file', 'vault.db'], { bin });
  renameSync(path.join(product, 'dist'), path.join(product, 'gone'));
});

afterAll(async () => {
  await daemon?.stop();
  remove();
});

const ask = (key: 'private_key' | 'management_key', line: string, body?: object) =>
  send(String(daemon?.url), line, String(daemon?.ready[key]), body);

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 };

it('tokens are created, listed, read, changed and deleted, and a mask may use JSONPath', async () => {
  const made = await ask('private_key', 'POST /tokens', { type: 'card', data: CARD });
  expect(made).toMatchObject({ status: 201, body: { type: 'card', fingerprint: expect.any(String) } });
  const { id } = made.body;
  expect(await ask('private_key', 'GET /tokens')).toMatchObject({ status: 200, body: { data: [{ id }] } });
  expect(await ask('private_key', `GET /tokens/${id}`)).toMatchObject({ status: 200, body: { data: CARD } });
  const changed = await ask('private_key', `PATCH /tokens/${id}`, { mask: "{{ data | json: '$.number' }}" });
  expect(changed).toMatchObject({ status: 200, body: { id, mask: "{{ data | json: '$.number' }}" } });
  expect(await ask('private_key', `DELETE /tokens/${id}`)).toMatchObject({ status: 204, text: '' });
  expect(await ask('private_key', 'POST /tokens', { type: 'card' })).toMatchObject({
    status: 400,
    body: { errors: { data: ['is required'] } },
  });
});

it('many tokens are created at a time without the writer thread', async () => {
  const create = () => ask('private_key', 'POST /tokens', { type: 'token', data: 1 });
  for (let round = 0; round < 3; round += 1) {
    const made = await Promise.all(Array.from({ length: 8 }, create));
    expect(made.map(({ status }) => status)).toEqual(Array(8).fill(201));
  }
});

it('applications are created, read and deleted, and the tenant and its usage are read', async () => {
  const body = { name: 'made', type: 'private', permissions: ['token:read'] };
  const made = await ask('management_key', 'POST /applications', body);
  expect(made).toMatchObject({ status: 201, body: { name: 'made' } });
  for (const where of [`/applications/${made.body.id}`, '/tenants/self', '/tenants/self/reports/usage', '/readyz']) {
    expect(await ask('management_key', `GET ${where}`)).toMatchObject({ status: 200 });
  }
  expect((await ask('management_key', `DELETE /applications/${made.body.id}`)).status).toBe(204);
});
