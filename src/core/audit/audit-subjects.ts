/** A record, as the log index names it: the caller of an entry, or a record that it names. */
export interface AuditSubject {
  readonly kind: 'actor' | 'entity';
  readonly tenant_id: string;
  readonly id: string;
}
