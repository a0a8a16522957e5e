import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { resetVault } from '../../src/vault/admin.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import {
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

const TOKEN = { id: 'kept', type: 'token', data: 'Plaintext', mask: '{{ data }}' };
const APPLICATION = { name: 'b', type: 'private', permissions: ['token:read'] };
const KEY = 'Retry-Key-1';
const mismatch = (...ids: readonly string[]) => ({
  status: 409,
  body: { type: 'urn:token-vault:problem:idempotency_mismatch', ids },
});

const makeToken = (vault: Vault, { apiKey }: FileVault) =>
  callVault(vault, apiKey, 'createToken', { body: TOKEN, idempotencyKey: KEY });
const makeApplication = (vault: Vault, { management }: FileVault) =>
  callVault(vault, management, 'createApplication', { body: APPLICATION, idempotencyKey: KEY });
const patchToken = (vault: Vault, { apiKey }: FileVault) =>
  callVault(vault, apiKey, 'updateToken', { id: TOKEN.id, body: { data: 'two' }, idempotencyKey: 'patch' });

/** Creates a closed vault with two stored replies: of the token, then of the application. */
async function repliedVault() {
  const made = await fileVault(0);
  const replies = await withVault(made.file, async (vault) => ({
    token: await makeToken(vault, made),
    application: await makeApplication(vault, made),
  }));
  return { ...made, ...replies };
}

async function rotate(file: string, options: { readonly indexes: boolean; readonly master?: boolean }): Promise<void> {
  await withAdmin(file, (admin) => admin.rotate({ tenantId: undefined, master: false, ...options }));
}

interface ReplyRow {
  readonly reply: number;
  readonly key_id: number;
  readonly sealed: Buffer;
}

async function rowsOf(file: string): Promise<readonly ReplyRow[]> {
  let rows: readonly ReplyRow[] = [];
  await tamperFile(file, (connection) => {
    rows = connection.prepare<[], ReplyRow>('SELECT reply, key_id, sealed FROM reply ORDER BY reply').all();
  });
  return rows;
}

