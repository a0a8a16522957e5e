import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { backUpVault, recordBackup } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import { createVault, openFileVault } from '../../src/vault/vault.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const DAY = 86_400_000;
const CREDENTIAL = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
const START = Date.UTC(2031, 0, 1);

let file: string;
let wall: number;
const times: Times = { wall: () => wall, running: () => wall };

/** Resolves to the time of the last backup that a process shows which opens the vault now. */
async function backedUpAt(path = file): Promise<number | undefined> {
  const vault = await openFileVault({ file: path, credential: CREDENTIAL, times });
  const { backedUpAt: at } = await vault.figures().finally(vault.close);
  return at;
}

beforeEach(async () => {
  file = join(temporaryFolder(onTestFinished), 'vault.db');
  wall = START;
  const { vault } = await createVault({ file, credential: CREDENTIAL, times, tenantName: 'backup' });
  await vault.close();
});

describe('the time of the last backup', () => {
  it('is written into the vault, not into the copy', async () => {
    const copy = join(file, '../copy.db');
    expect(await backedUpAt()).toBeUndefined();
    await backUpVault({ from: file, to: copy, credential: CREDENTIAL });
    expect(await backedUpAt()).toBeUndefined();
    await recordBackup({ file, credential: CREDENTIAL, times });
    expect([await backedUpAt(), await backedUpAt(copy)]).toEqual([START, undefined]);
    const { ok } = await checkVaultFile({ file, credential: CREDENTIAL, times });
    expect(ok).toBe(true);
  });

  it('stays when processes note the clock, and moves with the next backup', async () => {
    await recordBackup({ file, credential: CREDENTIAL, times });
    for (const days of [0.5, 400, 0.5]) {
      wall += days * DAY;
      expect(await backedUpAt()).toBe(START);
    }
    await recordBackup({ file, credential: CREDENTIAL, times });
    expect(await backedUpAt()).toBe(wall);
  });

  it('cannot be forged: an altered note shows no time, and is a finding', async () => {
    await recordBackup({ file, credential: CREDENTIAL, times });
    wall += 3 * DAY;
    const vault = await openFileVault({ file, credential: CREDENTIAL, times });
    await tamperFile(file, (connection) =>
      connection
        .prepare('UPDATE counter SET clock = replace(clock, ?, ?) WHERE tenant = 0')
        .run(` ${START} `, ` ${wall} `),
    );
    expect((await vault.figures()).backedUpAt).toBeUndefined();
    await vault.close();
    const { findings } = await checkVaultFile({ file, credential: CREDENTIAL, times });
    expect(findings).toEqual([{ table: 'counter', id: '', what: 'the clock note was altered' }]);
  });
});
