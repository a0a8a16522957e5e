import type { Maintenance } from '../../core/maintenance-ports.ts';
import type { Connections } from './connections.ts';
import type { Statement } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

/** Row 0 of a chain other than the root holds the link before its first row, so it stays. */
const PRUNE: Statement = {
  text: 'DELETE FROM vault.audit WHERE chain = $1 AND sequence BETWEEN 1 AND $2',
};
const PRUNE_INDEXES: readonly Statement[] = ['audit_subject', 'audit_index'].map((table) => ({
  text: `DELETE FROM vault.${table} WHERE chain = $1 AND sequence <= $2 AND blind = ANY ($3::uuid[])`,
}));

/** Returns the method that removes rows of the audit. The role must own the tables or have the privilege DELETE. */
export function pruneMethods({ change }: Connections): Pick<Maintenance, 'pruneAudit'> {
  return {
    pruneAudit: (chain, through, blinds) =>
      change(async ({ run }) => {
        const texts = blinds.map(blindText);
        await Promise.all([
          ...PRUNE_INDEXES.map((statement) => run(statement, [chain, through, texts])),
          run(PRUNE, [chain, through]),
        ]);
      }),
  };
}
