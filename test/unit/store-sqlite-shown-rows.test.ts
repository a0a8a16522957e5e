import { describe, expect, it } from 'vitest';
import { addTenant, addToken, blind, FIRST_PAGE, NOW } from '../conformance/store-fixtures.ts';
import { openStore, rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

const DAMAGED = { code: 'integrity_failure' };

async function vaultOfTwo() {
  const file = await temporaryVault();
  const store = await openStore(file);
  const raw = await rawConnection(file);
  const { id: tenant } = await addTenant(store);
  const tokens = [
    await addToken(store, tenant, {}, ['shared']),
    await addToken(store, tenant, {}, ['shared']),
  ] as const;
  const get = (id: string) => store.findPresentedToken(tenant, id, NOW);
  const list = (page = FIRST_PAGE) =>
    store.findTokens({ tenant_id: tenant, all: [{ index_in: [blind('shared')] }] }, page, NOW);
  return { raw, tokens, get, list };
}

describe('the columns of reads', () => {
  it.each(['clear', 'presented', 'full'])('are damaged when %s is missing', async (column) => {
    const { raw, tokens, get, list } = await vaultOfTwo();
    raw.pragma('ignore_check_constraints = ON');
    raw.unsafeMode(true);
    raw.pragma('writable_schema = ON');
    raw.exec(
      `UPDATE sqlite_schema SET sql = replace(sql, '${column} BLOB NOT NULL', '${column} BLOB') WHERE name = 'token'`,
    );
    raw.pragma('writable_schema = RESET');
    raw.prepare(`UPDATE token SET ${column} = NULL WHERE id = ?`).run(tokens[0].id);
    await expect(get(tokens[0].id)).rejects.toMatchObject(DAMAGED);
    await expect(list()).rejects.toMatchObject(DAMAGED);
  });
});
