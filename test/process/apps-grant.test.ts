import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { makePlace, VAULT_BIN } from './cli-fixture.ts';

const PERMISSIONS = ['read', 'search', 'update', 'delete'].map((action) => `token:${action}`);

it('keeps the grants of all commands that run at the same time', async () => {
  const place = makePlace(onTestFinished);
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: await place.init('v') };
  await place.vault('apps create --name back --type private --permission token:create', env);
  const granted = await Promise.all(
    PERMISSIONS.map((permission) => place.vault(`apps grant back --permission ${permission}`, env)),
  );
  expect(granted.map(({ exitCode }) => exitCode)).toEqual(PERMISSIONS.map(() => 0));
  const { stdout } = await place.vault('apps get back --field permissions', env);
  expect(JSON.parse(stdout).toSorted()).toEqual(['token:create', ...PERMISSIONS].toSorted());
});

it('sends no edited text after another change, gives the editor no key, and removes the file', async () => {
  const place = makePlace(onTestFinished);
  const key = await place.init('v');
  mkdirSync(place.inside('tmp'));
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
  await place.vault('apps create --name back --type private --permission token:create', env);
  const grant = `'${process.execPath}' '${VAULT_BIN}' apps grant back --permission token:read`;
  const script = `test -z "$VAULT_API_KEY$VAULT_FILE" || exit 9
case $(ls -l "$1") in -rw-------*) ;; *) exit 8;; esac
VAULT_FILE=v.db VAULT_API_KEY=${key} ${grant} > granted || exit 7
sed -i.old s/back/edited/ "$1"`;
  writeFileSync(place.inside('editor.sh'), script);
  const edited = await place.vault('apps edit back', { ...env, EDITOR: 'sh editor.sh', TMPDIR: place.inside('tmp') });
  expect(edited).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('changed since it was read') });
  expect(await place.vault('apps get back --field permissions', env)).toMatchObject({
    stdout: '["token:create","token:read"]\n',
  });
  expect(readdirSync(place.inside('tmp'))).toEqual([]);
});
