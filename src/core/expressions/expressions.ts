import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject, memberNames, objectOfMembers } from '../json/kind.ts';
import type { Random } from '../ports.ts';
import { checkTemplate, evaluateTemplate, type Scope } from './evaluate-template.ts';
import type { FilterTools } from './filter.ts';
import { ExpressionError, FilterFailure, MAX_OUTPUT, outputSize, type WorkBudget } from './limits.ts';
import { type Output, parseTemplate, type Template } from './parse-template.ts';
import { loadQueryJson } from './query-json.ts';

/*
 * Expressions (decisions §4). All failures are `ExpressionError`. Syntax, filters and arguments are checked before
 * evaluation. A failing filter never passes a value on unmasked.
 */

export interface EvaluateOptions {
  /** The random source. Only `id` expressions provide it; random filters fail without it. */
  readonly random?: Random | undefined;
  /** The budget of steps, which several evaluations may share. */
  readonly work: WorkBudget;
}

/** The number of cached templates, each of at most 1 KiB of text. */
const CACHED_TEMPLATES = 1000;

/** The steps of parsing an expression: for each expression, and for each character of it. */
const PARSING = { expression: 32, character: 2 } as const;

/** Loads the code of the filters that these values mention, before their evaluation. Returns undefined for none. */
export function loadFilters(...values: readonly (Json | undefined)[]): Promise<unknown> | undefined {
  return values.some(mentionsJsonFilter) ? loadQueryJson() : undefined;
}

/**
 * Returns the result of an expression. A source that is exactly one `{{ … }}` returns a value with its own type, any
 * other source a string.
 */
export function evaluateExpression(source: string, scope: Scope, options: EvaluateOptions): Json {
  const tools = toolsFor(options);
  spendParsing(source, tools, 'the expression takes too much work');
  return evaluateTemplate(templateOf(source), scope, tools);
}

/**
 * Returns whether an expression is `{{ data | stringify }}`, however spaced. Throws `ExpressionError` for a source that
 * does not match the grammar.
 */
export function isStringifiedData(source: string): boolean {
  const [output, ...others] = templateOf(source);
  if (typeof output !== 'object' || others.length > 0) return false;
  const { operand, calls } = output;
  const isData = operand.kind === 'path' && operand.root === 'data' && operand.keys.length === 0;
  return isData && calls.length === 1 && calls[0]?.name === 'stringify';
}

/** Returns the result of one output. All filters share the budget `work`. */
export function applyFilters(output: Output, data: Json, work: WorkBudget): Json {
  return evaluateTemplate([output], { data }, toolsFor({ work }));
}

/**
 * Returns the masked form of `scope.data`. Evaluates strings at every depth; other values are constants. Omits a member
 * or an item whose expression returns null, because the data has nothing to show there (decisions §3). Returns
 * undefined if the whole mask is such an expression. Throws an `ExpressionError` whose `path` leads to the failed
 * string.
 */
export function evaluateMask(mask: Json, scope: Scope, options: Pick<EvaluateOptions, 'work'>): Json | undefined {
  const tools = toolsFor(options);
  let size = 0;
  return mapMask(mask, (source) => {
    spendParsing(source, tools, 'the mask has too many expressions');
    const value = evaluateTemplate(templateOf(source), scope, tools);
    size += outputSize(value);
    if (size > MAX_OUTPUT)
      throw new ExpressionError('the results of all expressions in a mask are limited to 64 KiB in total', 0);
    return value;
  });
}

/**
 * Checks the strings of a mask at every depth, without evaluating them. Throws for a string that fails outside of `id`
 * for all data. Only a fingerprint expression may read metadata (`readsMetadata`).
 */
export function checkExpressions(mask: Json, readsMetadata: boolean): void {
  mapMask(mask, (source) => {
    checkTemplate(templateOf(source), readsMetadata);
    return null;
  });
}

function toolsFor({ random, work }: EvaluateOptions): FilterTools {
  return { spend: work.spend, random, queryJson: loadQueryJson.loaded };
}

/** Returns whether a mask may use the `json` filter. A false positive only loads unneeded code. */
function mentionsJsonFilter(mask: Json | undefined): boolean {
  if (typeof mask === 'string') return /\|\s*json/.test(mask);
  if (isJsonArray(mask)) return mask.some(mentionsJsonFilter);
  return isJsonObject(mask) && Object.values(mask).some(mentionsJsonFilter);
}

/** Spends the steps of parsing, also when the template is known: the cache must not decide which expressions fail. */
function spendParsing(source: string, tools: FilterTools, reason: string): void {
  try {
    tools.spend(PARSING.expression + PARSING.character * source.length);
  } catch (error) {
    if (error instanceof FilterFailure) throw new ExpressionError(reason, 0);
    throw error;
  }
}

/** Maps the strings of a mask. `path` leads to `mask`; it is unchanged when the function returns. */
function mapMask(mask: Json, evaluate: (source: string) => Json, path: (string | number)[] = []): Json | undefined {
  if (typeof mask === 'string') {
    // Parse a string with a tag, too: it must be rejected, not printed.
    if (!mask.includes('{{') && !mask.includes('{%')) return mask;
    try {
      return evaluate(mask) ?? undefined;
    } catch (error) {
      if (error instanceof ExpressionError) throw new ExpressionError(error.reason, error.position, path.join('.'));
      throw error;
    }
  }
  if (isJsonArray(mask)) {
    const items: Json[] = [];
    for (const [index, item] of mask.entries()) {
      path.push(index);
      const masked = mapMask(item, evaluate, path);
      path.pop();
      if (masked !== undefined) items.push(masked);
    }
    return items;
  }
  if (!isJsonObject(mask)) return mask;
  const members = new Map<string, Json>();
  for (const name of memberNames(mask)) {
    path.push(name);
    const masked = mapMask(mask[name] ?? null, evaluate, path);
    path.pop();
    if (masked !== undefined) members.set(name, masked);
  }
  return objectOfMembers(members);
}

const templates = new Map<string, Template>();

/** Returns the parsed template of a source from a cache. A full cache drops its oldest template. */
function templateOf(source: string): Template {
  const known = templates.get(source);
  if (known !== undefined) return known;
  const template = parseTemplate(source);
  const [oldest] = templates.size >= CACHED_TEMPLATES ? templates.keys() : [];
  if (oldest !== undefined) templates.delete(oldest);
  templates.set(source, template);
  return template;
}
