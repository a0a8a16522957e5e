import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { applyMergePatch } from '../../src/core/tokens/merge-patch.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Row {
  readonly name?: string;
  readonly target?: string;
  readonly patch: string;
  readonly result: string;
}

const vectors = readVectors<{ rfc_7396_appendix_a: Row[]; more: Row[] }>('merge-patch');

function patched({ target, patch }: Row): string {
  return stringifyJson(applyMergePatch(target === undefined ? undefined : parseJson(target), parseJson(patch)));
}

describe('applyMergePatch', () => {
  test.each(vectors.rfc_7396_appendix_a)('RFC 7396: $target + $patch', (row) => {
    expect(patched(row)).toBe(row.result);
  });

  test.each(vectors.more)('$name', (row) => {
    expect(patched(row)).toBe(row.result);
  });

  test('the appendix is complete', () => {
    expect(vectors.rfc_7396_appendix_a).toHaveLength(15);
  });

  test('changes neither its target nor its patch', () => {
    const [target, patch] = ['{"a":{"b":1,"2":0},"c":[1]}', '{"a":{"b":null,"d":{"e":2}},"c":3}'];
    const [parsedTarget, parsedPatch] = [parseJson(target), parseJson(patch)];
    applyMergePatch(parsedTarget, parsedPatch);
    expect(stringifyJson(parsedTarget)).toBe(target);
    expect(stringifyJson(parsedPatch)).toBe(patch);
  });

  test('reaches no prototype', () => {
    applyMergePatch(
      parseJson('{}'),
      parseJson('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
    );
    expect('polluted' in {}).toBe(false);
  });

  test('a result inherits nothing', () => {
    const merged = Object(applyMergePatch({ a: 1 }, { b: 2 }));
    for (const name of ['constructor', 'toString', '__proto__']) expect(name in merged).toBe(false);
  });
});
