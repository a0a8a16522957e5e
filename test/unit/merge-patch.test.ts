import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { applyMergePatch } from '../../src/core/tokens/merge-patch.ts';
import { readTable } from '../vectors/read-vectors.ts';

const TABLE = readTable('merge-patch');
const APPENDIX = TABLE.filter(({ part }) => part !== 'more').map(({ fields }) => fields);
const MORE = TABLE.filter(({ part }) => part === 'more').map(({ fields }) => fields);

function patched(target = '', patch = ''): string {
  return stringifyJson(applyMergePatch(target === 'none' ? undefined : parseJson(target), parseJson(patch)));
}

describe('applyMergePatch', () => {
  test.each(APPENDIX)('RFC 7396: %s + %s', (target, patch, result) => expect(patched(target, patch)).toBe(result));
  test.each(MORE)('%s', (_name, target, patch, result) => expect(patched(target, patch)).toBe(result));

  test('changes neither the target nor the patch', () => {
    const [target, patch] = ['{"a":{"b":1,"2":0},"c":[1]}', '{"a":{"b":null,"d":{"e":2}},"c":3}'];
    const [parsedTarget, parsedPatch] = [parseJson(target), parseJson(patch)];
    applyMergePatch(parsedTarget, parsedPatch);
    expect(stringifyJson(parsedTarget)).toBe(target);
    expect(stringifyJson(parsedPatch)).toBe(patch);
  });

  test('does not change a prototype', () => {
    applyMergePatch(
      parseJson('{}'),
      parseJson('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
    );
    expect('polluted' in {}).toBe(false);
  });

  test('the result inherits nothing', () => {
    const merged = Object(applyMergePatch({ a: 1 }, { b: 2 }));
    for (const name of ['constructor', 'toString', '__proto__']) expect(name in merged).toBe(false);
  });
});
