import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { assembleCall } from '../../src/cli/derive/assemble-call.ts';
import { createTextReader } from '../../src/cli/files/text-reader.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

function file(content: string | Uint8Array): string {
  writeFileSync(path.join(folder, 'text'), content);
  return `@${path.join(folder, 'text')}`;
}

/** Returns the body of a create with one flag. */
async function bodyOf(flag: 'data' | 'text', value: string, stdin = '') {
  const reader = createTextReader(async function* () {
    yield stdin;
  });
  const members = { type: ['token'], [flag]: [value] };
  return (await assembleCall('createToken', { arguments: [], members }, reader)).bodyText;
}

it('carries any JSON value through --data unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), async (json) => {
      expect(await bodyOf('data', json)).toBe(`{"type":"token","data":${json.trim()}}`);
    }),
  );
});

it('accepts any string in --text except - and @FILE', async () => {
  const texts = fc.string({ unit: 'binary' }).filter((text) => text !== '-' && !text.startsWith('@'));
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      expect(JSON.parse((await bodyOf('text', text)) ?? '')).toEqual({ type: 'token', data: text });
    }),
    { examples: [['a\n'], ['']] },
  );
});

it.each([
  ['one line loses its line end', 'secret\n', 'secret'],
  ['also a Windows line end', 'secret\r\n', 'secret'],
  ['several lines keep their line ends', 'two\nlines\n', 'two\nlines\n'],
  ['an unfinished line is unchanged', 'secret', 'secret'],
  ['a byte order mark is removed', '\ufeffsecret', 'secret'],
])('reads --text from a file and from standard input: %s', async (_what, content, data) => {
  expect(JSON.parse((await bodyOf('text', file(content))) ?? '')).toMatchObject({ data });
  expect(JSON.parse((await bodyOf('text', '-', content)) ?? '')).toMatchObject({ data });
});

it.each(['', '\n', '\r\n'])('rejects --text from standard input that holds only %j', async (stdin) => {
  await expect(bodyOf('text', '-', stdin)).rejects.toMatchObject({
    code: 'usage',
    message: '--text: standard input is empty',
    hint: "--text '' stores an empty text",
  });
});

it('rejects text that is not UTF-8', async () => {
  const fault = { code: 'invalid_data', message: '--text: the text is not UTF-8' };
  await expect(bodyOf('text', file(new Uint8Array([0xe9])))).rejects.toMatchObject(fault);
});
