import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import { type Schema, UUID } from '../../contract/schema.ts';
import { Problem } from '../problem.ts';
import { parseInstant } from '../time.ts';

/** The members that change with each change of a record. Another value shows that the caller read an older record. */
const OF_LAST_CHANGE: readonly string[] = ['modified_at', 'modified_by'];

/** The members that stand for those of the last change in a record that was never changed. */
const CREATION: Readonly<Record<string, string>> = { modified_at: 'created_at', modified_by: 'created_by' };

type Members = Readonly<Record<string, unknown>>;

/**
 * Compares the read-only members of an update's body with the stored record, in the form that replies have. Throws
 * `invalid_request` for members that differ, and `write_conflict` when only those of the last change differ (decisions
 * §1). The last change of a record that was never changed is its creation. In a merge patch, null equals an absent
 * member.
 */
export function checkReadOnly(id: OperationId, sent: Members, stored: Members): void {
  const { body }: Operation = OPERATIONS[id];
  const differing = Object.entries(body?.properties ?? {})
    .filter(
      ([name, schema]) => schema.readOnly && sent[name] !== undefined && !isCurrent(name, schema, sent[name], stored),
    )
    .map(([name]) => name);
  const isStale = differing.some((name) => OF_LAST_CHANGE.includes(name));
  // The change that the caller has not seen may have changed the fingerprint, too.
  const movable = isStale ? [...OF_LAST_CHANGE, 'fingerprint'] : OF_LAST_CHANGE;
  const fixed = differing.filter((name) => !movable.includes(name));
  if (fixed.length > 0) throw new Problem('invalid_request', { errors: errorsOf(fixed, 'cannot be changed') });
  if (differing.length === 0) return;
  throw new Problem('write_conflict', {
    detail: 'The record changed since it was read; read it again.',
    errors: errorsOf(differing, 'changed since it was read'),
  });
}

/** Returns whether a sent value is that of the record. */
function isCurrent(name: string, schema: Schema, sent: unknown, stored: Members): boolean {
  if (isSame(schema, sent, stored[name])) return true;
  const creation = stored[CREATION[name] ?? ''];
  return stored[name] === undefined && creation !== undefined && isSame(schema, sent, creation);
}

function errorsOf(names: readonly string[], message: string) {
  return Object.fromEntries(names.map((name) => [name, [message]]));
}

/**
 * Returns whether a value equals the stored one. Clients print times and UUIDs in their own form, so compares times as
 * instants and UUIDs without case.
 */
function isSame({ format, pattern }: Schema, sent: unknown, stored: unknown): boolean {
  if (typeof sent !== 'string' || typeof stored !== 'string') return (sent ?? undefined) === stored;
  if (format === 'date-time' && HAS_OFFSET.test(sent)) return parseInstant(sent) === parseInstant(stored);
  return sent === stored || (pattern === UUID && sent.toLowerCase() === stored.toLowerCase());
}

/** `Date.parse` reads a time without an offset in the time zone of the machine. */
const HAS_OFFSET = /(?:Z|[+-]\d\d:\d\d)$/;
