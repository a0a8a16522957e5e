import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { HARMLESS, MUTANTS } from '../checks/mutants-run.ts';

const textOf = (file: string) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');

describe('the guards that check 19 removes', () => {
  it.each([HARMLESS, ...MUTANTS])('occur in the source exactly once: $name', ({ file, from, to }) => {
    expect(textOf(file).split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
  });
});
