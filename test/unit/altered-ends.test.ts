import { describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { removeWith } from '../../src/core/applications/removal.ts';
import { createFollower } from '../../src/core/audit/follower.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { insertRow } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import {
  bytesOf,
  callVault,
  doctor,
  fileVault,
  keyIdOf,
  newApplication,
  openedForKeyHolder,
  openedVault,
  withVault,
} from './vault-admin-fixture.ts';

// A removal finds its rows by columns that anyone with the file can edit. Such an edit must not make the vault remove a
// record, with a genuine entry.

/** What the vault then does: `sweep`, or a call about the other application. */
type Removal = 'sweep' | OperationId;

/** Parameters: the id of the victim, of its API key, of the other application, and of the other's API key. */
const PARENT = 'UPDATE application SET parent_id = $other WHERE id = $victim';
const PARENT_KEY = 'UPDATE application SET parent_id = $other, parent_key_id = $otherKey WHERE id = $victim';
const MOVED = 'UPDATE application_key SET application_id = $other, version = 9 WHERE id = $key';

const EDITS: readonly (readonly [name: string, edit: string, removal: Removal])[] = [
  ['an application given an end', 'UPDATE application SET expires_at = 1000 WHERE id = $victim', 'sweep'],
  ['an API key given an end', 'UPDATE application_key SET expires_at = 1000 WHERE id = $key', 'sweep'],
  ['an application given a creator', PARENT, 'deleteApplication'],
  ['an application given a creator', PARENT, 'regenerateApplicationKey'],
  ['an application given a creator and its key', PARENT_KEY, 'deleteApplicationKey'],
  ['an API key moved to another application', MOVED, 'deleteApplication'],
  ['an API key moved to another application', MOVED, 'regenerateApplicationKey'],
];

async function twoApplications() {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  async function make(name: string) {
    const { id, key } = await newApplication(vault, management, { name, permissions: ['token:read'] });
    return { id, key, keyId: await keyIdOf(vault, management, id) };
  }
  return { file, vault, management, victim: await make('victim'), other: await make('other') };
}

const findings = async (file: string) => (await doctor(file)).findings;

it.each(EDITS)('%s: the removal leaves it (%s, %s)', async (_name, edit, removal) => {
  const { file, vault, management, victim, other } = await twoApplications();
  const read = () => callVault(vault, victim.key, 'listTokens');
  expect(await read()).toMatchObject({ status: 200 });
  const values = { victim: victim.id, key: victim.keyId, other: other.id, otherKey: other.keyId };
  const named = Object.entries(values).filter(([name]) => new RegExp(`\\$${name}\\b`).test(edit));
  const [, table = ''] = edit.split(' ');
  const id = table === 'application' ? victim.id : victim.keyId;
  const rowOf = (connection: Connection) => connection.prepare(`SELECT * FROM ${table} WHERE id = ?`).get(bytesOf(id));
  let sound: unknown;
  await tamperFile(file, (connection) => {
    sound = rowOf(connection);
    const parameters = Object.fromEntries(named.map(([name, value]) => [name, bytesOf(value)]));
    expect(connection.prepare(edit).run(parameters).changes).toBe(1);
  });
  if (removal === 'sweep') expect(await vault.sweep()).toBe(0);
  else {
    const params = removal === 'deleteApplicationKey' ? { id: other.id, key_id: other.keyId } : { id: other.id };
    expect((await callVault(vault, management, removal, { params })).status).toBeLessThan(300);
  }
  expect((await findings(file)).map((finding) => finding.id)).toContain(id);
  // With its old values, the row is sound again.
  await tamperFile(file, (connection) => {
    expect(rowOf(connection)).toBeDefined();
    connection.prepare(`DELETE FROM ${table} WHERE id = ?`).run(bytesOf(id));
    insertRow(connection, table, sound as object);
  });
  expect(await read()).toMatchObject({ status: 200 });
  expect(await findings(file)).toEqual([]);
});

describe('a key that was deleted and put back', () => {
  it.each(['deleteApplication', 'regenerateApplicationKey'] as const)(
    'is left by %s, which no process then refutes',
    async (removal) => {
      const { file, vault, management, victim } = await twoApplications();
      const kept: object[] = [];
      const select = 'SELECT * FROM application_key WHERE id = ?';
      await callVault(vault, management, 'createApplicationKey', { id: victim.id });
      await tamperFile(
        file,
        (connection) => void kept.push(connection.prepare(select).get(bytesOf(victim.keyId)) as object),
      );
      const params = { id: victim.id, key_id: victim.keyId };
      expect((await callVault(vault, management, 'deleteApplicationKey', { params })).status).toBe(204);
      await tamperFile(file, (connection) => insertRow(connection, 'application_key', kept[0] as object));
      expect((await callVault(vault, management, removal, { id: victim.id })).status).toBeLessThan(300);
      expect((await findings(file)).map(({ id }) => id)).toContain(victim.keyId);
      await withVault(file, async (other) => {
        expect((await callVault(other, management, 'getTenant')).status).toBe(200);
      });
      await tamperFile(
        file,
        (connection) => void connection.prepare('DELETE FROM application_key WHERE id = ?').run(bytesOf(victim.keyId)),
      );
      expect(await findings(file)).toEqual([]);
    },
  );
});

it('a removal takes a key that another process has just made', async () => {
  const { file, vault, management, victim } = await twoApplications();
  const holder = await openedForKeyHolder(file);
  const { store, keyring, audit, follower: own } = holder;
  const follower = createFollower({ store, keyring });
  await own.follow();
  const tenant = await store.findTenant((await store.listTenantIds())[0] ?? '');
  if (tenant === undefined) throw new Error('the vault has a tenant');
  const opened = keyring.openTenant(tenant.tenant.id, tenant.keys);
  const ended: string[][] = [];
  let calls = 0;
  const isRemoved = await removeWith(
    { keyring: opened, follower },
    (all) => {
      ended.push(all.keys.map(({ id }) => id));
      return audit.draftAuthority({
        action: 'deleteApplication',
        status: 204,
        tenant_id: tenant.tenant.id,
        entities: [victim.id],
        ended: [1],
      });
    },
    async (removal) => {
      calls += 1;
      if (calls === 1) await callVault(vault, management, 'createApplicationKey', { id: victim.id });
      return store.deleteApplication(tenant.tenant.id, victim.id, 1, removal);
    },
  );
  expect([isRemoved, calls, ended.map((ids) => ids.length)]).toEqual([true, 2, [2]]);
});
