import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { keepRows, putBack } from '../checks/put-back.ts';
import { startServe } from '../scripts/run-script.ts';
import { callVault, fileVault, withVault } from '../unit/vault-admin-fixture.ts';

/** Serves the file until `/readyz` has notices, for at most three seconds. Resolves to its last reply and stderr. */
async function serve(folder: string, file: string) {
  const { url, stop, told } = await startServe(folder, ['--file', file, '--key-file', join(folder, 'key')]);
  let body: { readonly notices?: readonly string[] } = {};
  for (const until = performance.now() + 3000; body.notices === undefined && performance.now() < until; ) {
    await sleep(50);
    body = (await (await fetch(`${url}/readyz`)).json()) as typeof body;
  }
  await stop();
  return { body, stderr: told() };
}

it('serve logs an application that was put back, and counts the finding in /readyz', {
  timeout: 60_000,
}, async () => {
  const { folder, file, management } = await fileVault(1);
  writeFileSync(join(folder, 'key'), new Uint8Array(32).fill(7), { mode: 0o600 });
  const before = await keepRows(file);
  const id = await withVault(file, async (vault) => {
    const { body } = await callVault(vault, management, 'listApplications');
    const listed: readonly { readonly id: string; readonly type: string }[] = body['data'];
    const found = listed.find(({ type }) => type === 'private')?.id ?? '';
    await callVault(vault, management, 'regenerateApplicationKey', { id: found });
    return found;
  });
  await putBack(file, before, ['application']);
  const { body, stderr } = await serve(folder, file);
  expect(body).toEqual({ status: 'ready', notices: ['the vault has 1 finding: run `vault doctor`'] });
  expect(stderr).toContain(`finding in the vault: application ${id} differs from its last change in the audit`);
});
