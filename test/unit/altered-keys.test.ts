import { expect, it } from 'vitest';
import { tamperFile } from '../checks/tamper-file.ts';
import { callVault, fileVault, withVault } from './vault-admin-fixture.ts';

const OF_FIRST = '(SELECT application_id FROM application_key WHERE application_key = 1)';

/** Edits of the row of the second key of the private application. */
const EDITS = {
  'whose end was removed': 'UPDATE application_key SET expires_at = NULL WHERE version = 2',
  'that was given to the management application': `UPDATE application_key SET application_id = ${OF_FIRST} WHERE version = 2`,
  'whose hash was given to the management application': `
    CREATE TEMP TABLE kept AS SELECT hash FROM application_key WHERE version = 2;
    DELETE FROM application_key WHERE version = 2;
    UPDATE application_key SET hash = (SELECT hash FROM kept) WHERE application_key = 1`,
} as const;

it.each(Object.entries(EDITS))('a key %s is refused', async (_what, sql) => {
  const { file, management } = await fileVault(1);
  const key = await withVault(file, async (vault) => {
    const { body: listed } = await callVault(vault, management, 'listApplications', { query: [['type', 'private']] });
    const id: string = Object(listed).data[0].id;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await callVault(vault, management, 'createApplicationKey', { id, body: { expires_at } });
    const { key: text }: { readonly key: string } = made.body;
    expect(await callVault(vault, text, 'listTokens')).toMatchObject({ status: 200 });
    return text;
  });
  await tamperFile(file, (connection) => connection.exec(sql));
  await withVault(file, async (vault) => {
    for (const operation of ['listTokens', 'listApplications'] as const) {
      expect(await callVault(vault, key, operation)).toMatchObject({ status: 500 });
    }
  });
});
