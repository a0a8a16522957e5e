/** A node of a plan, as `EXPLAIN (FORMAT JSON)` prints it. The actual numbers need `ANALYZE`. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Returns the nodes of a plan, as `EXPLAIN` returned it in its only column. */
export function nodesIn(plans: unknown): readonly PlanNode[] {
  const [plan] = plans as readonly { readonly Plan: PlanNode }[];
  return plan === undefined ? [] : nodesOf(plan.Plan);
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Returns the number of rows and index entries that a scan visited. */
export function visitsOf(node: PlanNode): number {
  const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0, 'Rows Removed by Filter': removed = 0 } = node;
  // PostgreSQL 18 rounds the rows of a loop to hundredths.
  return Math.round((rows + removed + (node['Rows Removed by Index Recheck'] ?? 0)) * loops);
}
