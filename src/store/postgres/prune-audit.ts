import { Fault } from '../../core/fault.ts';
import type { Maintenance } from '../../core/maintenance-ports.ts';
import type { Connections } from './connections.ts';
import { PgError } from './pg-error.ts';
import type { Statement } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

const PRUNE: Statement = { text: 'DELETE FROM vault.audit WHERE chain = $1 AND sequence BETWEEN $2 AND $3' };
const PRUNE_INDEXES: readonly Statement[] = ['audit_subject', 'audit_index'].map((table) => ({
  text: `DELETE FROM vault.${table} WHERE chain = $1 AND sequence BETWEEN $2 AND $3 AND blind = ANY ($4::uuid[])`,
}));
/** Ends the log index at the last row of the chain if it ended later. */
const SHORTEN_LOG: Statement = {
  text: `UPDATE vault.chain SET logged = least(logged,
      (SELECT coalesce(max(sequence), 0) FROM vault.audit WHERE chain = $1)) WHERE chain = $1`,
};

/** The SQLSTATE of a missing privilege. */
const NOT_ALLOWED = '42501';

/**
 * Returns the method that removes rows of the audit. Rejects with the fault `store_refused` if the role neither owns the
 * tables nor has the privilege DELETE.
 */
export function pruneMethods({ change }: Connections): Pick<Maintenance, 'pruneAudit'> {
  return {
    pruneAudit: (chain, first, last, blinds) =>
      change(async ({ run }) => {
        const texts = blinds.map(blindText);
        await Promise.all([
          ...PRUNE_INDEXES.map((statement) => run(statement, [chain, first, last, texts])),
          run(PRUNE, [chain, first, last]),
          run(SHORTEN_LOG, [chain]),
        ]);
      }).catch((error: unknown) => {
        const isRefused = error instanceof Error && error.cause instanceof PgError && error.cause.code === NOT_ALLOWED;
        if (!isRefused) throw error;
        throw new Fault('store_refused', 'the role of the database may not remove entries of the audit', {
          hint: 'run `vault audit prune` as the owner of the tables; it completes this prune',
          cause: error,
        });
      }),
  };
}
