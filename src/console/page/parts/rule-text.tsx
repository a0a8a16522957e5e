import type { AccessRule } from '../../../client/create-client.ts';
import { Sees } from './pieces.tsx';

/** A rule in one line: where, how it shows data, and what it is for. */
export function RuleText({
  rule: { container, conditions = [], transform, description },
}: {
  readonly rule: AccessRule;
}) {
  const where = container ?? conditions.map((each) => `${each.attribute} ${each.operator} ${each.value}`).join(' and ');
  return (
    <>
      <code>{where}</code> <Sees as={transform} /> <i>{description}</i>
    </>
  );
}
