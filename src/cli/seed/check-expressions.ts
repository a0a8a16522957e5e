import type { JsonObject } from '../../contract/json.ts';
import { checkSyntax } from '../../core/tokens/derive.ts';
import { parseExpiresAt } from '../../core/tokens/expires-at.ts';
import { type AddFlaw, addRefused } from './member-flaws.ts';

/** The members of a token that hold expressions. */
const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression'] as const;

/**
 * Tells of expressions that are broken whatever the data is, and of times in no known format. Whether a time is past only the
 * vault's clock knows. The engine is loaded for a token that has expressions. A member that `isTold` of has another form.
 */
export async function checkExpressions(
  token: JsonObject,
  add: AddFlaw,
  isTold: (member: string) => boolean,
): Promise<void> {
  for (const member of EXPRESSIONS) {
    if (token[member] !== undefined && !isTold(member))
      await addRefused(add, () => checkSyntax({ [member]: token[member] }));
  }
  const { expires_at } = token;
  if (typeof expires_at === 'string' && !isTold('expires_at'))
    await addRefused(add, () => parseExpiresAt(expires_at, -Infinity));
}
