import { describe, expect, it } from 'vitest';
import { resetVault } from '../../src/vault/admin.ts';
import { compareTenant } from '../../src/vault/tenants/accept-tenant.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { keepRows, putBack, TOKENS } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import {
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  newApplication,
  openedForKeyHolder,
  openedVault,
  prune,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

const OK = { status: 200 };
const REFUSED = { status: 500, body: { type: expect.stringMatching(/integrity_failure$/) } };

/** A vault of two tenants. */
interface TwoTenants extends FileVault {
  readonly other: { readonly id: string; readonly management: string };
}

async function twoTenants(): Promise<TwoTenants> {
  const vault = await fileVault(2);
  const made = await withVault(vault.file, (one) => one.createTenant('other'));
  return { ...vault, other: { id: made.tenant.id, management: made.application.key ?? '' } };
}

/** Writes an entry about the first tenant and prunes it. */
async function changeAndPrune(vault: TwoTenants): Promise<void> {
  await withVault(vault.file, (one) => one.issueKey(vault.tenantId));
  await prune(vault, 'later');
}

const accept = (file: string, tenant: string | undefined) =>
  withAdmin(file, async (admin) => (await admin.compareTenant(tenant)).accept());
const read = (vault: Vault, apiKey: string) => callVault(vault, apiKey, 'getToken', { id: 'token-0' });
const tenantOf = (vault: Vault, key: string) => callVault(vault, key, 'getTenant');

/** Alters a token of the first tenant. */
const alterToken = (file: string) =>
  tamperFile(file, (connection) => connection.exec("UPDATE token SET revision = 7 WHERE id = 'token-1'"));

async function alteredToken(): Promise<TwoTenants> {
  const vault = await twoTenants();
  await alterToken(vault.file);
  return vault;
}

/** Closes the first tenant: prunes the entry that regenerated a key, and puts the older application back. */
async function closedTenant(): Promise<TwoTenants & { readonly made: Awaited<ReturnType<typeof newApplication>> }> {
  const vault = await twoTenants();
  const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
  const before = await keepRows(vault.file);
  await callOnce(vault, vault.management, 'regenerateApplicationKey', { id: made.id });
  await prune(vault, 'old');
  await putBack(vault.file, before, ['application', 'application_key']);
  return { ...vault, made };
}

/** Puts an older token of the first tenant back. A prune goes on. */
async function restoredToken(): Promise<TwoTenants> {
  const vault = await twoTenants();
  const before = await keepRows(vault.file);
  await callOnce(vault, vault.apiKey, 'updateToken', { id: 'token-0', body: { data: 'changed' } });
  await putBack(vault.file, before, TOKENS);
  return vault;
}

describe('a closed tenant', () => {
  it('is named by the notices and by doctor, and other tenants are served', async () => {
    const { file, tenantId, apiKey, other } = await closedTenant();
    const one = await openedVault(file);
    await one.ready();
    expect(await read(one, apiKey)).toMatchObject(REFUSED);
    expect(await tenantOf(one, other.management)).toMatchObject(OK);
    const says = expect.stringMatching(
      `^every call of tenant ${tenantId} fails, .* \`vault tenant accept --tenant ${tenantId}\`$`,
    );
    expect(await one.notices()).toEqual([says]);
    const report = await doctor(file);
    expect(report.notices).toEqual([says]);
    expect(report.findings).toEqual([
      { table: 'tenant', id: tenantId, what: expect.stringContaining('no entry names') },
    ]);
  });

  it('serves again after its acceptance, in each process, and its logs show the entry', async () => {
    const { file, tenantId, apiKey, management, made, other } = await closedTenant();
    const running = await openedVault(file);
    expect(await read(running, apiKey)).toMatchObject(REFUSED);
    await accept(file, tenantId.toUpperCase());
    for (const one of [running, await openedVault(file)]) {
      await one.ready();
      for (const key of [apiKey, made.key]) expect(await read(one, key)).toMatchObject(OK);
      expect(await tenantOf(one, other.management)).toMatchObject(OK);
      expect(await one.notices()).toEqual([]);
      expect(await one.check()).toEqual([]);
    }
    expect(await doctor(file)).toMatchObject({ ok: true, notices: [] });
    const events = await withAdmin(file, (admin) =>
      admin.lastEvents(({ event }) => event.action === 'acceptTenant', 9),
    );
    expect(events).toMatchObject([{ event: { tenant_id: tenantId } }]);
    const logs = await callVault(running, management, 'listLogs');
    const entry = { operation: 'acceptTenant', entity_type: 'tenant', entity_id: tenantId, actor_type: 'vault' };
    expect(logs).toMatchObject({ body: { data: expect.arrayContaining([expect.objectContaining(entry)]) } });
  });

  it.each([false, true])(
    'ends the finding at the next sweep of a running process, after a prune: %s',
    async (isPruned) => {
      const vault = await restoredToken();
      const running = await openedVault(vault.file);
      expect(await running.check()).toHaveLength(1);
      await running.sweep();
      expect(await running.notices()).toEqual(['the vault has 1 finding: run `vault doctor`']);
      await accept(vault.file, vault.tenantId);
      if (isPruned) await prune(vault, 'later');
      await running.sweep();
      expect(await running.notices()).toEqual([]);
    },
  );

  it('is open after its acceptance without a prune, also when another record is put back', async () => {
    const vault = await twoTenants();
    const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
    const before = await keepRows(vault.file);
    await callOnce(vault, vault.management, 'deleteApplication', { id: made.id });
    await putBack(vault.file, before, ['application', 'application_key']);
    await accept(vault.file, vault.tenantId);
    await callOnce(vault, vault.other.management, 'updateTenant', { body: { name: 'x' } });
    await putBack(vault.file, before, ['tenant']);
    const one = await openedVault(vault.file);
    for (const key of [vault.apiKey, made.key]) expect(await read(one, key)).toMatchObject(OK);
    expect(await tenantOf(one, vault.other.management)).toMatchObject(REFUSED);
  });
});

