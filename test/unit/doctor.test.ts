import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../src/store/sqlite/driver.ts';
import type { Vault } from '../../src/vault.ts';
import { checkVaultFile, openVaultAdmin } from '../../src/vault-admin.ts';
import { CREDENTIAL, callVault, fileVault, tamper, withVault } from './vault-admin-fixture.ts';

/** What the file's rows were, before something happened to them. */
interface Kept {
  readonly table: string;
  readonly rows: readonly object[];
}

const TABLES = ['header', 'slot', 'tenant', 'tenant_key', 'application', 'token', 'token_index', 'tombstone', 'audit'];

const COUNTERS = `DELETE FROM token_count; DELETE FROM active_count;
  INSERT INTO token_count SELECT tenant, type, sum(live), max(created_at) FROM
    (SELECT tenant, type, 1 AS live, created_at FROM token
     UNION ALL SELECT tenant, type, 0, created_at FROM tombstone) GROUP BY tenant, type;
  INSERT INTO active_count SELECT tenant, active_month, count(*) FROM token GROUP BY tenant, active_month;`;

async function keepRows(file: string): Promise<readonly Kept[]> {
  let kept: readonly Kept[] = [];
  await tamper(file, (connection) => {
    kept = TABLES.map((table) => ({ table, rows: connection.prepare<[], object>(`SELECT * FROM ${table}`).all() }));
  });
  return kept;
}

/** Puts the rows of these tables back, counters and all: every row is one that the vault wrote, and opens. */
async function putBack(file: string, kept: readonly Kept[], tables: readonly string[]): Promise<void> {
  await tamper(file, (connection) => {
    connection.exec('PRAGMA foreign_keys = OFF');
    for (const { table, rows } of kept) {
      if (!tables.includes(table)) continue;
      connection.exec(`DELETE FROM ${table}`);
      for (const row of rows) {
        const names = Object.keys(row);
        const values = names.map((name) => `@${name}`);
        connection.prepare<[object]>(`INSERT INTO ${table} (${names}) VALUES (${values})`).run(row);
      }
    }
    connection.exec(COUNTERS);
  });
}

const TOKENS = ['token', 'token_index', 'tombstone'];

/** What the vault did, after which somebody puts older rows back; and what doctor must say of it. */
const PUT_BACK: Readonly<
  Record<
    string,
    readonly [
      act: (vault: Vault, keys: { readonly apiKey: string; readonly management: string }) => Promise<unknown>,
      tables: readonly string[],
      table: string,
      what: RegExp,
    ]
  >
