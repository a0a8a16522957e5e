import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { anchor } from './markdown.ts';
import { REFERENCE_TABLES, withReferenceTables } from './reference-tables.ts';

const ROOT = new URL('../../', import.meta.url);
const MAX_LINES = { 'README.md': 200, 'docs/http-api.md': 1200 };

const docs = readdirSync(new URL('docs/', ROOT)).filter((name) => name.endsWith('.md'));
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs.map((name) => `docs/${name}`)];
const textOf = (page: string) => readFileSync(new URL(page, ROOT), 'utf8');

// `UPDATE_DOCS=1 npx vitest run test/docs` writes the tables first.
if (process.env['UPDATE_DOCS']) {
  for (const page of PAGES) writeFileSync(new URL(page, ROOT), withReferenceTables(textOf(page)));
}

/** Returns the anchors of a page's headings, as repository sites make them. */
function anchorsOf(text: string): readonly string[] {
  const headings = [...text.replaceAll(/```.*?```/gs, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading ?? '');
  return headings.map(anchor);
}

/** Returns the broken links of a page. */
function brokenLinks(page: string, text: string): readonly string[] {
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)]+))?\)/g)];
  return links
    .filter(([, path = '', anchor]) => {
      try {
        const target = path === '' ? text : readFileSync(new URL(path, new URL(page, ROOT)), 'utf8');
        return anchor !== undefined && !anchorsOf(target).includes(anchor);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'EISDIR';
      }
    })
    .map(([link]) => link);
}

describe.each(PAGES)('%s', (page) => {
  const text = textOf(page);

  it('contains the tables of the registries verbatim', () => {
    expect(withReferenceTables(text)).toBe(text);
  });

  it('links only to files and headings that exist', () => {
    expect(brokenLinks(page, text)).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(textOf('package.json'));
    const named = [...text.matchAll(/npm run (?:-s |--silent )?([a-z][a-z:-]*)/g)].map(([, name]) => name ?? '');
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

describe('the pages', () => {
  it('contain every table of the registries', () => {
    const marked = PAGES.flatMap((page) => [...textOf(page).matchAll(/<!-- table: ([a-z-]+) -->/g)]);
    expect([...new Set(marked.map(([, name]) => name))].sort()).toEqual(Object.keys(REFERENCE_TABLES).sort());
  });

  it.each(Object.entries(MAX_LINES))('%s: has at most %i lines', (page, most) => {
    expect(textOf(page).split('\n').length).toBeLessThanOrEqual(most);
  });

  it('are all linked from the README', () => {
    const readme = textOf('README.md');
    expect(docs.filter((name) => !readme.includes(`docs/${name}`))).toEqual([]);
  });

  it('control: a changed cell and a broken link are reported', () => {
    const text = textOf('docs/http-api.md');
    const changed = text.replace('| 404 | `token_not_found`', '| 410 | `token_not_found`');
    expect(changed).not.toBe(text);
    expect(withReferenceTables(changed)).not.toBe(changed);
    const links = ['](none.md)', '](cli.md#none)', '](#none)', '](cli.md#exit-codes)', '](../src/)'];
    expect(brokenLinks('docs/http-api.md', links.join(' '))).toEqual(links.slice(0, 3));
  });
});
