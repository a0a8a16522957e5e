import { renameSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyProduct } from '../checks/patched-product.ts';
import { startServe } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { folder: product, bin, remove } = copyProduct();
const cwd = temporaryFolder();
let daemon: Awaited<ReturnType<typeof startServe>> | undefined;

/** The product's own files are gone as soon as it listens: an update has put others in their place. */
beforeAll(async () => {
  daemon = await startServe(cwd, ['--dev', '--file', 'vault.db'], bin);
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

it('tokens are made, listed, read, changed and deleted', async () => {
  const made = await ask('private_key', 'POST /tokens', { type: 'card', data: CARD });
  expect(made).toMatchObject({ status: 201, body: { type: 'card', fingerprint: expect.any(String) } });
  const { id } = made.body;
  expect(await ask('private_key', 'GET /tokens')).toMatchObject({ status: 200, body: { data: [{ id }] } });
  expect(await ask('private_key', `GET /tokens/${id}`)).toMatchObject({ status: 200, body: { data: CARD } });
  const changed = await ask('private_key', `PATCH /tokens/${id}`, { mask: '{{ data.number | last4 }}' });
  expect(changed).toMatchObject({ status: 200, body: { id, mask: '{{ data.number | last4 }}' } });
  expect(await ask('private_key', `DELETE /tokens/${id}`)).toEqual({ status: 204, body: undefined });
});

it('tokens are made many at a time, without the thread that would write them', async () => {
  const create = () => ask('private_key', 'POST /tokens', { type: 'token', data: 1 });
  for (let round = 0; round < 3; round += 1) {
    const made = await Promise.all(Array.from({ length: 8 }, create));
    expect(made.map(({ status }) => status)).toEqual(Array(8).fill(201));
  }
});

it('a mask may look into its data by JSONPath', async () => {
  const token = { type: 'token', data: { list: [{ n: 7 }] }, mask: "{{ data | json: '$.list[0].n' }}" };
  expect(await ask('private_key', 'POST /tokens', token)).toMatchObject({ status: 201 });
});

it('applications are made, read and deleted', async () => {
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

it('the tenant is read, and its usage', async () => {
  expect(await ask('management_key', 'GET /tenants/self')).toMatchObject({ status: 200 });
  expect(await ask('management_key', 'GET /tenants/self/reports/usage')).toMatchObject({ status: 200 });
  expect(await ask('management_key', 'GET /readyz')).toMatchObject({ status: 200 });
});

it('what is wrong is told as ever', async () => {
  expect(await ask('private_key', 'POST /tokens', { type: 'card' })).toMatchObject({
    status: 400,
    body: { errors: { data: ['is required'] } },
  });
});
