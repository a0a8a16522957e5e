import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../build-output.ts';

const FENCE = /^```(\w+)\n(.*?)^```$/gms;
const HEAD = /^\/\/ (\S+): (.+)$/m;
const BLOCKS = 6;

/**
 * Returns the blocks of the table in docs/testing.md. The first line of a file names it and the commands that run it;
 * the other block has a command line for each package manager.
 */
export function docBlocks() {
  const page = readFileSync(path.join(ROOT, 'docs/testing.md'), 'utf8');
  const [, table = ''] = /^<table>$(.*?)^<\/table>$/ms.exec(page) ?? [];
  const blocks = Array.from(table.matchAll(FENCE), ([, language, text = '']) => ({ language, text }));
  if (blocks.length !== BLOCKS) throw new Error(`docs/testing.md: ${blocks.length} blocks instead of ${BLOCKS}`);
  const files = blocks
    .filter(({ language }) => language !== 'sh')
    .map(({ text }) => {
      const [, file, commands] = HEAD.exec(text) ?? [];
      if (file === undefined || commands === undefined)
        throw new Error(`docs/testing.md: no file and command in the first line of:\n${text}`);
      return { file, text, commands: commands.split(' · ') };
    });
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.trim().split('\n'));
  return { files, install: Object.fromEntries(lines.map((line) => [line.split(' ')[0], line])) };
}
