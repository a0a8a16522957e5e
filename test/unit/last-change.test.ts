import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/archive-file.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import { isAudited } from '../../src/core/audit/last-change.ts';
import type { Store } from '../../src/core/ports.ts';
import { checkVaultFile, openVaultAdmin } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { openVault, type Vault } from '../../src/vault/vault.ts';
import { keepRows, putBack, TOKENS } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, fileVault } from './vault-admin-fixture.ts';

const REFUSED = { status: 500, body: { type: expect.stringMatching(/integrity_failure$/) } };

async function used<T>(file: string, work: (vault: Vault) => Promise<T>): Promise<T> {
  const vault = await openVault({ file, credential: CREDENTIAL, reportError: () => undefined });
  try {
    return await work(vault);
  } finally {
    await vault.close();
  }
}

const patch = (file: string, apiKey: string, id = 'token-0') =>
  used(file, (vault) => callVault(vault, apiKey, 'updateToken', { id, body: { metadata: { n: '1' } } }));

const findingsOf = async (file: string) => (await checkVaultFile({ file, credential: CREDENTIAL })).findings;

it('an expiring application is rejected when the row of its creator was put back', async () => {
  const { file, management } = await fileVault(0);
  const call = (apiKey: string, operation: OperationId, parts: { id?: string; body?: object } = {}) =>
    used(file, (vault) => callVault(vault, apiKey, operation, parts));
  const parent = {
    name: 'parent',
    type: 'private',
    permissions: ['token:read'],
    can_create_expiring_applications: true,
  };
  const made: { readonly id: string; readonly key: string } = (
    await call(management, 'createApplication', { body: parent })
  ).body;
  const condition = { attribute: 'container', operator: 'starts_with', value: '/' };
  const rule = {
    description: '',
    priority: 1,
    conditions: [condition],
    transform: 'redact',
    permissions: ['token:read'],
  };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const child = { name: 'child', type: 'expiring', expires_at, rules: [rule] };
  const key: string = (await call(made.key, 'createApplication', { body: child })).body['key'];
  const kept = await keepRows(file);
  const { type: _, ...narrower } = { ...parent, permissions: ['token:read', 'token:delete'] };
  expect(await call(management, 'updateApplication', { id: made.id, body: narrower })).toMatchObject({ status: 200 });
  expect(await call(key, 'listTokens')).toMatchObject({ status: 200 });
  await putBack(file, kept, ['application']);
  expect(await call(key, 'listTokens')).toMatchObject(REFUSED);
});

it('a row whose entry is pruned during the search is found in the entries of the prune', async () => {
  const { file, folder, tenantId: tenant_id } = await fileVault(1);
  const opened = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  onTestFinished(() => opened.close());
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  onTestFinished(() => admin.close());
  let prunes = 0;
  const findAudited: Store['findAudited'] = async (...wanted) => {
    const place = await opened.store.findAudited(...wanted);
    if (prunes++ === 0) await admin.pruneAudit(Date.now() + 60_000, archiveFile('--archive', join(folder, 'old')));
    return place;
  };
  const parts = { ...opened, store: { ...opened.store, findAudited } };
  expect(await isAudited(parts, 'token', { tenant_id, id: 'token-0', revision: 1 })).toBe(true);
  const [first] = await opened.store.readAudit(0, 1);
  expect(first?.sequence).toBeGreaterThan(1);
});

/** The places of the last two entries: revision 3 of token-0, then revision 2 of token-1. */
const [THIRD, OTHER] = ['(SELECT max(sequence) - 1 FROM audit)', '(SELECT max(sequence) FROM audit)'];
const BLIND = `(SELECT blind FROM audit_subject WHERE sequence = ${THIRD})`;

/** Edits without the key, meant to make revision 2 of token-0 look like its last change. */
const FORGERIES: Readonly<Record<string, string>> = {
  'a row of the index that leads to another record’s entry': `INSERT INTO audit_subject SELECT ${BLIND}, ${OTHER}, 1`,
  'a row of the index that leads past the entries of a row': `INSERT INTO audit_subject SELECT ${BLIND}, ${OTHER}, 2`,
  'a row of the index that leads to no entry': `INSERT INTO audit_subject SELECT ${BLIND}, 999, 1`,
  'an older entry in the place of the last one': `
    UPDATE audit SET (at, sealed) = (SELECT at, sealed FROM audit WHERE sequence = ${THIRD} - 1) WHERE sequence = ${THIRD}`,
  'an older entry and its link in the place of the last one': `
    UPDATE audit SET (at, sealed, link) = (SELECT at, sealed, link FROM audit WHERE sequence = ${THIRD} - 1)
      WHERE sequence = ${THIRD}`,
};

it.each(Object.entries(FORGERIES))('%s does not hide a row that was put back', async (_what, sql) => {
  const { file, apiKey } = await fileVault(2);
  await patch(file, apiKey);
  const kept = await keepRows(file);
  for (const id of ['token-0', 'token-1']) expect(await patch(file, apiKey, id)).toMatchObject({ status: 200 });
  await putBack(file, kept, TOKENS);
  await tamperFile(file, (connection) => connection.exec(sql));
  expect(await patch(file, apiKey)).toMatchObject(REFUSED);
  expect(await findingsOf(file)).not.toEqual([]);
});

it.each([
  ['removed', 'DELETE FROM audit_subject WHERE sequence = 4', 'audit', '4', /has no row in the index of the audit/],
  ['added', 'INSERT INTO audit_subject VALUES (zeroblob(16), 4, 1)', 'audit_subject', '', /without an entry/],
  [
    'removed from the log index',
    "DELETE FROM audit_index WHERE sequence = 4 AND blind <> x''",
    'audit',
    '4',
    /has no row in the index of the audit/,
  ],
  ['added to the log index', 'INSERT INTO audit_index VALUES (zeroblob(16), 4)', 'audit_index', '', /without an entry/],
  [
    'added to the log index after its end',
    'INSERT INTO audit_index SELECT zeroblob(16), max(sequence) FROM audit',
    'audit_index',
    '',
    /beyond its own end/,
  ],
  [
    'covered, although it does not exist',
    "UPDATE audit_index SET sequence = sequence + 999 WHERE blind = x''",
    'audit_index',
    '',
    /beyond the end of the audit/,
  ],
] as const)('doctor finds that a row of the index was %s', async (_what, sql, table, id, what) => {
  const { file, apiKey } = await fileVault(3);
  await used(file, (vault) => vault.sweep());
  await patch(file, apiKey);
  expect(await findingsOf(file)).toEqual([]);
  await tamperFile(file, (connection) => connection.exec(sql));
  expect(await findingsOf(file)).toContainEqual({ table, id, what: expect.stringMatching(what) });
});
