import type { PropertyAccessToken, Token, TypeGuards } from 'liquidjs';
import { toJsonNumber } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import type { Operand, PathOperand } from './template.ts';

type TokenGuards = typeof TypeGuards;

const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
]);

/** A literal or a path. Ranges, `empty`, `blank` and comparisons are Liquid, but not part of the language (decisions §4). */
export function parseOperand(token: Token, guards: TokenGuards): Operand {
  const text = token.input.slice(token.begin, token.end);
  if (guards.isQuotedToken(token)) {
    if (text.length < 2 || text.at(-1) !== text[0]) throw new ExpressionError('a quote is not closed', token.begin);
    return { kind: 'literal', value: token.content };
  }
  if (guards.isNumberToken(token)) {
    const value = toJsonNumber(text.replace(/\.$/, ''));
    if (value === undefined) throw new ExpressionError('this is no number', token.begin);
    return { kind: 'literal', value };
  }
  if (guards.isPropertyAccessToken(token)) return parsePath(token, guards);
  const value = guards.isLiteralToken(token) ? LITERALS.get(text) : undefined;
  if (value === undefined) throw new ExpressionError('a path or a literal is expected here', token.begin);
  return { kind: 'literal', value };
}

/**
 * The tokenizer forgives what stands between the parts of a path (`data[0 junk]`, `data.`), so the text between them is
 * looked at again: what is not understood completely is refused.
 */
function parsePath(token: PropertyAccessToken, guards: TokenGuards): PathOperand {
  const { input } = token;
  const keys: (string | number)[] = [];
  let root: string | undefined;
  let at = token.begin;
  for (const part of token.variable === undefined ? token.props : []) {
    const before = input.slice(at, part.begin);
    at = part.end;
    if (guards.isWordToken(part)) {
      const expected = root === undefined ? /^$/ : /^\.$/;
      if (!expected.test(before) || part.begin === part.end) throw new ExpressionError('this is no path', part.begin);
      if (root === undefined) root = part.content;
      else keys.push(part.content);
      continue;
    }
    const close = /^\s*\]/.exec(input.slice(at, token.end));
    const key = guards.isQuotedToken(part) || guards.isNumberToken(part) ? part.content : undefined;
    if (root === undefined || !/^\[\s*$/.test(before) || close === null || key === undefined) {
      throw new ExpressionError('only a whole number or a quoted name may stand in brackets', part.begin);
    }
    if (typeof key === 'number' && !Number.isSafeInteger(key)) {
      throw new ExpressionError('only a whole number or a quoted name may stand in brackets', part.begin);
    }
    keys.push(key);
    at += close[0].length;
  }
  if (root !== 'data' && root !== 'metadata') {
    throw new ExpressionError('only data and metadata can be referred to', token.begin);
  }
  if (at !== token.end) throw new ExpressionError('this is no path', at);
  return { kind: 'path', root, keys, position: token.begin };
}
