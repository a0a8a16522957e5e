import type { World } from '../handler.ts';
import type { Store } from '../ports.ts';
import { Problem } from '../problem.ts';
import { type AuditEvent, changeOf } from './audit-event.ts';
import { type AuditSubject, subjectsOf } from './audit-subjects.ts';
import { openKeptPlace } from './checkpoint.ts';
import { problemOf } from './walk-audit.ts';

type Parts = Pick<World, 'store' | 'keyring' | 'clock'>;
type Kind = Exclude<AuditSubject['kind'], 'actor' | 'entity' | 'prune'>;

/** The identity and the revision of a row, as read. */
interface Row {
  readonly tenant_id: string;
  readonly id: string;
  readonly revision: number;
}

type Reread = (store: Store, row: Row, now: number) => Promise<Pick<Row, 'revision'> | undefined>;

const REREAD: Readonly<Record<Kind, Reread>> = {
  tenant: async (store, { id }) => (await store.findTenant(id))?.tenant,
  application: (store, { tenant_id, id }, now) => store.findApplication(tenant_id, id, now),
  token: (store, { tenant_id, id }, now) => store.findToken(tenant_id, id, now),
};

/**
 * Resolves to whether a row matches the last audit entry that changed it; to false when the row has changed since it
 * was read. Rejects with `integrity_failure` for a row that was restored from an older copy of the file: such a row
 * opens, but its revision differs from the audit, or the audit records its removal.
 */
export async function isAudited(parts: Parts, kind: Kind, row: Row): Promise<boolean> {
  // A prune may remove the row that the index names. A later row then has the state of the record, so search again.
  const event = await lastChange(parts, kind, row).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'integrity_failure') return lastChange(parts, kind, row);
    throw error;
  });
  if (event?.revision === row.revision && changeOf(event)?.[1] === 'upsert') return true;
  const now = await REREAD[kind](parts.store, row, parts.clock.cutoff());
  if (now?.revision !== row.revision) return false;
  throw new Problem('integrity_failure', { cause: new Error(`the ${kind} ${row.id} was restored from an older copy`) });
}

/**
 * Checks a row that was read. Rejects with `write_conflict` when the row has changed since; the call is then repeated.
 * Rejects with `integrity_failure` for a restored row.
 */
export async function requireAudited(parts: Parts, kind: Kind, row: Row): Promise<void> {
  if (!(await isAudited(parts, kind, row))) throw new Problem('write_conflict');
}

/** Resolves to the event of a row's last change. */
async function lastChange(parts: Parts, kind: Kind, { tenant_id, id }: Row): Promise<AuditEvent | undefined> {
  const ids = kind === 'tenant' ? [''] : [id, ''];
  const blinds = ids.map((one) => parts.keyring.auditSubject({ kind, tenant_id, id: one }));
  const isAbout = (event: AuditEvent) =>
    subjectsOf(event, tenant_id).some((one) => {
      return one.kind === kind && one.tenant_id === tenant_id && ids.includes(one.id);
    });
  const event = await lastAbout(parts, blinds);
  if (event !== undefined && !isAbout(event)) throw new Problem('integrity_failure');
  return event;
}

/**
 * Resolves to the last event about a subject. An event that keeps the state of records counts as one at the row whose
 * state it keeps.
 */
async function lastAbout(parts: Parts, blinds: readonly Uint8Array[]): Promise<AuditEvent | undefined> {
  let last: { readonly event: AuditEvent; readonly sequence: number } | undefined;
  for (let before = Number.MAX_SAFE_INTEGER; before > (last?.sequence ?? 0); ) {
    const place = await parts.store.findAudited(blinds, before);
    if (place === undefined || place.sequence <= (last?.sequence ?? 0)) break;
    // Check the link of the row, because an index row proves nothing.
    const event = await openKeptPlace(parts, place).catch((error: unknown) => {
      throw problemOf(error);
    });
    const { as_of: sequence = place.sequence } = event;
    if (sequence > (last?.sequence ?? 0)) last = { event, sequence };
    // An earlier row may be about a later state.
    before = place.sequence - 1;
  }
  return last?.event;
}