describe('after an acceptance', () => {
  it('a record that was changed since, and put back, is named, and the others serve', async () => {
    const { file, tenantId, apiKey, management, made } = await closedTenant();
    await accept(file, tenantId);
    const before = await keepRows(file);
    await callOnce({ file }, management, 'deleteApplication', { id: made.id });
    await putBack(file, before, ['application', 'application_key']);
    const one = await openedVault(file);
    expect(await read(one, made.key)).toMatchObject(REFUSED);
    expect(await read(one, apiKey)).toMatchObject(OK);
    const what = expect.stringContaining('the row was restored');
    expect((await doctor(file)).findings).toEqual([
      { table: 'application', id: made.id, what },
      { table: 'application_key', id: expect.any(String), what },
    ]);
  });

  it('a record that no later entry names closes the tenant again', async () => {
    const vault = await twoTenants();
    const before = await keepRows(vault.file);
    const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
    await alterToken(vault.file);
    await accept(vault.file, vault.tenantId);
    await putBack(vault.file, before, ['application', 'application_key']);
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
    expect(await read(one, made.key)).toMatchObject({ status: 401 });
    const what = expect.stringContaining('no entry names since the last prune or acceptance');
    expect((await doctor(vault.file)).findings).toContainEqual({ table: 'tenant', id: vault.tenantId, what });
  });

  it('an entry that contradicted earlier ones is accepted, too', async () => {
    const { file, tenantId } = await alteredToken();
    await resetVault({ file, credential: CREDENTIAL }, tenantId);
    expect((await doctor(file)).findings).toMatchObject([{ what: expect.stringContaining('was emptied') }]);
    await accept(file, tenantId);
    expect(await doctor(file)).toMatchObject({ ok: true });
    expect(await withAdmin(file, (admin) => admin.verifyAudit())).toMatchObject({ ok: true });
  });
});

