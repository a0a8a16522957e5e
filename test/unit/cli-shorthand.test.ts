import { describe, expect, it } from 'vitest';
import { shorthandToJson } from '../../src/cli/derive/shorthand.ts';
import { ACCESS_RULE } from '../../src/contract/permissions.ts';

const RULE = { name: 'rule', member: 'rules' };
const ruleOf = (text: string, position = 1): unknown => JSON.parse(shorthandToJson(RULE, ACCESS_RULE, text, position));

const WHOLE =
  'container=/pci/ transform=mask permissions=token:read,token:create priority=7 description="what it is for"';

describe('a rule in words', () => {
  it('becomes the same JSON, with members in the order of the contract', () => {
    expect(shorthandToJson(RULE, ACCESS_RULE, WHOLE, 1)).toBe(
      '{"description":"what it is for","priority":7,"container":"/pci/","transform":"mask","permissions":["token:read","token:create"]}',
    );
  });

  it('accepts conditions; everything after the second colon is the value', () => {
    const words =
      'condition=id:equals:a:b::c condition=container:starts_with:/pci/ transform=reveal permission=token:read';
    expect(ruleOf(words)).toMatchObject({
      conditions: [
        { attribute: 'id', operator: 'equals', value: 'a:b::c' },
        { attribute: 'container', operator: 'starts_with', value: '/pci/' },
      ],
    });
  });

  it.each([
    [`description='single "quotes"'`, 'single "quotes"'],
    ['description="a \\"b\\" \\\\ c"', 'a "b" \\ c'],
    [`description=a' b 'c"d"`, 'a b cd'],
    ['description=a=b', 'a=b'],
    ['description=', ''],
    ['description="two\nlines"', 'two\nlines'],
  ])('reads %s', (word, description) => {
    expect(ruleOf(`${word} transform=mask permissions=token:read`)).toMatchObject({ description });
  });

  it.each([
    ['a word far from all', 'xyzzyx=/', '--rule: unknown word xyzzyx=', 'known are description, priority, container'],
    ['a priority that is no number', 'priority=first', '--rule: priority must be a whole number', ''],
    ['a word twice', 'priority=1 priority=2', '--rule: priority= is given twice', ''],
    ['a missing transform', 'permissions=token:read', '--rule: transform= is missing', 'transform=redact|mask|reveal'],
    ['a condition without a value', 'condition=id:equals:', '--rule: condition must be attribute:operator:value', ''],
    [
      'an operator that is none',
      'condition=id:eqals:x',
      '--rule: the operator of condition must be one of starts_with, equals',
      'did you mean equals?',
    ],
    ['nothing', '', '--rule: transform= is missing', ''],
  ])('rejects %s, naming the word and the correction', (_what, text, message, hint) => {
    const refusal = { code: 'invalid_request', message: expect.stringContaining(message) };
    expect(() => ruleOf(text)).toThrow(expect.objectContaining(refusal));
    if (hint !== '')
      expect(() => ruleOf(text)).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
  });
});
