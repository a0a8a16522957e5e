import { expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import { callOnce, callVault, fileVault, withVault } from './vault-admin-fixture.ts';

const REFUSED = { status: 500, body: { type: expect.stringMatching(/integrity_failure$/) } };

it('an expiring application is rejected when the row of its creator was put back', async () => {
  const { file, management } = await fileVault(0);
  const call = (apiKey: string, operation: OperationId, parts: { id?: string; body?: object } = {}) =>
    callOnce({ file }, apiKey, operation, parts);
  const parent = {
    name: 'parent',
    type: 'private',
    permissions: ['token:read'],
    can_create_expiring_applications: true,
  };
  const made: { readonly id: string; readonly key: string } = (
    await call(management, 'createApplication', { body: parent })
  ).body;
  const condition = { attribute: 'container', operator: 'starts_with', value: '/' };
  const rule = {
    description: '',
    priority: 1,
    conditions: [condition],
    transform: 'redact',
    permissions: ['token:read'],
  };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const child = { name: 'child', type: 'expiring', expires_at, rules: [rule] };
  const key: string = (await call(made.key, 'createApplication', { body: child })).body['key'];
  const kept = await keepRows(file);
  const { type: _, ...narrower } = { ...parent, permissions: ['token:read', 'token:delete'] };
  expect(await call(management, 'updateApplication', { id: made.id, body: narrower })).toMatchObject({ status: 200 });
  expect(await call(key, 'listTokens')).toMatchObject({ status: 200 });
  await putBack(file, kept, ['application']);
  expect(await call(key, 'listTokens')).toMatchObject(REFUSED);
});

it.each([
  ['application', 'updateApplication', { name: 'a', permissions: ['token:delete'] }],
  ['tenant', 'updateTenant', { name: 'renamed' }],
] as const)('a running vault refuses a %s that was put back', async (table, operation, body) => {
  const { file, management } = await fileVault(0);
  await withVault(file, async (vault) => {
    const first = { name: 'a', type: 'private', permissions: ['token:read'] };
    const made = await callVault(vault, management, 'createApplication', { body: first });
    const { id, key }: { readonly id: string; readonly key: string } = made.body;
    const kept = await keepRows(file);
    const named = operation === 'updateTenant' ? {} : { id };
    expect(await callVault(vault, management, operation, { ...named, body })).toMatchObject({ status: 200 });
    await putBack(file, kept, [table]);
    // The vault has not seen this key before.
    expect(await callVault(vault, key, 'listTokens')).toMatchObject(REFUSED);
  });
});
