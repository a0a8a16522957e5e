import type { JsonObject } from '../../contract/json.ts';
import { Problem } from '../../core/problem.ts';
import { checkSyntax } from '../../core/tokens/derive.ts';
import { parseExpiresAt } from '../../core/tokens/expires-at.ts';
import type { MemberPath } from './check-schema.ts';

/** The members of a token that hold expressions. */
const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression'] as const;

/**
 * Tells of expressions that are broken whatever the data is, and of times in no known format. Whether a time is past only the
 * vault's clock knows. The engine is loaded for a token that has expressions.
 */
export async function checkExpressions(
  token: JsonObject,
  add: (path: MemberPath, message: string) => void,
): Promise<void> {
  for (const member of EXPRESSIONS) {
    if (token[member] !== undefined) await telling(add, () => checkSyntax({ [member]: token[member] }));
  }
  const { expires_at } = token;
  if (typeof expires_at === 'string') await telling(add, async () => void parseExpiresAt(expires_at, -Infinity));
}

async function telling(add: (path: MemberPath, message: string) => void, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    for (const [path, messages] of Object.entries(error.errors ?? {})) {
      for (const message of messages) add(path.split('.').map(stepOf), message);
    }
  }
}

/** A step of a dotted path: the place in a list is a number. */
export const stepOf = (word: string): string | number => (/^\d+$/.test(word) ? Number(word) : word);