describe('an acceptance', () => {
  it.each([
    ['a closed tenant', closedTenant, async () => undefined],
    [
      'a tenant that is emptied',
      alteredToken,
      (file: string, tenantId: string) => resetVault({ file, credential: CREDENTIAL }, tenantId),
    ],
  ])('counts the changes between the comparison and the entry: %s', async (_what, differing, change) => {
    const { file, tenantId, other } = await differing();
    await withAdmin(file, async (admin) => {
      const { accept: write } = await admin.compareTenant(tenantId);
      await withVault(file, async (one) => {
        await one.issueKey(tenantId);
        await one.issueKey(other.id);
      });
      await change(file, tenantId);
      await write();
    });
    expect(await doctor(file)).toMatchObject({ ok: true });
  });

  it('counts the changes of other processes until the entry, and loses none', async () => {
    const { file, apiKey, tenantId } = await alteredToken();
    const one = await openedVault(file);
    const create = (n: number) => callVault(one, apiKey, 'createToken', { body: { type: 'token', data: n } });
    const made = Promise.all(Array.from({ length: 500 }, (_, n) => create(n)));
    await accept(file, tenantId);
    expect(new Set((await made).map(({ status }) => status))).toEqual(new Set([201]));
    expect(await one.check()).toEqual([]);
  });

  it('accepts what was compared, not what was altered later', async () => {
    const { file, tenantId } = await closedTenant();
    await withAdmin(file, async (admin) => {
      const { accept: write } = await admin.compareTenant(tenantId);
      await alterToken(file);
      await write();
    });
    const report = await doctor(file);
    expect(report.findings).toContainEqual({ table: 'tenant', id: tenantId, what: expect.any(String) });
  });

  it('accepts that a tenant which only the log has is gone', async () => {
    const vault = await twoTenants();
    await prune(vault, 'old');
    await tamperFile(vault.file, (connection) =>
      connection.exec(
        `PRAGMA foreign_keys = OFF; ${['token', 'token_index', 'tombstone', 'container_set', 'reply', 'counter', 'application_key', 'application', 'tenant_key', 'tenant'].map((table) => `DELETE FROM ${table} WHERE tenant = 2`).join(';')}`,
      ),
    );
    expect((await doctor(vault.file)).ok).toBe(false);
    await accept(vault.file, vault.other.id);
    expect(await doctor(vault.file)).toMatchObject({ ok: true, notices: [] });
    await expect(accept(vault.file, vault.other.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is refused while the tenant cannot be decrypted', async () => {
    const { file, tenantId } = await twoTenants();
    await tamperFile(file, (connection) => connection.exec('UPDATE tenant SET revision = 99 WHERE tenant = 1'));
    await expect(accept(file, tenantId)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('is of one tenant only', async () => {
    const { file, tenantId, other } = await closedTenant();
    const before = await keepRows(file);
    await callOnce({ file }, other.management, 'updateTenant', { body: { name: 'new' } });
    await putBack(file, before, ['tenant']);
    await withAdmin(file, async (admin) => {
      const { findings, accept: write } = await admin.compareTenant(tenantId);
      expect(findings).toMatchObject([{ table: 'tenant', id: tenantId }]);
      await write();
    });
    expect((await doctor(file)).findings).toMatchObject([{ table: 'tenant', id: other.id }]);
  });

  /** What another process does right before the entry is written, and the error that it leads to. */
  const MEANWHILE: Readonly<Record<string, readonly [(vault: TwoTenants) => Promise<unknown>, string | undefined]>> = {
    'a change': [({ file, tenantId }) => withVault(file, (one) => one.issueKey(tenantId)), undefined],
    'an acceptance': [({ file, tenantId }) => accept(file, tenantId), undefined],
    'a prune of a change': [changeAndPrune, 'write_conflict'],
  };

  it.each(Object.entries(MEANWHILE))('stays right with %s right before it', async (_what, [work, code]) => {
    const vault = await restoredToken();
    const holder = await openedForKeyHolder(vault.file);
    const appendAuthority: typeof holder.store.appendAuthority = async (draft) => {
      await work(vault);
      await holder.store.appendAuthority(draft);
    };
    const parts = { ...holder, store: { ...holder.store, appendAuthority } };
    const writing = (await compareTenant(parts, vault.tenantId)).accept();
    if (code === undefined) await writing;
    else await expect(writing).rejects.toMatchObject({ code });
    expect(await doctor(vault.file)).toMatchObject({ ok: code === undefined });
  });

  it('is refused after a prune while it follows the log', async () => {
    const vault = await restoredToken();
    const holder = await openedForKeyHolder(vault.file);
    const follow = async () => {
      await changeAndPrune(vault);
      await holder.follower.follow();
    };
    const { accept: write } = await compareTenant(
      { ...holder, follower: { ...holder.follower, follow } },
      vault.tenantId,
    );
    await expect(write()).rejects.toMatchObject({ code: 'write_conflict' });
  });

  it.each([
    ['conflict', 'of a tenant that does not differ', ({ tenantId }: FileVault) => tenantId],
    ['not_found', 'of an unknown tenant', () => '00000000-0000-4000-8000-000000000000'],
    ['usage', 'of no tenant, if there are two', () => undefined],
  ])('is refused with %s: %s', async (code, _what, tenant) => {
    const vault = await twoTenants();
    await expect(accept(vault.file, tenant(vault))).rejects.toMatchObject({ code });
  });

  it('is refused after a prune of entries that it would count', async () => {
    const vault = await restoredToken();
    await withAdmin(vault.file, async (admin) => {
      const { accept: write } = await admin.compareTenant(vault.tenantId);
      await withVault(vault.file, (one) => one.issueKey(vault.tenantId));
      await prune(vault, 'later');
      await expect(write()).rejects.toMatchObject({ code: 'conflict' });
    });
  });
});

it('a header that was put back keeps the vault from being ready, and doctor says that it closes every call', async () => {
  const { file } = await twoTenants();
  const before = await keepRows(file);
  const added = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
  await withAdmin(file, (admin) => admin.addSlot(added, { allowWeak: false }));
  await putBack(file, before, ['header', 'slot']);
  const detail = expect.stringMatching(/^Every call fails: the header of the vault differs from its last change/);
  const one = await openedVault(file);
  await expect(one.ready()).rejects.toMatchObject({ code: 'integrity_failure', detail });
  expect((await doctor(file)).notices).toEqual([detail]);
});
