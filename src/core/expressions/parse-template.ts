import type { FilteredValueToken, TopLevelToken, ValueToken } from 'liquidjs';
import { nearestName } from '../nearest-name.ts';
import { ExpressionError } from './expression-error.ts';
import { FILTERS } from './filters.ts';
import { isLonger, MAX_SOURCE } from './limits.ts';
import { readArgument } from './parameters.ts';
import { parseOperand } from './parse-operand.ts';
import type { FilterCall, OpenArgument, Output, Template } from './template.ts';

export type Liquid = typeof import('liquidjs');
type FilterToken = FilteredValueToken['filters'][number];

/**
 * Liquid's tokenizer and nothing else of it: there is no engine here that knows a tag, opens a file or looks up a
 * JavaScript property. Throws `ExpressionError`.
 */
export function parseTemplate(liquid: Liquid, source: string): Template {
  if (isLonger(source, MAX_SOURCE)) throw new ExpressionError('an expression has at most 1 KiB', 0);
  try {
    const tokens = new liquid.Tokenizer(source).readTopLevelTokens();
    return tokens.map((token) => parsePart(liquid, source, token)).filter((part) => part !== '');
  } catch (error) {
    if (liquid.LiquidError.is(error)) throw new ExpressionError('this is no Liquid output', error.token.begin);
    throw error;
  }
}

function parsePart(liquid: Liquid, source: string, token: TopLevelToken): string | Output {
  const guards = liquid.TypeGuards;
  if (guards.isHTMLToken(token)) return token.getContent();
  if (guards.isTagToken(token)) throw new ExpressionError('tags are not part of the language', token.begin);
  const [begin, end] = token.contentRange;
  if (begin >= end) throw new ExpressionError('the expression is empty', token.begin);
  // No operators: a comparison is not part of the language.
  const tokenizer = new liquid.Tokenizer(source, {}, undefined, token.contentRange);
  const value = tokenizer.readFilteredValue();
  const [first, second] = value.initial.postfix;
  if (first === undefined || second !== undefined) {
    throw new ExpressionError('one path or literal is expected here', second?.begin ?? begin);
  }
  assertBetween(source, begin, first.begin, /^$/);
  const operand = parseOperand(first, guards);
  let at = first.end;
  const calls = value.filters.map((filter) => {
    assertBetween(source, at, filter.begin, /^\s*\|\s*$/);
    at = filter.end;
    return parseCall(liquid, source, filter);
  });
  assertBetween(source, at, end, /^\s*$/);
  return { operand, calls, position: token.begin };
}

/** The tokenizer forgives trailing pipes, doubled commas and more; what is not understood completely is refused. */
function assertBetween(source: string, from: number, to: number, expected: RegExp): void {
  if (!expected.test(source.slice(from, to))) throw new ExpressionError('this is no Liquid output', from);
}

function parseCall(liquid: Liquid, source: string, token: FilterToken): FilterCall {
  const { name, begin: position } = token;
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) {
    const near = nearestName(name, Object.keys(FILTERS));
    throw new ExpressionError(
      `there is no such filter${near === undefined ? '' : `; did you mean ${near}?`}`,
      position,
    );
  }
  const given: ValueToken[] = [];
  let at = position + name.length;
  for (const argument of token.args) {
    const value = Array.isArray(argument) ? undefined : argument;
    if (value === undefined) throw new ExpressionError(`${name} takes arguments by position, not by name`, position);
    assertBetween(source, at, value.begin, given.length === 0 ? /^\s*:\s*$/ : /^\s*,\s*$/);
    given.push(value);
    at = value.end;
  }
  assertBetween(source, at, token.end, /^\s*$/);

  const parameters = Object.entries(filter.parameters);
  const surplus = given[parameters.length];
  if (surplus !== undefined) throw new ExpressionError(`${name} takes ${parameters.length} arguments`, surplus.begin);
  const args: Record<string, unknown> = {};
  const open: OpenArgument[] = [];
  for (const [index, [parameter, { kind, fallback }]] of parameters.entries()) {
    const argument = given[index];
    if (argument === undefined) {
      if (fallback === undefined) throw new ExpressionError(`${name} needs the argument ${parameter}`, position);
      args[parameter] = fallback;
      continue;
    }
    const operand = parseOperand(argument, liquid.TypeGuards);
    if (operand.kind === 'path') open.push({ parameter, operand });
    else args[parameter] = readArgument(name, parameter, kind, operand.value, argument.begin);
  }
  return { name, filter, args, open, position };
}
