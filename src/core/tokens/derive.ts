import type { Json } from '../../contract/json.ts';
import type { UpdateToken } from '../../contract/token.ts';
import type { TokenType } from '../../contract/token-types.ts';
import {
  checkExpressions,
  evaluateExpression,
  evaluateMask,
  isStringifiedData,
  loadFilters,
} from '../expressions/expressions.ts';
import { budgetFor, createWorkBudget, ExpressionError, UNREAD_WORK, type WorkBudget } from '../expressions/limits.ts';
import { canonicalJson, printValue, stringifyJson } from '../json/stringify.ts';
import type { TenantKeyring } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import type { Work } from '../work.ts';
import { containerIndexes, joinNames, metadataIndexes, searchIndexes } from './indexes.ts';
import { DEFAULT_FINGERPRINT, type TokenDefinition, type TokenDetails } from './token-codec.ts';

type UnderivedToken = Omit<TokenDetails, 'fingerprint' | 'searched'> & {
  readonly type: TokenType;
  readonly data: Json;
  /** The JSON text of `data`. */
  readonly dataText: string;
  readonly definition: TokenDefinition;
};

/** How a patch treats the expressions of a token (decisions §6). */
export interface PatchedExpressions {
  /** Whether the caller cannot read the token. Its expressions have a smaller budget. */
  readonly unread: boolean;
  /** Whether the expression at a path may fail: it is then stored without its result. */
  readonly mayFail: (path: string) => boolean;
  /** The position of an expression in the order of evaluation. Expensive ones must not use up the budget of others. */
  readonly orderOf: (path: string) => number;
}

interface DeriveOptions {
  /** Absent for writes that are no patch: no expression may fail, except those of `without_result`. */
  readonly patched?: PatchedExpressions;
  /** The work of the call. Absent for changes by the holder of the key. */
  readonly work?: Work | undefined;
  /** The budget of the expressions, which others may share. Default: the budget for the data. */
  readonly budget?: WorkBudget;
}

/** Loads the code of the filters and resolves to the result of `deriveNow`. Rejects with the errors of `deriveNow`. */
export async function derive(keyring: TenantKeyring, token: UnderivedToken, options: DeriveOptions = {}) {
  const { mask, search_indexes, fingerprint_expression } = token.definition;
  await loadFilters(mask, search_indexes, fingerprint_expression);
  const slice = options.work?.next();
  if (slice !== undefined) await slice;
  return deriveNow(keyring, token, options);
}

/**
 * Returns the values that each write derives from a token. Throws `invalid_request` with the member and the position of
 * a failing expression (decisions §4). Expressions of `without_result` are not evaluated: they have no result, and a
 * fingerprint expression among them is replaced by the default.
 */
export function deriveNow(keyring: TenantKeyring, token: UnderivedToken, options: DeriveOptions = {}) {
  const { type, data, dataText, containers, metadata, expires_at, definition } = token;
  const { search_indexes = [] } = definition;
  const { values, failed } = evaluateDefinition(token, options);
  const masked = values.get('mask');
  const search_values = search_indexes.flatMap(
    (_, index) => (values.get(searchPath(index)) as string | undefined) ?? [],
  );
  const result = values.get('fingerprint_expression') as string | undefined;
  const source = result === undefined ? 'data' : 'expression';
  // The JSON text of a primitive is canonical.
  const text = result ?? (typeof data === 'object' ? canonicalJson(data) : dataText);
  const fingerprint = keyring.fingerprint(type, source, text);
  const searched = searchIndexes(keyring, search_values);
  return {
    contents: {
      data: dataText,
      masked: masked === undefined ? undefined : stringifyJson(masked),
      details: { containers, metadata, fingerprint, expires_at, searched: joinNames(searched) },
      definition: withoutResult(definition, failed),
    },
    indexes: {
      fingerprint: keyring.blindIndex('fingerprint', fingerprint),
      containers: containerIndexes(keyring, containers),
      others: [...metadataIndexes(keyring, metadata), ...searched],
      former: keyring.formerIndexKeys.map((key) => key.blindIndex('fingerprint', key.fingerprint(type, source, text))),
    },
    /** The unencrypted texts behind the fingerprint and the search indexes. */
    foundBy: { fingerprinted: text, search_values },
  };
}

