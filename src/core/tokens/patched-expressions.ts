import type { Json } from '../../contract/json.ts';
import { MAX_DEFINITION } from '../../contract/limits.ts';
import type { UpdateToken } from '../../contract/token.ts';
import { isLonger } from '../bytes.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { stringifyJson } from '../json/stringify.ts';
import { invalid, Problem } from '../problem.ts';
import type { PatchedExpressions } from './derive.ts';
import type { TokenDefinition, TokenDetails } from './token-codec.ts';

/** The members whose expressions read the stored data, for the masked form, the fingerprint and the blind indexes. */
export const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression'] as const;

type Sent = Pick<UpdateToken, (typeof EXPRESSIONS)[number] | 'metadata'>;

/**
 * Returns how a patch treats the token's expressions (decisions §6). For a caller that cannot read the token, each may
 * fail, because its failure would reveal data. For others, only those may that failed before and that the patch does
 * not set.
 */
export function patchedExpressions(body: Sent, stored: TokenDefinition, unread: boolean): PatchedExpressions {
  const isSet = (path: string) => EXPRESSIONS.some((member) => body[member] !== undefined && path.startsWith(member));
  const failedBefore = (path: string) => stored.without_result?.includes(path) === true;
  return {
    unread,
    mayFail: (path) => unread || (failedBefore(path) && !isSet(path)),
    orderOf: (path) => (isSet(path) ? 1 : failedBefore(path) ? 2 : 0),
  };
}

/**
 * Returns a function that rethrows an error of a patch. It completes the messages about expressions that the patch did
 * not contain: they name the stored expression.
 */
export function namingStored(body: Sent, definition: TokenDefinition) {
  return (error: unknown): never => {
    if (!(error instanceof Problem) || error.errors === undefined) throw error;
    const named = Object.entries(error.errors).map(([path, messages]) => {
      const [source, sent] = [stringAt(expressionsOf(definition), path), stringAt(expressionsOf(body), path)];
      if (source === undefined || sent !== undefined) return [path, messages];
      return [path, messages.map((message) => `the stored expression ${source} fails after this patch: ${message}`)];
    });
    throw new Problem(error.code, { errors: Object.fromEntries(named) });
  };
}

function expressionsOf({ mask, search_indexes, fingerprint_expression }: Sent | TokenDefinition): Json {
  return {
    mask: mask ?? null,
    search_indexes: search_indexes ?? null,
    fingerprint_expression: fingerprint_expression ?? null,
  };
}

/** Returns the string at a dotted path of a value. Names of members may contain dots. */
function stringAt(value: Json | undefined, path: string): string | undefined {
  if (typeof value === 'string') return path === '' ? value : undefined;
  if (!isJsonArray(value) && !isJsonObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const isBelow = path.startsWith(`${name}.`);
    if (path !== name && !isBelow) continue;
    const found = stringAt(member, isBelow ? path.slice(name.length + 1) : '');
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Throws 400 when the mask, the expressions and the metadata together are too large. The limit does not depend on the
 * data, so it applies to callers that cannot read the token, too.
 */
export function checkDefinitionSize(
  body: Sent,
  { mask, search_indexes, fingerprint_expression }: TokenDefinition,
  metadata: TokenDetails['metadata'],
): void {
  // The schemas keep the other members below the limit, so only a mask that a request sets can exceed it.
  const member = (['mask', 'metadata', ...EXPRESSIONS] as const).find((each) => body[each] !== undefined);
  if (mask === undefined || member === undefined) return;
  const text = stringifyJson([mask, search_indexes ?? [], fingerprint_expression, metadata ?? {}]);
  if (!isLonger(text, MAX_DEFINITION)) return;
  throw invalid(member, 'is too large: mask, expressions and metadata together must be at most 1 MiB');
}
