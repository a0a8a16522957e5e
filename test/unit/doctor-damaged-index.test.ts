import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkVaultFile } from '../../src/vault-admin.ts';
import { CREDENTIAL, fileVault } from './vault-admin-fixture.ts';

it('doctor comes to an end, and finds it, when an index names another id than its row', async () => {
  const { file } = await fileVault(5);
  const sound = readFileSync(file);
  let places = 0;
  for (let at = sound.indexOf('token-2'); at !== -1; at = sound.indexOf('token-2', at + 1)) {
    const altered = Buffer.from(sound);
    altered[at] = (altered[at] ?? 0) ^ 1;
    writeFileSync(file, altered);
    const { ok } = await checkVaultFile({ file, credential: CREDENTIAL });
    expect(ok).toBe(false);
    places += 1;
  }
  // It is the one that a search looks at first. The row, the index by id, the index of the newest.
  expect(places).toBeGreaterThanOrEqual(3);
});
