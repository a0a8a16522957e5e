import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { builtText, builtTexts } from '../checks/patched-product.ts';

const CHUNKS = path.join(ROOT, 'dist', 'chunks');
const product = readdirSync(CHUNKS)
  .map((name) => readFileSync(path.join(CHUNKS, name), 'utf8'))
  .join('');
const occurrences = (text: string) => product.split(text).length - 1;

/** A control on an unchanged product proves nothing, and many controls run only with some seeds or in full. */
it('each text that a control replaces is in the product, once', async () => {
  for (const folder of ['test/checks', 'test/checks/store']) {
    for (const name of readdirSync(path.join(ROOT, folder))) {
      const text = name.endsWith('.ts') ? readFileSync(path.join(ROOT, folder, name), 'utf8') : '';
      if (text.includes('builtText(')) await import(pathToFileURL(path.join(ROOT, folder, name)).href);
    }
  }
  expect(builtTexts.size).toBeGreaterThan(25);
  expect([...builtTexts].filter((text) => occurrences(text) !== 1)).toEqual([]);
});

it('control: a text that the product lacks is found', () => {
  expect(occurrences(builtText('a text that no product has'))).toBe(0);
});
