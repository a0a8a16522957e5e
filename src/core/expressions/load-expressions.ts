import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { loadedOnce } from '../loaded-once.ts';
import type { Random } from '../ports.ts';
import { evaluateMask } from './evaluate-mask.ts';
import { checkTemplate, evaluateTemplate } from './evaluate-template.ts';
import { ExpressionError } from './expression-error.ts';
import type { FilterTools } from './filter.ts';
import { FilterFailure } from './filter-failure.ts';
import { createWorkBudget, MAX_OUTPUT, outputSize, type WorkBudget } from './limits.ts';
import { type Liquid, parseTemplate } from './parse-template.ts';
import { loadQueryJson } from './query-json.ts';
import type { Scope, Template } from './template.ts';

/**
 * Evaluates expressions (decisions §4). All failures are `ExpressionError`: syntax, filters and arguments are checked
 * before anything is evaluated, and nothing is ever passed on unmasked because a filter failed.
 */
export interface Expressions {
  /**
   * A source that is exactly one `{{ … }}` gives the value with its own type, any other a string. Random filters fail
   * unless `random` is given, which only `id` does.
   */
  evaluate(source: string, scope: Scope, options?: EvaluateOptions): Promise<Json>;
  /** The masked form of `scope.data`; undefined when the mask renders to nothing. The error's `path` leads to the string that failed. */
  evaluateMask(mask: Json, scope: Scope, options?: Pick<EvaluateOptions, 'work'>): Promise<Json | undefined>;
  /**
   * Throws for a string, at any depth, that is broken whatever the data is, outside of `id`. Evaluates nothing. Only a
   * fingerprint reads metadata.
   */
  check(mask: Json, options?: { readonly readsMetadata?: boolean }): void;
}

export interface EvaluateOptions {
  readonly random?: Random | undefined;
  /** What all that are given it may spend together; one for this evaluation alone when absent. */
  readonly work?: WorkBudget | undefined;
}

/** Each at most 1 KiB of text. */
const CACHED_TEMPLATES = 1000;

/** What parsing costs, in units of work. */
const PARSING = 256;

/** The only door to liquidjs, which is loaded at the first knock. */
export const loadExpressions = loadedOnce(async () => createExpressions(await import('liquidjs')));

function createExpressions(liquid: Liquid): Expressions {
  const templates = createTemplateCache((source) => parseTemplate(liquid, source));
  async function toolsFor(mask: Json, { random, work = createWorkBudget() }: EvaluateOptions): Promise<FilterTools> {
    const queryJson = mentionsJsonFilter(mask) ? await loadQueryJson() : undefined;
    return { spend: work.spend, random, queryJson };
  }

  return {
    async evaluate(source, scope, options = {}) {
      const tools = await toolsFor(source, options);
      return evaluateTemplate(templates(source), scope, tools);
    },
    check(mask, { readsMetadata = false } = {}) {
      evaluateMask(mask, (source) => {
        checkTemplate(templates(source), readsMetadata);
        return null;
      });
    },
    async evaluateMask(mask, scope, options = {}) {
      const tools = await toolsFor(mask, options);
      let size = 0;
      return evaluateMask(mask, (source) => {
        spendParsing(tools);
        const value = evaluateTemplate(templates(source), scope, tools);
        size += outputSize(value);
        if (size > MAX_OUTPUT) throw new ExpressionError('the expressions of a mask give at most 64 KiB together', 0);
        return value;
      });
    },
  };
}

function spendParsing(tools: FilterTools): void {
  try {
    tools.spend(PARSING);
  } catch (error) {
    if (error instanceof FilterFailure) throw new ExpressionError('the mask has too many expressions', 0);
    throw error;
  }
}

/** Asked before parsing, so that everything after it is synchronous; a false yes only loads what is not needed. */
function mentionsJsonFilter(mask: Json): boolean {
  if (typeof mask === 'string') return /\|\s*json/.test(mask);
  if (isJsonArray(mask)) return mask.some(mentionsJsonFilter);
  return isJsonObject(mask) && Object.values(mask).some(mentionsJsonFilter);
}

/** Forgets the template that was used longest ago. */
function createTemplateCache(parse: (source: string) => Template): (source: string) => Template {
  const templates = new Map<string, Template>();
  return (source) => {
    const template = templates.get(source) ?? parse(source);
    templates.delete(source);
    templates.set(source, template);
    if (templates.size > CACHED_TEMPLATES) {
      for (const oldest of templates.keys()) {
        templates.delete(oldest);
        break;
      }
    }
    return template;
  };
}
