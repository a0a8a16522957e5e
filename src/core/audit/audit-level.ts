/** How much is written to the audit. Mutations always are: their entries stand in the transaction of the change. */
export const AUDIT_LEVELS = {
  mutations: 'changes only',
  reveal: 'changes, denials, and reads that show plaintext',
  all: 'every call of a known application',
} as const;

export type AuditLevel = keyof typeof AUDIT_LEVELS;

/** What a call that changed nothing was. */
export type ReadKind = 'denied' | 'revealed' | 'other';

const WRITTEN = {
  mutations: [],
  reveal: ['denied', 'revealed'],
  all: ['denied', 'revealed', 'other'],
} as const satisfies Record<AuditLevel, readonly ReadKind[]>;

export function isAudited(level: AuditLevel, kind: ReadKind): boolean {
  const written: readonly ReadKind[] = WRITTEN[level];
  return written.includes(kind);
}
