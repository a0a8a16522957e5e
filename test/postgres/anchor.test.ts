import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { parseStore, type StoreLocation } from '../../src/vault/location.ts';
import { createStoreVault, openStoreVault } from '../../src/vault/store-vault.ts';
import { CREDENTIAL, callVault } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';
import { openTestClient } from './write-queue-fixture.ts';

const OTHER = { code: 'damaged', message: expect.stringContaining('does not match the anchor') };
const OLDER = { code: 'damaged', message: expect.stringContaining('older than its anchor') };

/** Opens and closes the vault, as a daemon with `--anchor` does. With a key, creates tokens. */
async function serveOnce(store: StoreLocation, anchor: string, management?: string): Promise<void> {
  const vault = await openStoreVault({ store, credential: CREDENTIAL, anchor, auditStrict: true });
  try {
    if (management === undefined) return;
    const body = { name: 'a', type: 'public', permissions: ['token:create'] };
    const made = await callVault(vault, management, 'createApplication', { body });
    for (let n = 0; n < 12; n += 1) {
      const answer = await callVault(vault, made.body['key'], 'createToken', { body: { type: 'token', data: n } });
      expect(answer.status).toBe(201);
    }
  } finally {
    await vault.close();
  }
}

/** Creates a vault in a database, and a name for its anchor. */
async function createAnchored() {
  const folder = await mkdtemp(path.join(tmpdir(), 'vault-anchor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const anchor = path.join(folder, 'anchor');
  const location = parseStore(`${await createDatabase()}?sslmode=disable`, false);
  const made = await createStoreVault({
    store: location,
    credential: CREDENTIAL,
    tenantName: 't',
    weakPassphrase: false,
  });
  const { run } = await openTestClient(location.url);
  return { anchor, location, made, run };
}

it('a process keeps an anchor that shows the loss of commits', async () => {
  const { anchor, location, made, run } = await createAnchored();
  const vault = await openStoreVault({ store: location, credential: CREDENTIAL, anchor, auditStrict: true });
  const change = (name: string) => callVault(vault, made.application.key ?? '', 'updateTenant', { body: { name } });
  const written = () => readFileSync(anchor, 'utf8');

  const first = written();
  await change('a');
  await vi.waitFor(() => expect(written()).not.toBe(first), 5_000);
  const second = written();
  await run({ text: 'DELETE FROM vault.audit WHERE sequence = (SELECT max(sequence) FROM vault.audit)' });
  await change('b');
  await change('c');
  const found = expect.stringContaining('older than its anchor');
  await vi.waitFor(async () => expect(await vault.notices()).toEqual([found]), 5_000);
  await expect(vault.close()).rejects.toMatchObject(OLDER);
  expect(written()).toBe(second);
});

it('an anchor detects a database that lost the end of the audit, or was restored', async () => {
  const { anchor, location, made, run } = await createAnchored();
  const compare = async () => {
    const admin = await openVaultAdmin({ store: location, credential: CREDENTIAL });
    await admin.compareWithAnchor(anchor).finally(admin.close);
  };

  await serveOnce(location, anchor, made.application.key);
  await compare();
  await serveOnce(location, anchor);

  for (const text of [
    'DELETE FROM vault.audit WHERE sequence = (SELECT max(sequence) FROM vault.audit)',
    "UPDATE vault.audit SET link = '\\x00'",
    'DELETE FROM vault.audit WHERE sequence > 2',
  ]) {
    await serveOnce(location, anchor, made.application.key);
    await run({ text: 'CREATE TABLE public.kept AS SELECT * FROM vault.audit' });
    await run({ text });
    const found = text.startsWith('UPDATE') ? OTHER : OLDER;
    await expect(serveOnce(location, anchor), text).rejects.toMatchObject(found);
    await expect(compare(), text).rejects.toMatchObject(found);
    await run({
      text: 'DELETE FROM vault.audit; INSERT INTO vault.audit SELECT * FROM public.kept; DROP TABLE public.kept',
    });
    await compare();
  }
});
