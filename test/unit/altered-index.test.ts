import { describe, expect, it } from 'vitest';
import { TAMPER_EDITS } from '../checks/tamper-edits.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { callVault, fileVault, withVault } from './vault-admin-fixture.ts';

const MOVED = TAMPER_EDITS['an index entry moved to another token']?.[0] ?? '';
const CREATE = ['createToken', { body: { type: 'token', data: 1, deduplicate_token: true } }] as const;
const PATCH = ['updateToken', { id: 'token-0', body: { data: 1, deduplicate_token: true } }] as const;
const DAMAGED = { status: 500, body: { type: 'urn:token-vault:problem:integrity_failure' } };

describe('an index entry of a fingerprint', () => {
  it.each([
    ['in its place', '', CREATE, { body: { id: 'token-1' } }],
    ['in its place', '', PATCH, { body: { id: 'token-0' } }],
    ['moved to another token', MOVED, CREATE, DAMAGED],
    ['moved to another token', MOVED, PATCH, DAMAGED],
  ] as const)('%s', async (_what, edit, [operation, parts], expected) => {
    const { file, apiKey } = await fileVault(3);
    await tamperFile(file, (connection) => connection.exec(edit));
    const reply = await withVault(file, (vault) => callVault(vault, apiKey, operation, parts));
    expect(reply).toMatchObject(expected);
  });
});