/** Returns the results of a token's expressions by path, and the paths of those without a result. Throws as `deriveNow`. */
export function evaluateDefinition(
  { data, dataText, metadata, definition }: Pick<UnderivedToken, 'data' | 'dataText' | 'metadata' | 'definition'>,
  { patched, work: call, budget: shared }: DeriveOptions = {},
) {
  const { mask, search_indexes = [], fingerprint_expression, without_result = [] } = definition;

  // All expressions share one budget, because each evaluation blocks other calls and a token may have a dozen
  // expressions.
  const work = patched?.unread ? createWorkBudget(UNREAD_WORK) : (shared ?? budgetFor(dataText, call?.steps));
  const evaluations: Evaluation[] = [];
  if (mask !== undefined) evaluations.push(['mask', () => evaluateMask(mask, { data }, { work })]);
  // Do not evaluate the default, however spaced: the data may exceed the output limit of expressions.
  if (fingerprint_expression !== DEFAULT_FINGERPRINT) {
    evaluations.push([
      'fingerprint_expression',
      () => {
        if (isStringifiedData(fingerprint_expression)) return undefined;
        const value = evaluateExpression(fingerprint_expression, { data, metadata: metadata ?? {} }, { work });
        if (value === null) throw invalid('fingerprint_expression', 'must not have an empty result');
        return printValue(value);
      },
    ]);
  }
  for (const [index, source] of search_indexes.entries()) {
    const path = searchPath(index);
    evaluations.push([
      path,
      () => {
        const text = printValue(evaluateExpression(source, { data }, { work }));
        if (text === '') throw invalid(path, 'must not have an empty result');
        return text;
      },
    ]);
  }
  return evaluateAll(evaluations, without_result, patched);
}

type Evaluation = readonly [path: string, evaluate: () => Json | undefined];

function searchPath(index: number): string {
  return `search_indexes.${index}`;
}

/** Returns the results by path, and the paths of the expressions without a result. */
function evaluateAll(evaluations: readonly Evaluation[], skipped: readonly string[], patched?: PatchedExpressions) {
  const values = new Map<string, Json | undefined>();
  const failed: string[] = [];
  const ordered = patched ? evaluations.toSorted(([a], [b]) => patched.orderOf(a) - patched.orderOf(b)) : evaluations;
  for (const [path, evaluate] of ordered) {
    if (skipped.includes(path)) {
      failed.push(path);
      continue;
    }
    try {
      values.set(path, naming(path, evaluate));
    } catch (error) {
      if (!patched?.mayFail(path) || !(error instanceof Problem)) throw error;
      failed.push(path);
    }
  }
  return { values, failed };
}

/** Returns a definition with the paths of its failed expressions. */
function withoutResult(definition: TokenDefinition, failed: readonly string[]): TokenDefinition {
  if (failed.length === 0 && definition.without_result === undefined) return definition;
  return { ...definition, without_result: failed.length === 0 ? undefined : failed.toSorted() };
}

/** Throws `invalid_request` for expressions that fail for all data because of their syntax, filters or references. */
export function checkSyntax(sent: Pick<UpdateToken, 'mask' | 'search_indexes' | 'fingerprint_expression'>): void {
  for (const member of ['mask', 'search_indexes', 'fingerprint_expression'] as const) {
    const source = sent[member];
    if (source === undefined || source === null) continue;
    naming(member, () => checkExpressions(source, member === 'fingerprint_expression'));
  }
}

/**
 * Returns the result of an evaluation. Converts an `ExpressionError` into `invalid_request` for the expression's
 * member.
 */
export function naming<T>(member: string, evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const path = error.path === '' ? member : `${member}.${error.path}`;
    // The position belongs to the fault, before a hint such as `; did you mean …?`.
    throw invalid(path, error.reason.replace(/(?=;|$)/, ` at character ${error.position + 1}`));
  }
}
