import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkVaultFile, openVaultAdmin, resetVault } from '../../src/vault/admin.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, type FileVault, fileVault, withVault } from './vault-admin-fixture.ts';

const TOKEN = { id: 'kept', type: 'token', data: 'Only-In-The-Reply', mask: '{{ data }}' };
const APPLICATION = { name: 'b', type: 'private', permissions: ['token:read'] };
const KEY = 'Retry-Key-1';
const MISMATCH = { status: 409, body: { type: 'urn:token-vault:problem:idempotency_mismatch' } };

const makeToken = (vault: Vault, { apiKey }: FileVault) =>
  callVault(vault, apiKey, 'createToken', { body: TOKEN, idempotencyKey: KEY });
const makeApplication = (vault: Vault, { management }: FileVault) =>
  callVault(vault, management, 'createApplication', { body: APPLICATION, idempotencyKey: KEY });

const doctor = (file: string) => checkVaultFile({ file, credential: CREDENTIAL });

/** Creates a closed vault with two stored replies. */
async function repliedVault() {
  const made = await fileVault(0);
  const replies = await withVault(made.file, async (vault) => ({
    token: await makeToken(vault, made),
    application: await makeApplication(vault, made),
  }));
  return { ...made, ...replies };
}

describe('stored replies of a vault file', () => {
  it('survive the process, the tenant’s keys and the master key', async () => {
    const { token, application, ...made } = await repliedVault();
    const admin = await openVaultAdmin({ file: made.file, credential: CREDENTIAL });
    await admin.rotate({ tenantId: made.tenantId, indexes: true, master: true });
    await admin.close();
    await withVault(made.file, async (vault) => {
      expect(await makeToken(vault, made)).toEqual({ ...token, replayed: true });
      expect(await makeApplication(vault, made)).toEqual({ ...application, replayed: true });
      expect((await callVault(vault, made.apiKey, 'listTokens')).body).toMatchObject({
        pagination: { total_items: 1 },
      });
    });
    expect(await doctor(made.file)).toMatchObject({ ok: true, findings: [] });
  });

  it('leave an entry in the audit when they are returned, like a revealing read', async () => {
    const { file, ...made } = await repliedVault();
    const events = async () => {
      const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
      const found = await admin.lastEvents(({ event: { action } }) => action === 'createToken', 10);
      return admin.close().then(() => found.map(({ event: { entities, revision } }) => ({ entities, revision })));
    };
    const first = { entities: [TOKEN.id], revision: 1 };
    expect(await events()).toEqual([first]);
    await withVault(file, (vault) => makeToken(vault, { file, ...made }));
    expect(await events()).toEqual([{ entities: [TOKEN.id], revision: undefined }, first]);
  });

  it('are sealed, and so are their keys', async () => {
    const { file, application } = await repliedVault();
    const bytes = readFileSync(file);
    for (const secret of [KEY, TOKEN.data, application.body['key'] as string])
      expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes(TOKEN.id)).toBe(true);
  });

  it('are overwritten in the file with their token', async () => {
    const made = await repliedVault();
    let sealed: Buffer | undefined;
    await tamperFile(made.file, (connection) => {
      sealed = connection.prepare<[], Buffer>('SELECT sealed FROM reply ORDER BY reply').pluck().get();
    });
    expect(readFileSync(made.file).includes(sealed ?? '')).toBe(true);
    await withVault(made.file, async (vault) => {
      await callVault(vault, made.apiKey, 'deleteToken', { id: TOKEN.id });
      expect(await makeToken(vault, made)).toMatchObject(MISMATCH);
    });
    expect(readFileSync(made.file).includes(sealed ?? '')).toBe(false);
    expect(await doctor(made.file)).toMatchObject({ ok: true });
  });

  it('are emptied when all tokens are removed', async () => {
    const made = await repliedVault();
    await resetVault({ file: made.file, credential: CREDENTIAL }, made.tenantId);
    await withVault(made.file, async (vault) => {
      expect(await makeToken(vault, made)).toMatchObject(MISMATCH);
      expect(await makeApplication(vault, made)).toMatchObject(MISMATCH);
    });
  });

  it('are deleted with their tenant', async () => {
    const made = await repliedVault();
    await withVault(made.file, (vault) => callVault(vault, made.management, 'deleteTenant'));
    await tamperFile(made.file, (connection) => {
      const rows = connection.prepare('SELECT 1 FROM reply UNION ALL SELECT 1 FROM reply_subject').all();
      expect(rows).toEqual([]);
    });
  });

  const TOKENS_REPLY = 'reply = (SELECT min(reply) FROM reply)';
  it.each([
    [
      'another application',
      `UPDATE reply SET application_id = randomblob(16) WHERE ${TOKENS_REPLY}`,
      'cannot be decrypted',
    ],
    ['another key', `UPDATE reply SET key_hash = randomblob(32) WHERE ${TOKENS_REPLY}`, 'cannot be decrypted'],
    ['another request', `UPDATE reply SET request_hash = randomblob(32) WHERE ${TOKENS_REPLY}`, 'cannot be decrypted'],
    ['another time', `UPDATE reply SET created_at = created_at + 1 WHERE ${TOKENS_REPLY}`, 'cannot be decrypted'],
    ['an invalid time', `UPDATE reply SET created_at = -1 WHERE ${TOKENS_REPLY}`, 'clear columns'],
    [
      'another reply',
      'UPDATE reply SET sealed = (SELECT sealed FROM reply ORDER BY reply DESC)',
      'cannot be decrypted',
    ],
    [
      'a truncated reply',
      `UPDATE reply SET sealed = CAST(substr(sealed, 2) AS BLOB) WHERE ${TOKENS_REPLY}`,
      'cannot be decrypted',
    ],
    ['no tenant', `PRAGMA foreign_keys = OFF; UPDATE reply SET tenant = 9 WHERE ${TOKENS_REPLY}`, 'does not exist'],
    ['no reply', 'PRAGMA foreign_keys = OFF; UPDATE reply_subject SET reply = 9', 'leads to no stored reply'],
  ])('are found by doctor with %s', async (_what, sql, what) => {
    const { file } = await repliedVault();
    await tamperFile(file, (connection) => connection.exec(sql));
    const { ok, findings } = await doctor(file);
    expect(ok).toBe(false);
    expect(findings).toContainEqual({
      table: expect.stringMatching(/^reply/),
      id: expect.any(String),
      what: expect.stringContaining(what),
    });
  });

  it('are not returned for another key, application or request', async () => {
    const { token, ...made } = await repliedVault();
    const other = await withVault(made.file, (vault) =>
      callVault(vault, made.apiKey, 'createToken', {
        body: { type: 'token', data: 'other' },
        idempotencyKey: 'other',
      }),
    );
    expect(other.status).toBe(201);
    await tamperFile(made.file, (connection) => {
      connection.exec('UPDATE reply SET sealed = (SELECT sealed FROM reply ORDER BY reply LIMIT 1)');
    });
    await withVault(made.file, async (vault) => {
      expect(await makeToken(vault, made)).toEqual({ ...token, replayed: true });
      expect(await makeApplication(vault, made)).toMatchObject({ status: 500 });
    });
  });
});
