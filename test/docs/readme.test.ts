import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REFERENCE_TABLES, withReferenceTables } from './reference-tables.ts';

const README = new URL('../../README.md', import.meta.url);
const text = readFileSync(README, 'utf8');

// `UPDATE_DOCS=1 npx vitest run test/docs` writes the tables instead.
if (process.env['UPDATE_DOCS']) writeFileSync(README, withReferenceTables(text));

describe('the README', () => {
  it('has the tables of the registries, word for word', () => {
    expect(withReferenceTables(text)).toBe(text);
  });

  it('has every one of them', () => {
    const marked = [...text.matchAll(/<!-- table: ([a-z-]+) -->/g)].map(([, name]) => name);
    expect(marked.sort()).toEqual(Object.keys(REFERENCE_TABLES).sort());
  });

  it('control: a changed cell is noticed', () => {
    const changed = text.replace('| 404 | `token_not_found`', '| 410 | `token_not_found`');
    expect(changed).not.toBe(text);
    expect(withReferenceTables(changed)).not.toBe(changed);
  });

  it('links only to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(2);
    for (const path of links) expect(() => readFileSync(new URL(`../../${path}`, import.meta.url))).not.toThrow();
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const named = [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, name]) => name ?? '');
    expect(named.length).toBeGreaterThan(1);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });
});
