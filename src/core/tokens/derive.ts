import type { Json } from '../../contract/json.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { ExpressionError } from '../expressions/expression-error.ts';
import { createWorkBudget } from '../expressions/limits.ts';
import { loadExpressions } from '../expressions/load-expressions.ts';
import type { Scope } from '../expressions/template.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { TenantKeyring } from '../ports.ts';
import { invalid } from '../problem.ts';
import { DEFAULT_FINGERPRINT, type TokenDefinition } from './opened-token.ts';

/** What a token's data and definition make: computed when it is written, never when it is read. */
export interface Derived {
  /** The JSON text of the masked form; undefined when there is no mask or it renders to nothing. */
  readonly masked?: string | undefined;
  readonly fingerprint: string;
  /** The blind indexes of the fingerprint under older index keys, while a rotation goes on. */
  readonly former: readonly Uint8Array[];
  readonly search_values: readonly string[];
}

/** Throws `invalid_request` naming the member and the position of a broken expression (decisions §4). */
export async function derive(
  keyring: TenantKeyring,
  token: {
    readonly type: TokenType;
    readonly data: Json;
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    readonly definition: TokenDefinition;
  },
): Promise<Derived> {
  const { type, data, metadata = {}, definition } = token;
  const { mask, search_indexes = [], fingerprint_expression } = definition;

  // One for all: each takes its time of everybody's, and a token may have a dozen.
  const work = createWorkBudget();
  const evaluate = async (source: string, scope: Scope) => (await loadExpressions()).evaluate(source, scope, { work });

  const masked = await naming('mask', async () =>
    mask === undefined ? undefined : (await loadExpressions()).evaluateMask(mask, { data }, { work }),
  );
  // The default is not held to the limit of an expression's output: data may be larger.
  const fingerprinted =
    fingerprint_expression === DEFAULT_FINGERPRINT
      ? data
      : await naming('fingerprint_expression', () => evaluate(fingerprint_expression, { data, metadata }));
  if (fingerprinted === null) throw invalid('fingerprint_expression', 'must not render to nothing');
  const search_values: string[] = [];
  for (const [index, source] of search_indexes.entries()) {
    const path = `search_indexes.${index}`;
    const value = textOf(await naming(path, () => evaluate(source, { data })));
    if (value === '') throw invalid(path, 'must not render to nothing');
    search_values.push(value);
  }
  const text = textOf(fingerprinted);
  return {
    masked: masked === undefined ? undefined : stringifyJson(masked),
    fingerprint: keyring.fingerprint(type, text),
    former: keyring.formerIndexKeys.map((key) => key.blindIndex('fingerprint', key.fingerprint(type, text))),
    search_values,
  };
}

/** Throws `invalid_request` for expressions that are broken whatever the data is: their syntax, their filters, what they refer to. */
export async function checkSyntax(sent: {
  readonly mask?: Json | undefined;
  readonly search_indexes?: readonly string[] | null | undefined;
  readonly fingerprint_expression?: string | null | undefined;
}): Promise<void> {
  for (const member of ['mask', 'search_indexes', 'fingerprint_expression'] as const) {
    const source = sent[member];
    if (source === undefined || source === null) continue;
    const readsMetadata = member === 'fingerprint_expression';
    await naming(member, async () => (await loadExpressions()).check(source, { readsMetadata }));
  }
}

/** Runs an evaluation; its failure becomes the problem of the member that the expression stands in. */
export async function naming<T>(member: string, evaluate: () => Promise<T>): Promise<T> {
  try {
    return await evaluate();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const path = error.path === '' ? member : `${member}.${error.path}`;
    throw invalid(path, `${error.reason} at character ${error.position + 1}`);
  }
}

/** A value as `stringify` has it: a string stays itself, nothing is the empty string. */
function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : stringifyJson(value);
}
