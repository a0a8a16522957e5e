import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const KEY = Buffer.from('canary-key, 32 bytes to look fö');
const FORMS = [KEY.toString(), KEY.toString('hex'), KEY.toString('base64')];
const place = makePlace();

beforeAll(async () => {
  for (const [at, form] of FORMS.entries()) writeFileSync(place.inside(`key${at}`), form);
  writeFileSync(place.inside('then-fail.mjs'), `process.stdout.write('${FORMS[1]}'); process.exitCode = 3;`);
  writeFileSync(
    place.inside('print.mjs'),
    "import { readFileSync } from 'node:fs';\n" +
      'process.stdout.write(Buffer.concat(process.argv.slice(2).map((name) => readFileSync(name))));',
  );
  const made = await place.vault(['init', '--file', 'v.db', '--key-command', 'node print.mjs key0', '--key-out', 'm']);
  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
});

describe('the key that a command prints is in no output', () => {
  it.each<readonly [string, number]>([
    ['node print.mjs key0', 0],
    ['node print.mjs key1', 0],
    ['node print.mjs key2', 0],
    ['node print.mjs key1 key1', 10],
    ['node print.mjs key0 key2', 10],
    ['node then-fail.mjs', 2],
  ])('%s', async (command, exitCode) => {
    const opening = ['--key-command', 'node print.mjs key0'];
    for (const [words, exit] of [
      [['doctor', '--key-command', command], exitCode],
      // A key has one slot.
      [['keys', 'add', ...opening, '--new-key-command', command], exitCode || 6],
    ] as const) {
      const ended = await place.vault(words, { VAULT_DEBUG: '1', VAULT_FILE: 'v.db' });
      expect(ended.exitCode).toBe(exit);
      for (const form of FORMS) expect(ended.stdout + ended.stderr).not.toContain(form.slice(0, 16));
    }
  });
});
