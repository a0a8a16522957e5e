import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { Fault } from '../../core/fault.ts';

/**
 * Throws the fault `usage` for a word of the command line whose bytes are not UTF-8: Node.js replaces them by U+FFFD, so
 * the vault would store another text. Accepts a U+FFFD that was typed. Only Linux shows the bytes.
 */
export function refuseBrokenWords(argv: readonly string[], bytes = commandLine()): void {
  const words = wordsOf(bytes);
  for (const [at, typed] of argv.entries()) {
    const word = words[words.length - argv.length + at];
    if (word === undefined || isUtf8(word) || word.toString() !== typed) continue;
    const [, flag = argv[at - 1] ?? ''] = /^(--[a-z][\w-]*)=/.exec(typed) ?? [];
    const name = /^--?[a-z]/.test(flag) ? flag : `argument ${at + 1}`;
    throw new Fault('usage', `${name} is not UTF-8`, { hint: 'set a UTF-8 locale, or convert the text with iconv' });
  }
}

/** Returns the words of this process, each followed by a zero byte; no bytes on other systems. */
function commandLine(): Buffer {
  return process.platform === 'linux' ? readFileSync('/proc/self/cmdline') : Buffer.alloc(0);
}

function wordsOf(bytes: Buffer): readonly Buffer[] {
  const words: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start);
    words.push(bytes.subarray(start, end < 0 ? bytes.length : end));
    start = end < 0 ? bytes.length : end + 1;
  }
  return words;
}
