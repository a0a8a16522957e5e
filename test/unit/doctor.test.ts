import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../src/store/sqlite/driver.ts';
import { checkVaultFile } from '../../src/vault-admin.ts';
import { CREDENTIAL, callVault, fileVault, tamper, withVault } from './vault-admin-fixture.ts';

const doctor = (file: string, anchor?: string) => checkVaultFile({ file, credential: CREDENTIAL, anchor });

/** What is done to a file without its key, and a finding that must be among what doctor says. */
const DAMAGES: Readonly<Record<string, readonly [sql: string, table: string, id: string, what: RegExp]>> = {
  'two rows swapped': [
    `UPDATE token SET id = 'x' WHERE id = 'token-1'; UPDATE token SET id = 'token-1' WHERE id = 'token-2';
     UPDATE token SET id = 'token-2' WHERE id = 'x'`,
    'token',
    'token-1',
    /does not open/,
  ],
  'a sealed column copied from another row': [
    "UPDATE token SET data = (SELECT data FROM token WHERE id = 'token-2') WHERE id = 'token-1'",
    'token',
    'token-1',
    /does not open/,
  ],
  'a sealed column copied within the row': [
    "UPDATE token SET masked = data WHERE id = 'token-1'",
    'token',
    'token-1',
    /does not open/,
  ],
  'the masked form removed': ["UPDATE token SET masked = NULL WHERE id = 'token-1'", 'token', 'token-1', /masked form/],
  'some bytes overwritten': [
    "UPDATE token SET definition = CAST(zeroblob(4) || substr(definition, 5) AS BLOB) WHERE id = 'token-1'",
    'token',
    'token-1',
    /does not open/,
  ],
  'a revision edited': ["UPDATE token SET revision = 2 WHERE id = 'token-1'", 'token', 'token-1', /does not open/],
  'an expiry edited': ["UPDATE token SET expires_at = 9e12 WHERE id = 'token-1'", 'token', 'token-1', /does not open/],
  'a type edited': ["UPDATE token SET type = 2 WHERE id = 'token-1'", 'token', 'token-1', /does not open/],
  'a type that there is not': ["UPDATE token SET type = 99 WHERE id = 'token-1'", 'token', 'token-1', /clear columns/],
  'a key id edited': ["UPDATE token SET key_id = 2 WHERE id = 'token-1'", 'token', 'token-1', /does not open/],
  'an index key id edited': [
    "UPDATE token SET index_key_id = 1 WHERE id = 'token-1'",
    'token',
    'token-1',
    /does not open/,
  ],
  'the list of blind indexes of another row': [
    "UPDATE token SET blinds = (SELECT blinds FROM token WHERE id = 'token-2') WHERE id = 'token-1'",
    'token',
    'token-1',
    /blind indexes that are not of its contents/,
  ],
  'a blind index left out, from row and index': [
    `DELETE FROM token_index WHERE blind = (SELECT substr(blinds, 17, 16) FROM token WHERE id = 'token-1')
       AND token = (SELECT token FROM token WHERE id = 'token-1');
     UPDATE token SET blinds = CAST(substr(blinds, 1, 16) || substr(blinds, 33) AS BLOB) WHERE id = 'token-1'`,
    'token',
    'token-1',
    /blind indexes that are not of its contents/,
  ],
  'an index entry removed': [
    "DELETE FROM token_index WHERE blind = (SELECT substr(blinds, 1, 16) FROM token WHERE id = 'token-1')",
    'token_index',
    'token-1',
    /missing/,
  ],
  'an index entry added': [
    `INSERT INTO token_index SELECT tenant, zeroblob(16), created_at, token FROM token WHERE id = 'token-1'`,
    'token_index',
    'token-1',
    /too many/,
  ],
  'an index entry moved to another token': [
    `UPDATE token_index SET token = (SELECT token FROM token WHERE id = 'token-2')
     WHERE blind = (SELECT substr(blinds, 1, 16) FROM token WHERE id = 'token-1')`,
    'token_index',
    'token-2',
    /too many/,
  ],
  'a row deleted': ["DELETE FROM token WHERE id = 'token-1'", 'token_index', '', /leads to no token/],
  'a row deleted with its entries': [
    `DELETE FROM token_index WHERE token = (SELECT token FROM token WHERE id = 'token-1');
     DELETE FROM token WHERE id = 'token-1'`,
    'token_count',
    '',
    /counter of a type/,
  ],
  'a counter changed': ['UPDATE token_count SET live = live + 1', 'token_count', '', /counter of a type/],
  'a last time of creation changed': ['UPDATE token_count SET last_created_at = 1', 'token_count', '', /last time/],
  'a counter of a month changed': ['UPDATE active_count SET tokens = 1', 'active_count', '', /counter of a month/],
  'a tombstone of a live token': [
    `INSERT INTO tombstone SELECT tenant, id, type, created_by, created_at, NULL, 1 FROM token WHERE id = 'token-1'`,
    'token',
    'token-1',
    /tombstone/,
  ],
  'wrapped keys swapped': [
    `UPDATE tenant_key SET wrapped = (SELECT wrapped FROM tenant_key k WHERE k.key_id = 3 - tenant_key.key_id)`,
    'tenant_key',
    '',
    /do not unwrap/,
  ],
  'a wrapped key removed': ['DELETE FROM tenant_key WHERE key_id = 1', 'tenant_key', '', /do not unwrap/],
  'the tenant edited': ['UPDATE tenant SET owner_id = zeroblob(16)', 'tenant', '', /does not open/],
  'an application given another key': [
    'UPDATE application SET key_hash = zeroblob(32) WHERE type = 1',
    'application',
    '',
    /does not open/,
  ],
  'an application of another type': ['UPDATE application SET type = 3', 'application', '', /does not open/],
  'an orphaned application': [
    'UPDATE application SET parent_id = zeroblob(16) WHERE type = 1',
    'application',
    '',
    /made by an application that is gone/,
  ],
  'a slot damaged': ['UPDATE slot SET bytes = CAST(zeroblob(4) || substr(bytes, 5) AS BLOB)', 'header', '', /slot 0/],
  'a slot added': ['INSERT INTO slot SELECT 1, bytes FROM slot', 'header', '', /header/],
  'the header edited': ['UPDATE header SET created_at = created_at + 1', 'header', '', /header/],
  'a trigger planted': [
    'CREATE TRIGGER t AFTER INSERT ON token BEGIN DELETE FROM tombstone; END',
    'file',
    '',
    /tables/,
  ],
  'a row of a tenant that there is not': [
    'PRAGMA foreign_keys = OFF; INSERT INTO active_count VALUES (77, 1, 1)',
    'active_count',
    'tenant 77',
    /tenant that does not exist/,
  ],
};

