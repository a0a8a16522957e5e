import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { seededNumbers } from '../checks/perform.ts';
import { rotateUnderLoad } from '../checks/rotation.ts';
import type { Command } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';

let place: Place;
let management = '';
const inside = (name: string) => place.inside(name);
const vault = (command: Command, env: Readonly<Record<string, string>> = {}) =>
  place.vault(command, { VAULT_API_KEY: management, ...env });
const result = async (command: Command, env: Readonly<Record<string, string>> = {}) => {
  const ran = await vault(command, env);
  expect(ran).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

beforeEach(async () => {
  place = makePlace(onTestFinished);
  management = await place.init('vault');
});

it('gives no slot to a key of 32 equal bytes; doctor reports one that zeros open, and how to leave it', async () => {
  writeFileSync(inside('zeros'), Buffer.alloc(32), { mode: 0o600 });
  const zeros = { VAULT_KEY_FILE: 'zeros' };
  const added = await vault('keys add --new-key-file zeros');
  expect(added).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be 32 equal bytes') });
  expect(await vault('init --file new.db', zeros)).toMatchObject({ exitCode: 2 });
  expect((await result('keys list')).data).toHaveLength(1);
  const admin = await openVaultAdmin({
    file: inside('vault.db'),
    credential: { kind: 'key_file', key: readFileSync(inside('vault.db.key')) },
  });
  await admin.addSlot({ kind: 'key_file', key: new Uint8Array(32) }, { allowWeak: false });
  await admin.close();
  const notice = expect.stringContaining('key slot 1 opens with 32 zero bytes');
  expect(await result('doctor', zeros)).toMatchObject({ ok: true, notices: [notice] });
  const refused = await vault('keys rotate --master --yes', zeros);
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('vault keys add --new-key-file') });
  await result('keys add --new-key-file next.key', zeros);
  await result('keys rotate --master --yes --key-file next.key');
  expect(await vault('keys list', zeros)).toMatchObject({ exitCode: 10 });
  expect(await result('doctor --key-file next.key')).toMatchObject({ ok: true, notices: [] });
});

it('commands reject an older copy of the vault with an anchor', async () => {
  const older = readFileSync(inside('vault.db'));
  const anchor = { VAULT_ANCHOR: 'anchor' };
  expect(await vault('tenant update --name renamed -q', anchor)).toMatchObject({ exitCode: 0 });
  writeFileSync(inside('vault.db'), older);
  for (const line of ['tenant get', 'doctor', 'serve --port 0']) {
    expect(await vault(`${line} --anchor anchor`)).toMatchObject({ exitCode: 9 });
  }
  expect(await vault('tenant get')).toMatchObject({ exitCode: 0 });
});

it('a rotation under load may be killed at any time: no data is lost, no call fails, no old key remains', {
  timeout: 120_000,
}, async () => {
  const run = await rotateUnderLoad({ tokens: 600, kills: 4, random: seededNumbers(18) });
  expect(run).toMatchObject({ refused: 0, lost: 0, doctorOk: true, keys: 2, oldKeysLeft: 0 });
  expect(run.killed).toBe(4);
  expect(run.acknowledged).toBeGreaterThan(600);
});
