import { type AuditEvent, decodeWitness, encodeAuditRow, type TimedEvent } from '../../src/core/audit/audit-event.ts';
import type { Witness } from '../../src/core/audit/ports.ts';
import { encodeDigest } from '../../src/core/audit/record-digest.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';

const SUM = encodeDigest(1n);

interface Forged {
  readonly row: (witness: Witness, tenant_id: string) => string;
  /** What the vault reports, and what test/users/verify-log.py does. */
  readonly what: readonly [vault: RegExp, program: RegExp];
}

/** Rows that only a holder of the key, or a faulty version of the vault, can write. */
export const FORGED: Readonly<Record<string, Forged>> = {
  'another digest': {
    row: (witness, tenant_id) => encodeAuditRow(witness, accept(tenant_id), 1n),
    what: [/contradicts the entries before it/, /another digest/],
  },
  'a change of authority without a digest': {
    row: (witness, tenant_id) => encodeAuditRow(witness, accept(tenant_id)),
    what: [/changes authority, but has no digest/, /has no digest/],
  },
  'a digest without a change of authority': {
    row: (witness) => encodeAuditRow(witness, [event({})], 1n),
    what: [/has a digest, but changes no authority/, /has no digest/],
  },
  'a reset of other tokens': {
    row: (witness, tenant_id) =>
      encodeAuditRow(witness, [event({ action: 'resetTokens', tenant_id, entities: [SUM] })]),
    what: [/was emptied of other tokens/, /other tokens/],
  },
  'a witness with another row of authority': {
    row: ({ authority, ...witness }) => encodeAuditRow({ ...witness, authority: authority - 1 }, [event({})]),
    what: [/names row \d+, which is not the last change of authority/, /another witness/],
  },
};

function event(members: Partial<AuditEvent>): TimedEvent {
  return { at: 0, event: { action: 'exportTokens', status: 200, entities: [], ...members } };
}

function accept(tenant_id: string): readonly TimedEvent[] {
  return [event({ action: 'acceptTenant', tenant_id, entities: [SUM, SUM] })];
}

/** Appends a row to the log of a file, sealed with its key and linked. Its witness is the last row. */
export async function appendForged(file: string, credential: Credential, { row }: Pick<Forged, 'row'>): Promise<void> {
  const opened = await openFileForKeyHolder({ file, credential });
  const { store, keyring } = opened;
  const { sequence, at, link } = await store.auditHead();
  const [last] = await store.readAudit(sequence - 1, 1);
  const { witness, digest } = decodeWitness(keyring.openAuditEvent(at, last?.sealed ?? new Uint8Array()));
  const tenant = await store.findTenant((await store.listTenantIds())[0] ?? '');
  const authority = digest === undefined ? witness.authority : sequence;
  const sealed = keyring.sealAuditEvent(0, row({ sequence, link, authority }, tenant?.tenant.id ?? ''));
  await store.appendAudit([{ at: 0, witness: { sequence, link }, sealed }]);
  await opened.close();
}

/** A row without a fault, as a control. */
export const HONEST: Pick<Forged, 'row'> = { row: (witness) => encodeAuditRow(witness, [event({})]) };
