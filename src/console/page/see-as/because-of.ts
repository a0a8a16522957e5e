import type { ExplainedGrant, ExplainedPermission } from '../../../contract/explanation.ts';

/** Returns the reason for a permission in two or three words. */
export function becauseOf({ own, creator, allowed }: ExplainedPermission): string {
  if (creator !== undefined && own.source !== 'nothing' && creator.transform !== own.transform) {
    return `its creator: ${sourceOf(creator)}`;
  }
  const source = sourceOf(own);
  return allowed || own.source === 'nothing' ? source : `${source} does not cover every container`;
}

function sourceOf({ source, rules }: ExplainedGrant): string {
  if (source === 'permission') return 'plain permission';
  const governing = rules.find(({ outcome }) => outcome === 'governs');
  return governing === undefined ? 'no grant' : `rule ${governing.priority}`;
}
