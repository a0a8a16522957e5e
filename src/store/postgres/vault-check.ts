import { Problem } from '../../core/problem.ts';
import type { Run } from './connections.ts';
import { PgError } from './pg-error.ts';
import { FORMAT } from './schema.ts';
import type { Statement } from './sql-client.ts';

const CHECK: Statement = {
  name: 'checkVault',
  text: `SELECT f.format, f.serves_from, h.vault_id, pg_is_in_recovery(), current_setting('transaction_read_only')
    FROM vault.format f LEFT JOIN vault.header h ON true`,
};

/** The codes of a missing schema, table or column. */
const MISSING = ['3F000', '42P01', '42703'];

/** The state of the vault in a schema, for this version of the code. */
export type VaultState = 'missing' | 'moved' | 'outdated' | 'newer' | 'current';

export interface FoundVault {
  readonly state: VaultState;
  /** Absent if the schema has no vault. */
  readonly vaultId?: string;
  /** Absent if the schema has no vault. */
  readonly format?: number;
  /** Whether the server refuses writes. */
  readonly isReadOnly: boolean;
}

/** Resolves to the state of the vault in the schema. */
export async function findVault(run: Run): Promise<FoundVault> {
  try {
    const [row = []] = await run(CHECK);
    const [format, servesFrom, vaultId, isStandby, readOnly] = row;
    const isReadOnly = isStandby !== false || readOnly !== 'off';
    if (typeof format !== 'number' || typeof servesFrom !== 'number' || typeof vaultId !== 'string') {
      return { state: 'missing', isReadOnly };
    }
    return { state: stateOf(format, servesFrom), vaultId, format, isReadOnly };
  } catch (error) {
    if (error instanceof PgError && MISSING.includes(error.code)) return { state: 'missing', isReadOnly: false };
    throw error;
  }
}

function stateOf(format: number, servesFrom: number): VaultState {
  if (format < 0) return 'moved';
  if (format < FORMAT.format) return 'outdated';
  return servesFrom > FORMAT.format ? 'newer' : 'current';
}

/** Throws `vault_moved` unless the schema contains the vault, in a format that this code serves. */
export function requireVault({ state, vaultId }: FoundVault, expected: string): void {
  if (state !== 'current' || vaultId !== expected) throw new Problem('vault_moved', { retryAfter: 1 });
}