describe('vault doctor', () => {
  it('finds a sound vault sound, open elsewhere or not', async () => {
    const { file } = await fileVault(5);
    const sound = { ok: true, checked: { tenants: 1, applications: 2, tokens: 5 }, findings: [] };
    expect(await doctor(file)).toEqual(sound);
    await withVault(file, async () => expect(await doctor(file)).toEqual(sound));
  });

  it.each(Object.entries(DAMAGES))('finds %s', async (_what, [sql, table, id, what]) => {
    const { file } = await fileVault(4);
    await tamper(file, (connection: Connection) => connection.exec(sql));
    const { ok, findings } = await doctor(file);
    expect(ok).toBe(false);
    const wanted = { table, id: id === '' ? expect.any(String) : id, what: expect.stringMatching(what) };
    expect(findings).toContainEqual(wanted);
  });

  it('finds a page that is not a page', async () => {
    const { file } = await fileVault(200);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 30 * 4096, 34 * 4096);
    writeFileSync(file, bytes);
    expect((await doctor(file)).ok).toBe(false);
    truncateSync(file, 20 * 4096);
    expect((await doctor(file)).ok).toBe(false);
  });

  it('does not take a wrong credential for damage', async () => {
    const { file } = await fileVault(0);
    const other = { kind: 'key_file', key: new Uint8Array(32) } as const;
    await expect(checkVaultFile({ file, credential: other })).rejects.toMatchObject({ code: 'wrong_credential' });
  });

  it('finds an older copy in place of the vault, with an anchor', async () => {
    const { folder, file, apiKey } = await fileVault(2);
    const anchor = join(folder, 'anchor');
    const older = readFileSync(file);
    expect((await doctor(file, anchor)).ok).toBe(true);
    const body = { type: 'token', data: 1 };
    await withVault(file, (vault) => callVault(vault, apiKey, 'createToken', { body }), anchor);
    expect((await doctor(file, anchor)).ok).toBe(true);
    writeFileSync(file, older);
    expect(await doctor(file)).toMatchObject({ ok: true });
    const { ok, checked, findings } = await doctor(file, anchor);
    expect({ ok, tokens: checked.tokens, findings }).toEqual({
      ok: false,
      tokens: 2,
      findings: [{ table: 'change', id: '', what: expect.stringContaining('older than its anchor') }],
    });
  });
});
