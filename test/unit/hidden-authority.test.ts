import { expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { bytesOf, callVault, fileVault, keyIdOf, newApplication, openedVault } from './vault-admin-fixture.ts';

// A row that somebody hides while an application or a key is deleted could be put back afterwards. So a call does not answer
// 404 while the audit knows the record.

const REMOVE_APPLICATION = 'DELETE FROM application WHERE id = $id';
const REMOVE_KEY = 'DELETE FROM application_key WHERE id = $key';
const END_APPLICATION = 'UPDATE application SET expires_at = 1 WHERE id = $id';
const END_FROM_ALWAYS = 'UPDATE application SET expires_at = -1 WHERE id = $id';
const END_KEY = 'UPDATE application_key SET expires_at = 1 WHERE id = $key';
const MOVE_KEY = 'UPDATE application_key SET application_id = $key WHERE id = $key';
const OLDER =
  'UPDATE application SET revision = 1, details = $details, modified_at = NULL, modified_by = NULL WHERE id = $id';

const ROWS: readonly (readonly [edit: string, operation: OperationId, status: number])[] = [
  [REMOVE_APPLICATION, 'deleteApplication', 500],
  [REMOVE_APPLICATION, 'getApplication', 500],
  [REMOVE_APPLICATION, 'updateApplication', 500],
  [REMOVE_APPLICATION, 'regenerateApplicationKey', 500],
  [REMOVE_APPLICATION, 'listApplicationKeys', 500],
  [REMOVE_APPLICATION, 'createApplicationKey', 500],
  [REMOVE_APPLICATION, 'deleteApplicationKey', 500],
  [END_APPLICATION, 'deleteApplication', 500],
  [END_FROM_ALWAYS, 'deleteApplication', 500],
  [END_APPLICATION, 'getApplication', 500],
  [REMOVE_KEY, 'deleteApplicationKey', 500],
  [REMOVE_KEY, 'getApplicationKey', 500],
  [END_KEY, 'deleteApplicationKey', 500],
  [MOVE_KEY, 'deleteApplicationKey', 500],
  [OLDER, 'deleteApplication', 500],
  [OLDER, 'getApplication', 500],
  [OLDER, 'listApplications', 500],
  // Without an edit.
  ['', 'deleteApplication', 204],
  ['', 'deleteApplicationKey', 204],
  ['', 'getApplicationKey', 200],
  ['', 'listApplications', 200],
];

it.each(ROWS)('%s: %s is answered with %i', async (edit, operation, status) => {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  const call = (name: OperationId, parts = {}) => callVault(vault, management, name, parts);
  const body = { name: 'a', permissions: ['token:read'] };
  const { id } = await newApplication(vault, management, body);
  const key = await keyIdOf(vault, management, id);
  let details: unknown;
  await tamperFile(file, (connection) => {
    details = connection.prepare('SELECT details FROM application WHERE id = ?').pluck().get(bytesOf(id));
  });
  await call('updateApplication', { id, body });
  await tamperFile(file, (connection) => {
    if (edit === '') return;
    const values = Object.entries({ id: bytesOf(id), key: bytesOf(key), details });
    const used = values.filter(([name]) => new RegExp(`\\$${name}\\b`).test(edit));
    expect(connection.prepare(edit).run(Object.fromEntries(used)).changes).toBe(1);
  });
  const params = /(get|delete)ApplicationKey/.test(operation) ? { id, key_id: key } : { id };
  const isUpdate = operation === 'updateApplication';
  const answer = await call(operation, {
    ...(operation !== 'listApplications' && { params }),
    ...(isUpdate && { body }),
  });
  expect(answer.status).toBe(status);
  if (status < 500) return;
  expect(answer.body).toMatchObject({ type: expect.stringMatching(/integrity_failure$/) });
});

it('an application or a key that was deleted is a 404, and so is the key of another application', async () => {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  const call = async (name: OperationId, parts = {}) => (await callVault(vault, management, name, parts)).status;
  const make = () => newApplication(vault, management, { permissions: ['token:read'] });
  const [{ id }, { id: other }] = [await make(), await make()];
  const key_id = await keyIdOf(vault, management, id);
  expect(await call('getApplicationKey', { params: { id: other, key_id } })).toBe(404);
  expect(await call('deleteApplicationKey', { params: { id, key_id } })).toBe(204);
  expect(await call('deleteApplicationKey', { params: { id, key_id } })).toBe(404);
  expect(await call('deleteApplication', { id })).toBe(204);
  expect(await call('deleteApplication', { id })).toBe(404);
  expect(await call('getApplicationKey', { params: { id, key_id } })).toBe(404);
});
