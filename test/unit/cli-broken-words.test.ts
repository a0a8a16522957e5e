import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { refuseBrokenWords } from '../../src/cli/files/broken-words.ts';
import { cleanEnvironment, VAULT } from '../scripts/run-script.ts';

/** Returns what the bytes of a command line after `node vault` make of its words. */
function refuse(...words: readonly Buffer[]): void {
  const bytes = Buffer.concat([Buffer.from('node\0vault\0'), ...words.flatMap((word) => [word, Buffer.alloc(1)])]);
  refuseBrokenWords(
    words.map((word) => word.toString()),
    bytes,
  );
}

const broken = (text: string) => Buffer.from(text, 'latin1');

describe('a word of the command line that is not UTF-8', () => {
  it.each([
    ['--text', [broken('tokens'), broken('--text'), broken('caf\xe9')]],
    ['--text', [broken('tokens'), broken('--text=caf\xe9'), broken('-q')]],
    ['argument 3', [broken('tokens'), broken('get'), broken('caf\xe9'), broken('--yes')]],
  ])('is refused by %s', (name, words) => {
    expect(() => refuse(...words)).toThrow(`${name} is not UTF-8`);
  });

  it('accepts U+FFFD that was typed, and the words of another process', () => {
    expect(() => refuse(Buffer.from('--text'), Buffer.from('a\ufffd'))).not.toThrow();
    expect(() => refuseBrokenWords(['\ufffd'], Buffer.from('other\0\xff\0', 'latin1'))).toThrow('argument 1');
    expect(() => refuseBrokenWords(['a\ufffd'], broken('node\0b\xff\0'))).not.toThrow();
  });

  it.skipIf(process.platform !== 'linux')('ends the command with exit code 2 before it does anything', () => {
    const run = (text: string) =>
      execFileSync(
        'sh',
        ['-c', `"$0" "$1" tokens create --type token --text "$(printf '${text}')" --dry-run`, process.execPath, VAULT],
        {
          env: cleanEnvironment({}),
          encoding: 'utf8',
          stdio: 'pipe',
        },
      );
    expect(() => run('caf\\351')).toThrow(/vault: --text is not UTF-8\nhint: set a UTF-8 locale/);
    expect(run('a\\357\\277\\275')).toContain('"data":"a\ufffd"');
  });
});
