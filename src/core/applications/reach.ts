import { MAX_REACH, type ReachPart } from '../../contract/reach.ts';
import { type GovernedPart, governedParts } from '../access/governed-parts.ts';
import type { Caller, Handler, World } from '../handler.ts';
import { createLines } from '../in-line.ts';
import { ownTurn } from '../own-turn.ts';
import type { Instant } from '../ports.ts';
import { Problem } from '../problem.ts';
import { runningTime } from '../running-time.ts';
import { findPage } from '../tokens/find-page.ts';
import { askedGrants } from './asked-grants.ts';

/** The maximum time of a measurement. With many conditions, counting many tokens would take hours. */
const MAX_MEASURE_MS = 20_000;

const TOO_LONG = 'Counting took longer than 20 seconds; use fewer conditions.';

const inLine = createLines();

/**
 * Counts the tokens that an application can read, by the rule that governs them (design of the console, §7). Opens
 * tokens only for rules that compare a part of a container's segment. Each count runs in its own turn of the event
 * loop.
 */
export const measureReach: Handler<'measureReach'> = async ({ body }, caller, world) => {
  const grants = await askedGrants(body, caller, world);
  const parts = governedParts(grants, 'token:read', caller.tenant.keyring);
  return inLine(caller.application.record.id, async () => {
    const now = world.clock.cutoff();
    const endsAt = runningTime() + MAX_MEASURE_MS;
    const onTurn = () => {
      if (runningTime() > endsAt) throw new Problem('vault_busy', { detail: TOO_LONG });
    };
    const counted: ReachPart[] = [];
    for (const part of parts) {
      await ownTurn();
      onTurn();
      counted.push(present(part, await countTokens(part, onTurn, now, caller, world)));
    }
    return { reach: merged(counted) };
  });
};

/** Resolves to the number of tokens of a part, or to a number above `MAX_REACH` if there are more. */
async function countTokens(
  { all, isExact, has }: GovernedPart,
  onTurn: () => void,
  now: Instant,
  caller: Caller,
  world: World,
): Promise<number> {
  if (all === undefined) return 0;
  const { record, keyring } = caller.tenant;
  const sought = { filter: { tenant_id: record.id, all }, now, keyring, isExact, reaches: has, onTurn };
  const { total } = await findPage(sought, { offset: 0, limit: 0 }, world, MAX_REACH);
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
