import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../../scripts/build-output.ts';
import { blocksOf, npmPlace, POSIX, shell } from './page-fixture.ts';

/** npm clones the last commit of this checkout, installs what builds it, and builds. Needs npm's registry or its cache. */
it.runIf(POSIX)('docs/install.md installs from a Git URL', { timeout: 300_000 }, async () => {
  const place = npmPlace();
  const { stdout: commit } = await shell(place, `git -C '${ROOT}' rev-parse HEAD`);
  const install = blocksOf('install.md', undefined, 'sh').find((block) => block.includes('git+https:')) ?? '';
  const [url = ''] = /git\+\S+/.exec(install) ?? [];
  const local = install.replace(url, `git+file://${ROOT}#${commit.trim()}`);
  const script = `echo '{}' >package.json\n${local}\nnode_modules/.bin/token-vault --version`;
  expect(await shell(place, script, place.npm, 280_000)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(`vault ${manifest.version}\n`),
  });
});
