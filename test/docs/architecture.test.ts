import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/architecture.md', ROOT), 'utf8');

/** Returns the folders below `path` that the page does not name. */
function unnamed(page: string, path: string, depth: number): string[] {
  const folders = readdirSync(new URL(path, ROOT), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name }) => {
    const below = depth > 1 ? unnamed(page, `${path}${name}/`, depth - 1) : [];
    return page.includes(`${name}/`) ? below : [path + name, ...below];
  });
}

it('the tree names every folder of src/', () => {
  expect(unnamed(PAGE, 'src/', 2)).toEqual([]);
});

it('control: a missing folder is reported', () => {
  expect(unnamed(PAGE.replaceAll('keyring/', ''), 'src/', 2)).toEqual(['src/keyring']);
});

it('every link leads to a file', () => {
  const links = [...PAGE.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link ?? '');
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) expect(readdirSync(new URL(`docs/${link}/..`, ROOT))).toContain(link.split('/').at(-1));
});
