import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../../scripts/build-output.ts';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { makeFolder } from './folder.ts';
import { inParallel } from './perform.ts';

/** Renders a page for a terminal of 80 columns. Resolves to the warnings. */
function render(page: string): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '80', MANROFFSEQ: '' };
  const words = ['--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z', page];
  return new Promise((resolve, reject) => {
    execFile('man', words, { env, maxBuffer: 1 << 24 }, (error, _stdout, stderr) => {
      if (error === null || stderr !== '') resolve(stderr.trim());
      else reject(new Error('this check needs man and groff (apt-get install man-db groff)', { cause: error }));
    });
  });
}

async function renderAll(pages: readonly string[]): Promise<Figures> {
  const warnings: string[] = [];
  await inParallel(pages.length, 2, async (index) => {
    const page = pages[index] ?? '';
    const warning = await render(page);
    if (warning !== '') warnings.push(`${path.basename(page)}: ${warning}`);
  });
  const figures = { pages: pages.length, with_warnings: warnings.length };
  if (warnings[0] !== undefined) throw new CheckFailure(warnings[0], figures);
  return figures;
}

const run = () => renderAll(manifest.man.map((name) => path.join(ROOT, name)));

async function control(): Promise<void> {
  using folder = makeFolder();
  const broken = path.join(folder.path, 'vault.1');
  const text = await readFile(path.join(ROOT, 'dist/man/vault.1'), 'utf8');
  await writeFile(broken, text.replace('.SH COMMANDS', '.SHH COMMANDS'));
  await renderAll([broken]);
}

/** Checks that `man --warnings` reports nothing for any page. */
export const CHECK: Check = { number: 25, name: 'man pages', quick: true, run, control };
