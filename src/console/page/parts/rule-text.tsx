import type { AccessRule } from '../../../client/create-client.ts';
import { Sees } from './pieces.tsx';

/** Shows a rule in one line: its containers or conditions, its transform and its description. */
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