> = {
  'a token as it was before a change': [
    (vault, { apiKey }) => callVault(vault, apiKey, 'updateToken', { id: 'token-1', body: { data: 'newer' } }),
    TOKENS,
    'token',
    /it was put back/,
  ],
  'a token that was deleted': [
    (vault, { apiKey }) => callVault(vault, apiKey, 'deleteToken', { id: 'token-1' }),
    TOKENS,
    'token',
    /was removed, says the audit/,
  ],
  'an application whose key was regenerated': [
    async (vault, { management }) => {
      const { body } = await callVault(vault, management, 'listApplications');
      const id = (body['data'] as { id: string; type: string }[]).find(({ type }) => type === 'private')?.id ?? '';
      await callVault(vault, management, 'regenerateApplicationKey', { id });
    },
    ['application'],
    'application',
    /it was put back/,
  ],
  'an application that was deleted': [
    async (vault, { management }) => {
      const { body } = await callVault(vault, management, 'listApplications');
      const id = (body['data'] as { id: string; type: string }[]).find(({ type }) => type === 'private')?.id ?? '';
      await callVault(vault, management, 'deleteApplication', { id });
    },
    ['application'],
    'application',
    /was removed, says the audit/,
  ],
  'the tenant as it was before a change': [
    (vault, { management }) =>
      callVault(vault, management, 'updateTenant', { body: { name: 'x', settings: { deduplicate_tokens: 'true' } } }),
    ['tenant'],
    'tenant',
    /it was put back/,
  ],
  'the state before a token was made': [
    (vault, { apiKey }) => callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } }),
    TOKENS,
    'token',
    /removed outside the vault/,
  ],
  'rows and audit, but for the newest token': [
    (vault, { apiKey }) => callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } }),
    ['audit'],
    'token',
    /is not in the audit/,
  ],
};

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
  'a tombstone edited': [
    `INSERT INTO tombstone SELECT tenant, 'never', type, created_by, created_at, NULL, 1, zeroblob(16)
     FROM token WHERE id = 'token-1'`,
    'tombstone',
    'never',
    /clear column was altered/,
  ],
  'an entry of the audit edited': ['UPDATE audit SET at = at + 1 WHERE sequence = 4', 'audit', '4', /was altered/],
  'an entry of the audit removed': ['DELETE FROM audit WHERE sequence = 4', 'audit', '4', /is missing/],
  'two entries of the audit in the other order': [
    `UPDATE audit SET sequence = 99 WHERE sequence = 4; UPDATE audit SET sequence = 4 WHERE sequence = 5;
     UPDATE audit SET sequence = 5 WHERE sequence = 99`,
    'audit',
    '4',
    /was altered, or is not where/,
  ],
  'an entry of the audit written twice': [
    'INSERT INTO audit SELECT 8, at, sealed, link FROM audit WHERE sequence = 7',
    'audit',
    '8',
    /was altered, or is not where/,
  ],
  'the last entry of the audit cut': ['DELETE FROM audit WHERE sequence = 7', 'token', 'token-3', /not in the audit/],
  'a tombstone of a live token': [
    `INSERT INTO tombstone SELECT tenant, id, type, created_by, created_at, NULL, 1, zeroblob(16)
     FROM token WHERE id = 'token-1'`,
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
    const sound = { ok: true, checked: { tenants: 1, applications: 2, tokens: 5, audit_entries: 8 }, findings: [] };
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

  it.each(Object.entries(PUT_BACK))('finds %s, put back', async (_what, [act, tables, table, what]) => {
    const { file, ...keys } = await fileVault(3);
    const before = await keepRows(file);
    await withVault(file, (vault) => act(vault, keys));
    expect(await doctor(file)).toMatchObject({ ok: true });
    await putBack(file, before, tables);
    const { findings } = await doctor(file);
    expect(findings).toEqual([{ table, id: expect.any(String), what: expect.stringMatching(what) }]);
  });

  it('finds a slot that was removed, and the header that goes with it, put back', async () => {
    const { file } = await fileVault(1);
    const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
    const other = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
    const { slot } = await admin.addSlot(other, { allowWeak: false });
    const before = await keepRows(file);
    await admin.removeSlot(slot);
    await admin.close();
    expect(await doctor(file)).toMatchObject({ ok: true });
    await putBack(file, before, ['header', 'slot']);
    expect((await doctor(file)).findings).toEqual([
      { table: 'header', id: expect.any(String), what: expect.stringContaining('put back') },
    ]);
  });

  it('finds a key of a tenant that a rotation destroyed, put back', async () => {
    const { file, tenantId } = await fileVault(1);
    const before = await keepRows(file);
    const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
    await admin.rotate({ master: false, indexes: false });
    await admin.close();
    expect(await doctor(file)).toMatchObject({ ok: true });
    await tamper(file, (connection) => {
      const [row] = before.find(({ table }) => table === 'tenant_key')?.rows ?? [];
      connection
        .prepare<[object]>(
          'INSERT INTO tenant_key VALUES (@tenant, @key_id, @purpose, @generation, @wrapped, @created_at)',
        )
        .run({ ...row });
    });
    expect((await doctor(file)).findings).toContainEqual({
      table: 'tenant_key',
      id: '1',
      what: expect.stringContaining('was removed, says the audit'),
    });
    expect(tenantId).toMatch(/-/);
  });

  it('is not misled by what changes while it looks', async () => {
    const { file, apiKey } = await fileVault(300);
    await withVault(file, async (vault) => {
      let running = true;
      const writers = [0, 1, 2].map(async (writer) => {
        for (let n = writer; running; n += 3) {
          await callVault(vault, apiKey, 'updateToken', { id: `token-${n % 300}`, body: { data: n } });
          await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: n } });
          if (n % 5 === 0) await callVault(vault, apiKey, 'deleteToken', { id: `token-${n % 300}` });
        }
      });
      const reports = [];
      for (let n = 0; n < 3; n += 1) reports.push(await doctor(file));
      running = false;
      await Promise.all(writers);
      for (const { findings } of reports) expect(findings).toEqual([]);
    });
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
