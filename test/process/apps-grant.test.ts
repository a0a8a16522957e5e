import { expect, it, onTestFinished } from 'vitest';
import { makePlace } from './cli-fixture.ts';

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
