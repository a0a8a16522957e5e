import { isSameBytes } from '../is-bytes.ts';
import type { Instant, Keyring } from '../ports.ts';
import { isDamage } from '../problem.ts';
import { START } from './audit-link.ts';
import type { AuditEntry, AuditHead, AuditReads } from './ports.ts';
import { decodeState, encodeState, type LogState, NO_RECORDS } from './sums.ts';
import { BrokenAudit } from './walk-audit.ts';

/**
 * The first row of a log: what the entries up to it said about the records. A prune moves it forward. The base of a new
 * vault is the row 0, which has no text.
 */
export interface Base extends AuditHead {
  readonly state: LogState;
  /** The time of the latest removed event; 0 without one. */
  readonly latest: Instant;
  /** The SHA-256, in hex, of the archive that contains the row; empty for the row 0. */
  readonly archive: string;
}

const HEADING = 'base 1';

export interface BaseParts {
  readonly store: Pick<AuditReads, 'readAudit'>;
  readonly keyring: Pick<Keyring, 'openAuditBase'>;
}

/** Resolves to the base of a log. Rejects with `BrokenAudit`. */
export async function readBase({ store, keyring }: BaseParts): Promise<Base> {
  const [row] = await store.readAudit(-1, 1);
  if (row === undefined) throw new BrokenAudit(START, 'is missing');
  return openBase(keyring, row);
}

function openBase(keyring: BaseParts['keyring'], row: AuditEntry): Base {
  if (row.sequence === 0) {
    // No key seals the row 0, and no link includes it.
    const isFirst = row.at === 0 && row.sealed.length === 0 && isSameBytes(row.link, START.link);
    if (!isFirst) throw new BrokenAudit(row, 'was altered');
    return { ...START, state: NO_RECORDS, latest: 0, archive: '' };
  }
  try {
    const [, latest, archive = '', ...state] = keyring.openAuditBase(row).split('\n');
    return { ...row, latest: Number(latest), archive, state: decodeState(state.join('\n')) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new BrokenAudit(row, 'is not the base of the audit: rows before it are missing');
  }
}

/**
 * Returns a row as a base, with this text:
 *
 *     base 1
 *     <time of the latest removed event>
 *     <SHA-256 of the archive, hex>
 *     <state, from `encodeState`>
 */
export function sealBase(
  keyring: Pick<Keyring, 'sealAuditBase'>,
  { sequence, at, link }: Omit<AuditEntry, 'sealed'>,
  { latest, archive, state }: Omit<Base, keyof AuditHead>,
): AuditEntry {
  const text = [HEADING, latest, archive, encodeState(state)].join('\n');
  return { sequence, at, link, sealed: keyring.sealAuditBase({ sequence, at, link }, text) };
}
