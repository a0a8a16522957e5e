import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { memberNames, objectOfMembers } from '../json/member-names.ts';
import type { Random } from '../ports.ts';
import { checkTemplate, evaluateTemplate, type Scope } from './evaluate-template.ts';
import { ExpressionError, FilterFailure } from './expression-error.ts';
import type { FilterTools } from './filter.ts';
import { createWorkBudget, MAX_OUTPUT, outputSize, type WorkBudget } from './limits.ts';
import { type Output, parseTemplate, type Template } from './parse-template.ts';
import { loadQueryJson } from './query-json.ts';

/*
 * Expressions (decisions §4). All failures are `ExpressionError`: syntax, filters and arguments are checked before anything
 * is evaluated, and nothing is ever passed on unmasked because a filter failed.
 */

export interface EvaluateOptions {
  /** Without it random filters fail: only `id` gives it. */
  readonly random?: Random | undefined;
  /** The work that all evaluations given it may spend together; when absent, one for this evaluation. */
  readonly work?: WorkBudget | undefined;
}

/** Each at most 1 KiB of text. */
const CACHED_TEMPLATES = 1000;

/** The cost of parsing, in units of work. */
const PARSING = 256;

/** Loads the code of filters that these values mention. Evaluating them needs it. */
export async function loadFilters(...values: readonly (Json | undefined)[]): Promise<void> {
  if (values.some(mentionsJsonFilter)) await loadQueryJson();
}

/** A source that is exactly one `{{ … }}` gives the value with its own type, any other a string. */
export function evaluateExpression(source: string, scope: Scope, options: EvaluateOptions = {}): Json {
  return evaluateTemplate(templateOf(source), scope, toolsFor(options));
}

/** Evaluates one output. Filters of one budget share their work. */
export function applyFilters(output: Output, data: Json, work: WorkBudget): Json {
  return evaluateTemplate([output], { data }, toolsFor({ work }));
}

/**
 * The masked form of `scope.data`: strings are evaluated at every depth, other values are constants. A member or an item
 * whose expression gives null is left out, since the data has nothing to show there (decisions §3); undefined when that is
 * the mask itself. The error's `path` leads to the string that failed.
 */
export function evaluateMask(mask: Json, scope: Scope, options: Pick<EvaluateOptions, 'work'> = {}): Json | undefined {
  const tools = toolsFor(options);
  let size = 0;
  return mapMask(mask, (source) => {
    spendParsing(tools);
    const value = evaluateTemplate(templateOf(source), scope, tools);
    size += outputSize(value);
    if (size > MAX_OUTPUT) throw new ExpressionError('the expressions of a mask give at most 64 KiB together', 0);
    return value;
  });
}

/**
 * Throws for a string, at any depth, that is broken whatever the data is, outside of `id`. Evaluates nothing. Only a
 * fingerprint reads metadata.
 */
export function checkExpressions(mask: Json, readsMetadata: boolean): void {
  mapMask(mask, (source) => {
    checkTemplate(templateOf(source), readsMetadata);
    return null;
  });
}

function toolsFor({ random, work = createWorkBudget() }: EvaluateOptions): FilterTools {
  return { spend: work.spend, random, queryJson: loadQueryJson.loaded };
}

/** A false yes only loads what is not needed. */
function mentionsJsonFilter(mask: Json | undefined): boolean {
  if (typeof mask === 'string') return /\|\s*json/.test(mask);
  if (isJsonArray(mask)) return mask.some(mentionsJsonFilter);
  return isJsonObject(mask) && Object.values(mask).some(mentionsJsonFilter);
}

function spendParsing(tools: FilterTools): void {
  try {
    tools.spend(PARSING);
  } catch (error) {
    if (error instanceof FilterFailure) throw new ExpressionError('the mask has too many expressions', 0);
    throw error;
  }
}

/** Evaluates one string of a mask. */
type EvaluateText = (source: string) => Json;

function mapMask(mask: Json, evaluate: EvaluateText, path: readonly (string | number)[] = []): Json | undefined {
  if (typeof mask === 'string') {
    // A tag alone counts too: it is refused, not shown.
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
      const masked = mapMask(item, evaluate, [...path, index]);
      if (masked !== undefined) items.push(masked);
    }
    return items;
  }
  if (!isJsonObject(mask)) return mask;
  const members = new Map<string, Json>();
  for (const name of memberNames(mask)) {
    const masked = mapMask(mask[name] ?? null, evaluate, [...path, name]);
    if (masked !== undefined) members.set(name, masked);
  }
  return objectOfMembers(members);
}

const templates = new Map<string, Template>();

/** Forgets the template that was used longest ago. */
function templateOf(source: string): Template {
  const template = templates.get(source) ?? parseTemplate(source);
  templates.delete(source);
  templates.set(source, template);
  const [oldest] = templates.size > CACHED_TEMPLATES ? templates.keys() : [];
  if (oldest !== undefined) templates.delete(oldest);
  return template;
}
