/**
 * The levels of the audit and the calls that each level records. Changes are always recorded, in their own transaction.
 */
export const AUDIT_LEVELS = {
  mutations: 'changes only',
  reveal: 'changes, denials, and reads that show plaintext',
  all: 'every call of a known application',
} as const;

export type AuditLevel = keyof typeof AUDIT_LEVELS;

export const DEFAULT_AUDIT_LEVEL: AuditLevel = 'reveal';

/** The kinds of calls without a change. */
export type ReadKind = 'denied' | 'revealed' | 'other';

/** The kinds that each level records. */
export const RECORDED_READS: Readonly<Record<AuditLevel, readonly ReadKind[]>> = {
  mutations: [],
  reveal: ['denied', 'revealed'],
  all: ['denied', 'revealed', 'other'],
};

/** Returns whether a status is a denial. 429 counts, too: it may stop an attempt to learn unreadable data. */
export function isDenied(status: number): boolean {
  return status === 403 || status === 429;
}
