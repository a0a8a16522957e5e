import { MAX_REACH, type ReachPart } from '../../contract/explanation.ts';
import { type GovernedPart, governedParts } from '../access/governed-parts.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import type { Instant } from '../ports.ts';
import { runSteps } from '../steps.ts';
import { findPage } from '../tokens/find-page.ts';
import { askedGrants } from './asked-grants.ts';

/**
 * Counts the tokens that an application can read, by the rule that governs them (design of the console, §7). Opens
 * tokens only for rules that compare a part of a container's segment. Each count runs in its own tick of the event
 * loop.
 */
export const measureReach: Handler<'measureReach'> = async ({ body }, caller, context) => {
  const grants = await askedGrants(body, caller, context);
  const parts = governedParts(grants, 'token:read', caller.tenant.keyring);
  const now = context.clock.cutoff();
  const counted: ReachPart[] = [];
  for (const part of parts) {
    await caller.work.own();
    counted.push(present(part, await countTokens(part, now, caller, context)));
  }
  return { reach: merged(counted) };
};

/** Resolves to the number of tokens of a part, or to a number above `MAX_REACH` if there are more. */
async function countTokens(
  { all, isExact, has }: GovernedPart,
  now: Instant,
  caller: Caller,
  context: Context,
): Promise<number> {
  if (all === undefined) return 0;
  const { record, keyring } = caller.tenant;
  const sought = { filter: { tenant_id: record.id, all }, now, keyring, isExact, reaches: has, work: caller.work };
  const { total } = await runSteps(findPage(sought, { offset: 0, limit: 0 }, context, MAX_REACH));
  return total;
}

function present({ rule, transform }: GovernedPart, tokens: number): ReachPart {
  const source = rule !== undefined ? 'rule' : transform === undefined ? 'nothing' : 'permission';
  return { source, ...(rule && { priority: rule.priority }), ...(transform && { transform }), tokens, capped: false };
}

/**
 * Returns one row for each rule and transform, with the sum of its parts. Keeps one row for a rule that governs no
 * token.
 */
function merged(parts: readonly ReachPart[]): readonly ReachPart[] {
  const sums = new Map<string, ReachPart>();
  for (const part of parts) {
    const name = `${part.priority} ${part.transform}`;
    sums.set(name, { ...part, tokens: part.tokens + (sums.get(name)?.tokens ?? 0) });
  }
  const rows = [...sums.values()];
  return rows
    .filter((row, index) => {
      const others = rows.filter(({ priority }) => priority === row.priority);
      return row.tokens > 0 || (others.every(({ tokens }) => tokens === 0) && rows.indexOf(others[0] ?? row) === index);
    })
    .map((row) => ({ ...row, tokens: Math.min(row.tokens, MAX_REACH), capped: row.tokens > MAX_REACH }));
}
