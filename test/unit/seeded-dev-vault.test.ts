import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSeededDevVault } from '../../src/cli/commands/dev/seeded-dev-vault.ts';
import type { OperationId } from '../../src/contract/operations.ts';

const SEED = `
seed: test
tokens:
  pin: { id: the-pin, type: token, data: "1234" }
`;

it('a reset restores the seed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'seeded-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'seed.yaml');
  await writeFile(file, SEED);
  const dev = await openSeededDevVault({ file: undefined, settings: {}, seedFiles: [file], seed: undefined, env: {} });
  onTestFinished(() => dev.vault.close());
  const status = async (operation: OperationId, id: string) => {
    const call = { operation, apiKey: dev.keys.private_key, params: { id }, query: [] };
    return (await dev.vault.dispatch(call)).status;
  };
  for (let turn = 0; turn < 2; turn += 1) {
    expect(await status('getToken', 'the-pin')).toBe(200);
    expect(await status('deleteToken', 'the-pin')).toBe(204);
    expect(await status('getToken', 'the-pin')).toBe(404);
    await dev.reset?.();
  }
  expect(await status('getToken', 'the-pin')).toBe(200);
});
