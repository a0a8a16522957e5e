import type { Keyring } from '../ports.ts';
import { type AuditEvent, changeOf } from './audit-event.ts';
import type { AuthorityScan, RecordChange } from './ports.ts';

/** The ids of a new tenant's keys: one for its data, one for its indexes. */
const FIRST_KEYS = ['1', '2'] as const;

/** Returns whether an event changes the header, a tenant, an application or a key. Its row then has a digest. */
export function isOfAuthority(event: AuditEvent): boolean {
  const [table] = changeOf(event) ?? [];
  return (table !== undefined && table !== 'token') || event.action === 'acceptTenant';
}

/** Returns whether an event removes a tenant with all its records. */
export function removesTenant(event: AuditEvent): boolean {
  const [table, change] = changeOf(event) ?? [];
  return table === 'tenant' && change === 'remove';
}

/** Returns the part of a header's MAC that the audit keeps: its first 16 bytes, base64url. */
export function headerMark(mac: Uint8Array): string {
  return Buffer.from(mac.subarray(0, 16)).toString('base64url');
}

/** Returns the changes of an event. Events that remove all records of a kind have none. */
export function changesOf(event: AuditEvent): readonly RecordChange[] {
  const { action, tenant_id = '', entities, revision = 0, ended = [] } = event;
  const [table, change] = changeOf(event) ?? [];
  if (table === 'header') {
    const [next = '', before] = entities;
    const changed = { table, tenant_id: '' };
    const ends = before === undefined ? [] : [{ ...changed, id: before, from: 1, to: 0 }];
    return [...ends, { ...changed, id: next, from: 0, to: 1 }];
  }
  if (table === undefined || removesTenant(event)) return [];
  if (table === 'tenant') return [{ table, tenant_id, id: tenant_id, from: revision - 1, to: revision }];
  if (table === 'tenant_key') {
    // A key has no revisions: it is created once and removed once.
    const isNew = change === 'upsert';
    return [{ table, tenant_id, id: String(revision), from: isNew ? 0 : 1, to: isNew ? 1 : 0 }];
  }
  const named = entities.flatMap((id, n): RecordChange[] => {
    const record = { table, tenant_id, id };
    if (change === 'upsert') return [{ ...record, from: revision - 1, to: revision }];
    const removed = { ...record, from: ended[n] ?? 0, to: 0 };
    // The id of a token stays taken.
    return table === 'token' ? [removed, { ...record, table: 'tombstone', from: 0, to: 1 }] : [removed];
  });
  if (action !== 'createTenant') return named;
  const keys = FIRST_KEYS.map((id): RecordChange => ({ table: 'tenant_key', tenant_id, id, from: 0, to: 1 }));
  return [{ table: 'tenant', tenant_id, id: tenant_id, from: 0, to: 1 }, ...keys, ...named];
}

/** Returns what a change adds to the digest. */
export function digestOf(keyring: Pick<Keyring, 'recordHash'>, change: RecordChange): bigint {
  const { table, tenant_id, id, from, to } = change;
  const hashAt = (revision: number) => (revision === 0 ? 0n : keyring.recordHash({ table, tenant_id, id, revision }));
  return from === 0 ? hashAt(to) : addDigests(hashAt(to), -hashAt(from));
}

const BYTES = 16;
const BITS = 8 * BYTES;

/** Returns the sum of two digests. A digest is a sum, modulo 2^128, of keyed hashes of records. */
export function addDigests(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(BITS, a + b);
}

/** Returns 22 characters of base64url. */
export function encodeDigest(digest: bigint): string {
  return Buffer.from(digest.toString(16).padStart(2 * BYTES, '0'), 'hex').toString('base64url');
}

export function decodeDigest(text: string): bigint {
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
}

/** Yields the records of authority of all tenants, each as a change from nothing. */
export function* authorityRecords({ tenants, applications, keys }: AuthorityScan): Generator<RecordChange> {
  for (const { id, revision, keys: own } of tenants) {
    yield { table: 'tenant', tenant_id: id, id, from: 0, to: revision };
    for (const key of own) yield { table: 'tenant_key', tenant_id: id, id: String(key), from: 0, to: 1 };
  }
  for (const { tenant_id, id, revision } of applications) {
    yield { table: 'application', tenant_id, id, from: 0, to: revision };
  }
  for (const { tenant_id, id, revision } of keys) {
    yield { table: 'application_key', tenant_id, id, from: 0, to: revision };
  }
}
