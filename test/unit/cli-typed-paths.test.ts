import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makePlace } from '../process/cli-fixture.ts';

const place = makePlace();
writeFileSync(place.inside('plain'), '');
symlinkSync('circle', place.inside('circle'));
mkdirSync(place.inside('folder'));

const LONG = 'x'.repeat(256);

/** A command line, what it names first, and the code of the system. */
const REFUSED = [
  ['tenant list --file plain/v.db', '--file: plain/v.db', 'ENOTDIR'],
  ['--file plain/v.db tenant list', '--file: plain/v.db', 'ENOTDIR'],
  ['tenant list --file circle/v.db', '--file: circle/v.db', 'ELOOP'],
  [`tenant list --file ${LONG}`, `--file: ${LONG}`, 'ENAMETOOLONG'],
  ['init --file new.db --key-out plain/key', '--key-out: plain/key', 'ENOTDIR'],
  ['serve --dev --seed-file seed.yaml plain/', '--seed-file: plain/', 'ENOTDIR'],
  ['doctor --archive one plain/x', '--archive: plain/x', 'ENOTDIR'],
  ['move --from plain/x --to new.db', '--from: plain/x', 'ENOTDIR'],
  ['import circle', 'file: circle', 'ELOOP'],
  ['seed apply seed.yaml plain/x', 'file: plain/x', 'ENOTDIR'],
  ['restore plain/x', 'backup: plain/x', 'ENOTDIR'],
  ['backup plain/x', 'out: plain/x', 'ENOTDIR'],
  ['profile add one --file plain/x', '--file: plain/x', 'ENOTDIR'],
] as const;

it.each(REFUSED)('%s', async (line, named, code) => {
  const { exitCode, stderr } = await place.vault(line);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringMatching(/^vault: .*\nhint: name (?:another|a shorter) path.*\n$/),
  });
  expect(stderr).toContain(`vault: ${named} cannot be used (${code})\n`);
});

/** A variable of the shell that is not set must not select `./vault.db` or the vault of the environment. */
it.each([
  ['tenant list --file=', '--file'],
  ['--file= tenant list', '--file'],
  ['tokens list --url=', '--url'],
  ['doctor --store=', '--store'],
  ['tenant list --profile=', '--profile'],
  ['doctor --file v.db --key-file=', '--key-file'],
  ['move --from= --to new.db', '--from'],
])('%s', async (line, flag) => {
  expect(await place.vault(line, { VAULT_FILE: 'v.db' })).toMatchObject({
    exitCode: 2,
    stderr: `vault: ${flag} is empty\nhint: name a value, or leave the flag out; a variable of the shell may not be set\n`,
  });
});

/** Paths of the environment are judged by the command that uses them. */
it.each([
  ['doctor', { VAULT_FILE: 'plain/v.db' }, /^vault: --file: plain\/v\.db cannot be used \(ENOTDIR\)$/m],
  ['doctor', { VAULT_FILE: LONG }, /^vault: --file: x+ cannot be used \(ENAMETOOLONG\)$/m],
  ['doctor --file v.db', { VAULT_KEY_FILE: 'circle' }, /^vault: --key-file: circle cannot be read \(ELOOP\)$/m],
  ['keygen --out k', { VAULT_FILE: 'plain/v.db', VAULT_KEY_FILE: 'circle', VAULT_CACERT: LONG }, /^$/],
] as const)('%s with %o', async (line, env, message) => {
  const { exitCode, stderr } = await place.vault(line, env);
  expect(exitCode).toBe(message.test('') ? 0 : 2);
  expect(stderr).toMatch(message);
});

it('a name that leaves no room for the name of a temporary file', async () => {
  const path = join('folder', 'x'.repeat(240));
  expect(await place.vault(`keygen --out ${path}`)).toMatchObject({
    exitCode: 2,
    stderr: `vault: --out: ${path} cannot be created (ENAMETOOLONG)\nhint: name a shorter path\n`,
  });
});

it('- is standard input or output, not a path', async () => {
  const { exitCode, stdout } = await place.vault('audit export --out - --file none');
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
});
