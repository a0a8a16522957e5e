import { renameSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyProduct } from '../checks/patched-product.ts';
import { startServe } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

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

async function ask(key: 'private_key' | 'management_key', line: string, body?: object) {
  const { url = '', [key]: apiKey = '' } = daemon?.ready ?? {};
  const [method = '', where = ''] = line.split(' ');
  const mediaType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await fetch(`${url}${where}`, {
    method,
    headers: { 'svc-api-key': String(apiKey), ...(body && { 'content-type': mediaType }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 };

it('tokens are created, listed, read, changed and deleted', async () => {
  const made = await ask('private_key', 'POST /tokens', { type: 'card', data: CARD });
  expect(made).toMatchObject({ status: 201, body: { type: 'card', fingerprint: expect.any(String) } });
  const { id } = made.body;
  expect(await ask('private_key', 'GET /tokens')).toMatchObject({ status: 200, body: { data: [{ id }] } });
  expect(await ask('private_key', `GET /tokens/${id}`)).toMatchObject({ status: 200, body: { data: CARD } });
  const changed = await ask('private_key', `PATCH /tokens/${id}`, { mask: '{{ data.number | last4 }}' });
  expect(changed).toMatchObject({ status: 200, body: { id, mask: '{{ data.number | last4 }}' } });
  expect(await ask('private_key', `DELETE /tokens/${id}`)).toEqual({ status: 204, body: undefined });
});

it('many tokens are created at a time without the writer thread', async () => {
  const create = () => ask('private_key', 'POST /tokens', { type: 'token', data: 1 });
  for (let round = 0; round < 3; round += 1) {
    const made = await Promise.all(Array.from({ length: 8 }, create));
    expect(made.map(({ status }) => status)).toEqual(Array(8).fill(201));
  }
});

it('a mask may use JSONPath', async () => {
  const token = { type: 'token', data: { list: [{ n: 7 }] }, mask: "{{ data | json: '$.list[0].n' }}" };
  expect(await ask('private_key', 'POST /tokens', token)).toMatchObject({ status: 201 });
});

it('applications are created, read and deleted', async () => {
  const made = await ask('management_key', 'POST /applications', {
    name: 'made',
    type: 'private',
    permissions: ['token:read'],
  });
  expect(made).toMatchObject({ status: 201, body: { name: 'made' } });
  const where = `/applications/${made.body.id}`;
  expect(await ask('management_key', `GET ${where}`)).toMatchObject({ status: 200, body: { name: 'made' } });
  expect(await ask('management_key', `DELETE ${where}`)).toEqual({ status: 204, body: undefined });
});

it('the tenant and its usage are read', async () => {
  expect(await ask('management_key', 'GET /tenants/self')).toMatchObject({ status: 200 });
  expect(await ask('management_key', 'GET /tenants/self/reports/usage')).toMatchObject({ status: 200 });
  expect(await ask('management_key', 'GET /readyz')).toMatchObject({ status: 200 });
});

it('errors are reported as usual', async () => {
  expect(await ask('private_key', 'POST /tokens', { type: 'card' })).toMatchObject({
    status: 400,
    body: { errors: { data: ['is required'] } },
  });
});
