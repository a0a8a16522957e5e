import { existsSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { makePlace, type Place, VAULT_BIN } from './cli-fixture.ts';

const PRELOAD = new URL('made-at-once.mjs', import.meta.url).href;

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
});

/** Runs `words` and, in the middle of it, all of `another`. */
const overtaken = (words: readonly string[], another: readonly string[], at: 'link' | 'lock') =>
  place.vault(words, { NODE_OPTIONS: `--import ${PRELOAD}`, VAULT_BIN, AT: at, ANOTHER: JSON.stringify(another) });

it('vault init keeps the key file when another init creates the vault with it first', async () => {
  const words = ['init', '--file', 'v.db'];
  expect(await overtaken(words, words, 'link')).toMatchObject({ exitCode: 6, stdout: '' });
  expect(await place.vault('keys list --file v.db')).toMatchObject({ exitCode: 0 });
});

it('vault serve --dev keeps the keys when another command creates the vault with them first', async () => {
  const exec = ['exec', '--file', 'v.db', '--', process.execPath, '-e', ''];
  const words = ['serve', '--dev', '--file', 'v.db', '--port', '0'];
  expect(await overtaken(words, exec, 'link')).toMatchObject({ exitCode: 6, stdout: '' });
  expect(await place.vault(exec)).toMatchObject({ exitCode: 0, stderr: '' });
});

it('vault keys add keeps the key file when another command adds it first', async () => {
  await place.init('v');
  const words = ['keys', 'add', '--file', 'v.db', '--new-key-file', 'second.key'];
  const ended = await overtaken(words, words, 'lock');
  expect(ended).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('already opens this vault') });
  expect(existsSync(place.inside('second.key'))).toBe(true);
  const list = ['keys', 'list', '--file', 'v.db', '--key-file', 'second.key'];
  expect(await place.vault(list)).toMatchObject({ exitCode: 0 });
});

it('a --dev vault reports damaged API keys', async () => {
  await place.vault(['exec', '--file', 'v.db', '--', process.execPath, '-e', '']);
  const stderr =
    'vault: v.db.dev.json is damaged: it does not hold the API keys of v.db\nhint: serve the vault without --dev, or name another file\n';
  for (const text of ['', '{', '[]', '{"tenant_id":1}']) {
    writeFileSync(place.inside('v.db.dev.json'), text);
    const ran = await place.vault('serve --dev --file v.db --port 0');
    expect([text, ran]).toEqual([text, { exitCode: 2, stdout: '', stderr }]);
  }
});
