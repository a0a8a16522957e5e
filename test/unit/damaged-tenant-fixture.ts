import { expect } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openVaultAt, type VaultLocation } from '../../src/vault/location.ts';
import { CREDENTIAL, callVault } from './vault-admin-fixture.ts';

interface Damage {
  readonly what: string;
  /** The statement for the tenant with the number `$T`. */
  readonly sql: string;
  /** Whether the keys cannot be wrapped under another master key. */
  readonly keepsMaster?: true;
  /** Whether the log is pruned first, so that no entry names what differs. */
  readonly pruned?: true;
}

const UNREADABLE = '9007199254740993';

const KEY_1 = 'WHERE tenant = $T AND key_id = 1';

const RECORD = {
  'its sealed details cut': 'UPDATE vault.tenant SET details = substr(details, 2) WHERE tenant = $T',
  'its revision lowered': 'UPDATE vault.tenant SET revision = 0 WHERE tenant = $T',
  'its owner altered': 'UPDATE vault.tenant SET owner_id = id WHERE tenant = $T',
};

const KEYS = {
  'a cell unreadable': `UPDATE vault.tenant SET modified_at = ${UNREADABLE} WHERE tenant = $T`,
  'its data key removed': `DELETE FROM vault.tenant_key ${KEY_1}`,
  'its index key removed': 'DELETE FROM vault.tenant_key WHERE tenant = $T AND key_id = 2',
  'all its keys removed': 'DELETE FROM vault.tenant_key WHERE tenant = $T',
  'a wrapped key cut': `UPDATE vault.tenant_key SET wrapped = substr(wrapped, 2) ${KEY_1}`,
  'the id of a key altered': `UPDATE vault.tenant_key SET key_id = 9 ${KEY_1}`,
  'the time of a key unreadable': `UPDATE vault.tenant_key SET created_at = ${UNREADABLE} ${KEY_1}`,
};

export const DAMAGE: readonly Damage[] = [
  ...Object.entries(RECORD).map(([what, sql]) => ({ what, sql })),
  ...Object.entries(KEYS).map(([what, sql]) => ({ what, sql, keepsMaster: true as const })),
  { what: 'closed', sql: 'DELETE FROM vault.application_key WHERE tenant = $T', pruned: true },
];

/** The tenants of a vault, and the key of a management application of the last one. */
export interface ThreeTenants {
  readonly first: string;
  readonly damaged: string;
  readonly last: string;
  readonly management: string;
}

/** Expects that each command on all tenants leaves the damaged one as it is, names it, and works on the others. */
export async function expectOthers(
  location: VaultLocation,
  { first, damaged, last, management }: ThreeTenants,
  { keepsMaster }: Damage,
  rowsOfDamaged: () => Promise<unknown>,
): Promise<void> {
  const options = { ...location, credential: CREDENTIAL };
  const names = { damaged: [damaged] };
  const before = await rowsOfDamaged();
  const vault = await openVaultAt(location, { credential: CREDENTIAL, reportError: () => undefined });
  const admin = await openVaultAdmin(options);
  try {
    expect(await vault.listTenants()).toMatchObject({ ...names, tenants: [{ id: first }, { id: last }] });
    const others = [{ tenant_id: first }, { tenant_id: last }];
    expect(await admin.status()).toMatchObject({ ...names, tenants: others });
    expect(await admin.rotate({ indexes: true, master: false })).toMatchObject({
      ...names,
      tenants: others.map((other) => ({ ...other, key_id: 3, index_key_id: 4, resumed: false })),
    });
    expect((await vault.figures()).keys.data).toBeGreaterThanOrEqual(3);
    const alone = admin.rotate({ tenantId: damaged, indexes: false, master: false });
    await expect(alone).rejects.toMatchObject({ code: 'integrity_failure' });
    expect(await rowsOfDamaged()).toEqual(before);

    const rotation = admin.rotate({ indexes: false, master: true });
    const refused = {
      code: 'integrity_failure',
      detail: expect.stringMatching(`keys of tenant ${damaged} (?:cannot be|differ from)`),
    };
    if (keepsMaster) await expect(rotation).rejects.toMatchObject(refused);
    else expect(await rotation).toMatchObject({ ...names, generation: 2, tenants: others });
    expect(await callVault(vault, management, 'getTenant')).toMatchObject({ status: 200 });
    expect(await vault.issueKey(first)).toHaveProperty('key');
    const { checked, findings } = await checkVaultFile(options);
    expect(checked.tenants).toBeGreaterThanOrEqual(2);
    expect(findings.map(({ id }) => id)).toContain(damaged);
    for (const other of [first, last]) expect(findings).not.toContainEqual(expect.objectContaining({ id: other }));
  } finally {
    await admin.close();
    await vault.close();
  }
}
