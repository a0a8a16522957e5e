import type { AuthorityScan } from './ports.ts';
import type { RecordChange } from './record-digest.ts';

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
