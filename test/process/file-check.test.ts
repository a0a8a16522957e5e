import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { keepRows, putBack } from '../checks/put-back.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { callVault, fileVault, withVault } from '../unit/vault-admin-fixture.ts';
import { endOf, VAULT_BIN } from './cli-fixture.ts';

const DEADLINE_MS = 20_000;

/** Serves the file until `/readyz` has notices, for at most three seconds. Resolves to its last reply and stderr. */
async function serve(folder: string, file: string) {
  const ready = join(folder, 'ready.json');
  const words = ['serve', '--file', file, '--key-file', join(folder, 'key'), '--port', '0', '--ready-file', ready];
  const child = spawn(process.execPath, [VAULT_BIN, ...words], {
    env: cleanEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = endOf(child, 60_000);
  const deadline = performance.now() + DEADLINE_MS;
  while (!existsSync(ready) && performance.now() < deadline) await sleep(20);
  const { url }: { readonly url: string } = JSON.parse(readFileSync(ready, 'utf8'));
  let body: { readonly notices?: readonly string[] } = {};
  for (const until = performance.now() + 3000; body.notices === undefined && performance.now() < until; ) {
    await sleep(50);
    body = (await (await fetch(`${url}/readyz`)).json()) as typeof body;
  }
  child.kill('SIGTERM');
  return { body, stderr: (await ended).stderr };
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
  const sound = await serve(folder, file);
  expect(sound.body).toEqual({ status: 'ready' });
  expect(sound.stderr).not.toContain('finding in the vault');

  await putBack(file, before, ['application']);
  const { body, stderr } = await serve(folder, file);
  expect(body).toEqual({ status: 'ready', notices: ['the vault has 1 finding: run `vault doctor`'] });
  expect(stderr).toContain(`finding in the vault: application ${id} differs from its last change in the audit`);
});
