import type { FaultCode } from '../../contract/faults.ts';
import type { ProblemCode } from '../../contract/problems.ts';
import { isError } from '../../core/fault.ts';
import { Problem } from '../../core/problem.ts';

/** An error of PostgreSQL or a connection, without its message and details: they may quote stored values. */
export class PgError extends Error {
  /** The SQLSTATE, or the code of a socket or certificate error; `LOST` for errors of the driver, which have none. */
  readonly code: string;
  /** The table of a violated constraint. */
  readonly table: string | undefined;

  constructor(code: string, table?: string) {
    super(`PostgreSQL or its connection failed: ${code}`);
    this.name = 'PgError';
    this.code = code;
    this.table = table;
  }
}

/** The SQLSTATE of a missing privilege. */
export const NOT_ALLOWED = '42501';

/** Returns the error without its message. */
export function toPgError(error: unknown): PgError {
  if (error instanceof PgError) return error;
  const { code, table } = isError(error) ? { code: undefined, table: undefined, ...error } : {};
  return new PgError(typeof code === 'string' ? code : 'LOST', typeof table === 'string' ? table : undefined);
}

/** The reaction of the store to an error, before the caller receives the problem. */
export interface Treatment {
  /**
   * - `reconnect`: the connection is lost. Repeat reads on a new one; find out whether writes were committed.
   * - `again`: nothing was written. Repeat after growing pauses.
   * - `behind`: the database lacks an entry that this process knew. Nothing was written.
   * - `new_hosts`: the server became read-only. Drop all connections and try the hosts again.
   */
  readonly reaction: 'reconnect' | 'again' | 'behind' | 'new_hosts' | 'fail';
  readonly problem: ProblemCode;
  /** The fault of a command that cannot connect. */
  readonly fault: FaultCode;
  /** Replaces the detail of the problem. */
  readonly detail?: string;
}

const INSECURE: Treatment = { reaction: 'fail', problem: 'vault_busy', fault: 'store_insecure' };
const LOST: Treatment = { reaction: 'reconnect', problem: 'vault_busy', fault: 'store_unreachable' };
const BUSY: Treatment = { reaction: 'again', problem: 'vault_busy', fault: 'store_unreachable' };
const DAMAGED: Treatment = { reaction: 'fail', problem: 'integrity_failure', fault: 'damaged' };
const REFUSED: Treatment = { reaction: 'fail', problem: 'vault_busy', fault: 'store_refused' };
const UNEXPECTED: Treatment = { reaction: 'fail', problem: 'internal_error', fault: 'store_refused' };

/** By the code of the error; the first match counts. */
const TREATMENTS: readonly (readonly [RegExp, Treatment])[] = [
  // Certificates: Node and OpenSSL.
  [/^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_)/, INSECURE],
  // Connections: 25P03, 25P04 and 57P05 are timeouts that end the session.
  [/^(E[A-Z_]+|LOST|08...|57P0[1235]|25P0[34])$/, LOST],
  [/^53300$/, { ...BUSY, detail: 'The database accepts no more connections; try again.' }],
  [/^(40...|55P03|57014)$/, BUSY],
  [/^(53200|53400)$/, { ...BUSY, reaction: 'fail' }],
  [/^25006$/, { ...BUSY, reaction: 'new_hosts' }],
  [/^53100$/, { reaction: 'fail', problem: 'no_space', fault: 'no_space' }],
  // Only `requireWitness` takes a logarithm.
  [/^2201E$/, { reaction: 'behind', problem: 'write_conflict', fault: 'store_refused' }],
  [/^22012$/, { reaction: 'fail', problem: 'vault_moved', fault: 'store_missing' }],
  // 2200H and 22003: a sequence or a counter was set to its maximum.
  [/^(XX00[12]|2200H|22003)$/, DAMAGED],
  // 57P04: the database was dropped.
  [/^(28...|3D000|57P04|42501)$/, REFUSED],
];

/** Returns the treatment of an error of a read or a write. Only `lockHead` divides by zero (22012). */
export function treatmentOf({ code, table }: PgError, use: 'read' | 'write'): Treatment {
  // Another process has written a reply under the same idempotency key, or a token with the same id. The next attempt
  // finds it.
  if (code === '23505' && (table === 'reply' || table === 'token')) return BUSY;
  // A live token has no tombstone, so a second one is damage.
  if (code === '23505' && table === 'tombstone') return DAMAGED;
  // A stored value that a statement cannot convert.
  if (use === 'read' && code.startsWith('22')) return DAMAGED;
  return TREATMENTS.find(([pattern]) => pattern.test(code))?.[1] ?? UNEXPECTED;
}

/** Returns the problem for the caller, after `reaction` has failed. */
export function toProblem(error: PgError, use: 'read' | 'write'): Problem {
  const treatment = treatmentOf(error, use);
  const { problem } = treatment;
  const detail = treatment === REFUSED ? refusalOf(error) : treatment.detail;
  const isTemporary = problem === 'vault_busy' || problem === 'no_space';
  return new Problem(problem, { cause: error, ...(isTemporary && { retryAfter: 1 }), ...(detail && { detail }) });
}

function refusalOf({ code }: PgError): string {
  return code === NOT_ALLOWED
    ? `The role of the vault lacks a right to its tables (SQLSTATE ${code}); \`vault doctor\` names it.`
    : `The database refuses the vault (SQLSTATE ${code}).`;
}
