import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { createSums, decodeState, encodeState, readBase, sealBase } from '../../src/core/audit/sums.ts';
import type { Keyring } from '../../src/core/ports.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { archiveIn, doctor, fileVault, openedForKeyHolder, prune } from './vault-admin-fixture.ts';

const [TENANT, APPLICATION] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

let keyring: Keyring;
beforeEach(async () => {
  ({ keyring } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32) }, { now: 0 }));
  onTestFinished(() => keyring.close());
});

async function sumsOf(...events: readonly Partial<AuditEvent>[]) {
  const sums = createSums(keyring);
  for (const [index, event] of events.entries()) {
    sums.apply({ sequence: index + 1, event: { status: 200, entities: [], ...event } as AuditEvent });
  }
  return sums;
}

const MADE = { action: 'createTenant', tenant_id: TENANT, revision: 1, entities: [APPLICATION] } as const;
const token = { tenant_id: TENANT, entities: ['one'] };

it('the sums of a tenant depend on the last revisions only', async () => {
  const created = { ...token, action: 'createToken', status: 201, revision: 1 } as const;
  const direct = await sumsOf(MADE, created);
  const changed = await sumsOf(MADE, created, { ...token, action: 'updateToken', revision: 2 });
  const removed = await sumsOf(MADE, created, { ...token, action: 'deleteToken', status: 204, ended: [1] });
  const all = [direct, changed, removed].map((sums) => sums.sumsOf(TENANT));
  expect(new Set(all.map(({ authority }) => authority)).size).toBe(1);
  expect(new Set(all.map(({ tokens }) => tokens)).size).toBe(3);
  for (const { tokens } of all) expect(tokens).not.toBe(0n);
  const gone = await sumsOf(MADE, created, { action: 'deleteTenant', status: 204, tenant_id: TENANT });
  expect(gone.state()).toEqual({ header: '', authority: 3, tenants: new Map() });
});

it('a change from another header, and a reset of other tokens, contradict the entries before them', async () => {
  const sums = await sumsOf(
    { action: 'createVault', revision: 1, entities: ['first'] },
    { action: 'addSlot', revision: 1, entities: ['second', 'first'] },
    { action: 'addSlot', revision: 1, entities: ['fourth', 'third'] },
    MADE,
    { action: 'resetTokens', tenant_id: TENANT, entities: ['AAAAAAAAAAAAAAAAAAAAAA'] },
    { action: 'resetTokens', tenant_id: TENANT, entities: ['AAAAAAAAAAAAAAAAAAAAAQ'] },
  );
  expect(sums.contradictions()).toEqual([{ sequence: 3 }, { sequence: 6, tenant_id: TENANT }]);
});

it('a state is read as it was written', async () => {
  const state = (await sumsOf({ action: 'createVault', revision: 1, entities: ['mark'] }, MADE)).state();
  expect(decodeState(encodeState(state))).toEqual(state);
});

it('a base that somebody with the key has altered is found with the archives', async () => {
  const vault = await fileVault(3);
  const { file } = vault;
  await prune(vault);
  const opened = await openedForKeyHolder(file);
  const base = await readBase(opened);
  const [row] = await opened.store.readAudit(-1, 1);
  const state = { ...base.state, header: 'another' };
  const { sealed } = sealBase(opened.keyring, row ?? expect.fail(), { ...base, state });
  const check = () => doctor(file, { archives: [archiveIn(vault)] });
  expect(await check()).toMatchObject({ ok: true });
  await tamperFile(file, (connection) => {
    connection.prepare('UPDATE audit SET sealed = ? WHERE sequence = ?').run(sealed, base.sequence);
  });
  const what = expect.stringContaining('the base of the audit was put back');
  expect((await check()).findings).toContainEqual({ table: 'audit', id: String(base.sequence), what });
});
