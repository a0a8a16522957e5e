import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readSeedFile } from '../../src/cli/commands/seed/read-seed-file.ts';
import { createSeedDocument } from '../../src/cli/commands/seed/seed-document.ts';
import { OUT_FORMATS, printIds, seededIds, withOutFile } from '../../src/cli/commands/seed/seed-output.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SEED = `
apps: { web: { type: public, permissions: [token:create] }, reader: { type: private, permissions: [token:read] } }
tokens: { pin: { type: token, data: x }, cards: { generate: card, count: 300 } }
`;

it.each(OUT_FORMATS)('%s: reserves space for ids and keys before they exist', async (format) => {
  const folder = temporaryFolder(onTestFinished);
  const document = createSeedDocument([await readSeedFile('s.yaml', SEED)], {}, 0);
  const id = '00000000-0000-4000-8000-000000000000';
  const apps = new Map(document.apps.map(({ item }) => [item, { id, key: `key_${'a'.repeat(32)}` }]));
  const text = printIds(format, seededIds({ apps }, document));
  const file = join(folder, 'ids');
  let before = statSync(folder, { bigint: true });
  const made = await withOutFile({ file, format }, document, async () => {
    const [reserved = '', ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    before = statSync(join(folder, reserved), { bigint: true });
    return { text, result: 'made' };
  });
  expect(made).toBe('made');
  expect(readdirSync(folder)).toEqual(['ids']);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(Number(before.size)).toBeGreaterThanOrEqual(Buffer.byteLength(text));
  // The ids and keys are in the file that was reserved.
  expect(statSync(file, { bigint: true }).ino).toBe(before.ino);
});
