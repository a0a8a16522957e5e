import type { Json } from '../../contract/json.ts';
import type { UpdateToken } from '../../contract/token.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { ExpressionError } from '../expressions/expression-error.ts';
import { checkExpressions, evaluateExpression, evaluateMask, loadFilters } from '../expressions/expressions.ts';
import { budgetFor, createWorkBudget, UNREAD_WORK, type WorkBudget } from '../expressions/limits.ts';
import { printValue } from '../expressions/print-value.ts';
import { stringifyJson } from '../json/stringify.ts';
import { nextTurn } from '../own-turn.ts';
import type { TenantKeyring } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { containerIndexes, otherIndexes } from './indexes.ts';
import { DEFAULT_FINGERPRINT, type TokenDefinition, type TokenDetails } from './token-codec.ts';

type UnderivedToken = Omit<TokenDetails, 'fingerprint'> & {
  readonly type: TokenType;
  readonly data: Json;
  /** The JSON text of `data`. */
  readonly dataText: string;
  readonly definition: TokenDefinition;
};

interface DeriveOptions {
  /** Whether the caller cannot read the token. */
  readonly unread?: boolean;
  /** The line of the caller for `nextTurn`. */
  readonly line?: string;
  /** The budget of the expressions, which others may share. Default: the budget for the data. */
  readonly work?: WorkBudget;
}

/** Loads the code of the filters and resolves to the result of `deriveNow`. Rejects with the errors of `deriveNow`. */
export async function derive(keyring: TenantKeyring, token: UnderivedToken, options: DeriveOptions = {}) {
  const { mask, search_indexes, fingerprint_expression } = token.definition;
  await loadFilters(mask, search_indexes, fingerprint_expression);
  const turn = nextTurn(options.line);
  if (turn !== undefined) await turn;
  return deriveNow(keyring, token, options);
}

/**
 * Returns the values that each write derives from a token. Throws `invalid_request` with the member and the position of
 * a failing expression (decisions §4). `unread` is for a caller that cannot read the token: the function then removes
 * the expressions that fail on the token's data, and replaces a failing fingerprint expression with the default.
 */
export function deriveNow(keyring: TenantKeyring, token: UnderivedToken, { unread, work: shared }: DeriveOptions = {}) {
  const { type, data, dataText, containers, metadata, expires_at, definition } = token;
  const { mask, search_indexes = [], fingerprint_expression } = definition;

  // All expressions share one budget, because each evaluation blocks other calls and a token may have a dozen
  // expressions.
  const work = unread ? createWorkBudget(UNREAD_WORK) : (shared ?? budgetFor(dataText));
  const failed = new Set<string>();
  function evaluated<T>(path: string, evaluate: () => T): T | undefined {
    try {
      return naming(path, evaluate);
    } catch (error) {
      if (!unread || !(error instanceof Problem)) throw error;
      failed.add(path);
      return undefined;
    }
  }
  const masked = mask === undefined ? undefined : evaluated('mask', () => evaluateMask(mask, { data }, { work }));
  // Do not evaluate the default: the data may exceed the output limit of expressions.
  const fingerprinted =
    fingerprint_expression === DEFAULT_FINGERPRINT
      ? data
      : (evaluated('fingerprint_expression', () => {
          const scope = { data, metadata: metadata ?? {} };
          const value = evaluateExpression(fingerprint_expression, scope, { work });
          if (value === null) throw invalid('fingerprint_expression', 'must not have an empty result');
          return value;
        }) ?? data);
  const search_values: string[] = [];
  for (const [index, source] of search_indexes.entries()) {
    const path = `search_indexes.${index}`;
    const value = evaluated(path, () => {
      const text = printValue(evaluateExpression(source, { data }, { work }));
      if (text === '') throw invalid(path, 'must not have an empty result');
      return text;
    });
    if (value !== undefined) search_values.push(value);
  }
  const text = fingerprinted === data && typeof data !== 'string' ? dataText : printValue(fingerprinted);
  const fingerprint = keyring.fingerprint(type, text);
  return {
    contents: {
      data: dataText,
      masked: masked === undefined ? undefined : stringifyJson(masked),
      details: { containers, metadata, fingerprint, expires_at },
      definition: failed.size === 0 ? definition : withoutFailed(definition, failed),
    },
    indexes: {
      fingerprint: keyring.blindIndex('fingerprint', fingerprint),
      containers: containerIndexes(keyring, containers),
      others: otherIndexes(keyring, metadata, search_values),
      former: keyring.formerIndexKeys.map((key) => key.blindIndex('fingerprint', key.fingerprint(type, text))),
    },
    /** The unencrypted texts behind the fingerprint and the search indexes. */
    foundBy: { fingerprinted: text, search_values },
  };
}

/**
 * Returns a definition without its failed expressions: a rotation evaluates the stored expressions again, so none may
 * fail then.
 */
function withoutFailed(definition: TokenDefinition, failed: ReadonlySet<string>): TokenDefinition {
  const { mask, search_indexes, fingerprint_expression } = definition;
  return {
    mask: failed.has('mask') ? undefined : mask,
    search_indexes: search_indexes?.filter((_, index) => !failed.has(`search_indexes.${index}`)),
    fingerprint_expression: failed.has('fingerprint_expression') ? DEFAULT_FINGERPRINT : fingerprint_expression,
  };
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
    throw invalid(path, `${error.reason} at character ${error.position + 1}`);
  }
}