describe('stored replies of a vault file', () => {
  it('are removed when they are old, also one whose number an edit made too large for a double', async () => {
    const { file } = await repliedVault();
    await tamperFile(file, (connection) => {
      connection.exec('UPDATE reply SET created_at = created_at - 172800000');
      connection.exec('UPDATE reply SET reply = 9007199254740995 WHERE reply = (SELECT max(reply) FROM reply)');
    });
    await withVault(file, (vault) => vault.sweep());
    expect(await rowsOf(file)).toEqual([]);
  });

  it('survive the process, the tenant’s keys and the master key', async () => {
    const { token, application, ...made } = await repliedVault();
    await rotate(made.file, { indexes: true, master: true });
    await withVault(made.file, async (vault) => {
      const { body } = await callVault(vault, made.apiKey, 'getToken', { id: TOKEN.id });
      const expected = { ...(token.body as object), fingerprint: body['fingerprint'] };
      expect(await makeToken(vault, made)).toEqual({ status: 201, body: expected, replayed: true });
      expect(await makeApplication(vault, made)).toEqual({ ...application, replayed: true });
      expect((await callVault(vault, made.apiKey, 'listTokens')).body).toMatchObject({
        pagination: { total_items: 1 },
      });
    });
    expect(await doctor(made.file)).toMatchObject({ ok: true, findings: [] });
  });

  it('are sealed again by a rotation, and are rejected when older ones are put back', async () => {
    const made = await repliedVault();
    const before = await rowsOf(made.file);
    const putBack = () =>
      tamperFile(made.file, (connection) => {
        const update = connection.prepare('UPDATE reply SET key_id = ?, sealed = ? WHERE reply = ?');
        for (const { reply, key_id, sealed } of before) update.run(key_id, sealed, reply);
      });
    const statuses = () =>
      withVault(made.file, async (vault) => [
        (await makeToken(vault, made)).status,
        (await makeApplication(vault, made)).status,
      ]);
    // Control: the same rows open as long as their key exists.
    await putBack();
    expect(await statuses()).toEqual([201, 201]);
    await rotate(made.file, { indexes: false });
    for (const [n, { key_id, sealed }] of (await rowsOf(made.file)).entries()) {
      expect(key_id).toBeGreaterThan(before[n]?.key_id ?? 0);
      expect(sealed).not.toEqual(before[n]?.sealed);
      expect(readFileSync(made.file).includes(before[n]?.sealed ?? '')).toBe(false);
    }
    expect(await statuses()).toEqual([201, 201]);
    await putBack();
    expect(await statuses()).toEqual([500, 500]);
    expect((await doctor(made.file)).findings).toMatchObject([{ table: 'reply' }, { table: 'reply' }]);
  });

  it('leave an entry in the audit when they show an API key or plaintext', async () => {
    const { file, ...made } = await repliedVault();
    await withVault(file, (vault) => patchToken(vault, { file, ...made }));
    const revealed = async () => {
      const found = await withAdmin(file, (admin) =>
        admin.lastEvents(({ event }) => event.revision === undefined && event.revealed === true, 10),
      );
      return found.map(({ event: { action, entities } }) => [action, ...entities]);
    };
    expect(await revealed()).toEqual([]);
    await withVault(file, async (vault) => {
      await makeToken(vault, { file, ...made });
      await makeApplication(vault, { file, ...made });
      await patchToken(vault, { file, ...made });
    });
    const created = ['createApplication', made.application.body['id']];
    expect(await revealed()).toEqual([['updateToken', TOKEN.id], created]);
  });

  it('are sealed, and so are their keys', async () => {
    const { file, application } = await repliedVault();
    const bytes = readFileSync(file);
    for (const secret of [KEY, TOKEN.data, application.body['key'] as string])
      expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes(TOKEN.id)).toBe(true);
  });

  it('have the same length for all data of a token', async () => {
    const made = await fileVault(0);
    await withVault(made.file, async (vault) => {
      for (const length of [1, 10_000]) {
        const body = { type: 'token', data: 'x'.repeat(length), mask: '{{ data }}' };
        await callVault(vault, made.apiKey, 'createToken', { body, idempotencyKey: String(length) });
      }
    });
    const lengths = (await rowsOf(made.file)).map(({ sealed }) => sealed.length);
    expect(lengths).toEqual([109, 109]);
  });

  it('name a token that is gone', async () => {
    const made = await repliedVault();
    await withVault(made.file, async (vault) => {
      await callVault(vault, made.apiKey, 'deleteToken', { id: TOKEN.id });
      expect(await makeToken(vault, made)).toMatchObject(mismatch(TOKEN.id));
    });
    expect(await doctor(made.file)).toMatchObject({ ok: true });
  });

  it('survive a reset, after which their tokens are gone', async () => {
    const made = await repliedVault();
    await resetVault({ file: made.file, credential: CREDENTIAL }, made.tenantId);
    await withVault(made.file, async (vault) => {
      expect(await makeToken(vault, made)).toMatchObject(mismatch(TOKEN.id));
      expect(await makeApplication(vault, made)).toEqual({ ...made.application, replayed: true });
      // Another call creates a token with the same id.
      expect((await callVault(vault, made.apiKey, 'createToken', { body: TOKEN })).status).toBe(201);
      expect(await makeToken(vault, made)).toMatchObject(mismatch(TOKEN.id));
    });
    expect(await doctor(made.file)).toMatchObject({ ok: true });
  });

  it('are deleted with their tenant', async () => {
    const made = await repliedVault();
    const before = await rowsOf(made.file);
    await callOnce(made, made.management, 'deleteTenant');
    expect(await rowsOf(made.file)).toEqual([]);
    for (const { sealed } of before) expect(readFileSync(made.file).includes(sealed)).toBe(false);
  });

  it('are not returned for another key, application or request', async () => {
    const { token, ...made } = await repliedVault();
    await tamperFile(made.file, (connection) => {
      connection.exec('UPDATE reply SET sealed = (SELECT sealed FROM reply ORDER BY reply LIMIT 1)');
    });
    await withVault(made.file, async (vault) => {
      expect(await makeToken(vault, made)).toEqual({ ...token, replayed: true });
      expect(await makeApplication(vault, made)).toMatchObject({ status: 500 });
    });
  });
});
