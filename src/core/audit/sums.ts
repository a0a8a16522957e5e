import { isSameBytes } from '../bytes.ts';
import type { Instant, Keyring } from '../ports.ts';
import { isDamage } from '../problem.ts';
import type { AuditEvent } from './audit-event.ts';
import { START } from './audit-link.ts';
import type { AuditEntry, AuditHead, AuditReads } from './ports.ts';
import {
  addDigests,
  changesOf,
  decodeDigest,
  digestOf,
  encodeDigest,
  isOfAuthority,
  removesTenant,
} from './record-digest.ts';
import { BrokenAudit, type PositionedEvent } from './walk-audit.ts';

/** The sums of the hashes of a tenant's records: of authority; of its tokens and their tombstones. */
export interface TenantSums {
  readonly authority: bigint;
  readonly tokens: bigint;
}

/** An entry that contradicts the entries before it. `tenant_id` is absent for the header. */
export interface Contradiction {
  readonly sequence: number;
  readonly tenant_id?: string | undefined;
}

/** What the entries up to a row say about the records. */
export interface LogState {
  /** The mark of the header; empty before its first entry. */
  readonly header: string;
  /** The last row of authority; 0 without one. */
  readonly authority: number;
  readonly tenants: ReadonlyMap<string, TenantSums>;
}

export const NO_RECORDS: LogState = { header: '', authority: 0, tenants: new Map() };

export const NO_SUMS: TenantSums = { authority: 0n, tokens: 0n };

type HashKeys = Pick<Keyring, 'recordHash'>;

/** Returns the digest of all records of authority. */
export function digestOfState(keyring: HashKeys, { header, tenants }: LogState): bigint {
  const named = { table: 'header', tenant_id: '', id: header, from: 0, to: 1 } as const;
  const own = header === '' ? 0n : digestOf(keyring, named);
  return [...tenants.values()].reduce((sum, { authority }) => addDigests(sum, authority), own);
}

/** Adds up the entries of a log, in order. Needs memory for each tenant, but not for their records. */
export type Sums = ReturnType<typeof createSums>;

export function createSums(keyring: HashKeys, from: LogState = NO_RECORDS) {
  const tenants = new Map(from.tenants);
  let { header, authority } = from;
  let contradictions: readonly Contradiction[] = [];

  function add(tenantId: string, name: keyof TenantSums, added: bigint): void {
    const sums = tenants.get(tenantId) ?? NO_SUMS;
    tenants.set(tenantId, { ...sums, [name]: addDigests(sums[name], added) });
  }

  function contradict(found: Contradiction): void {
    contradictions = [...contradictions, found];
  }

  function applyRecords(event: AuditEvent, sequence: number): void {
    for (const change of changesOf(event)) {
      if (change.table === 'header') {
        if (change.to === 1) header = change.id;
        else if (change.id !== header) contradict({ sequence });
        continue;
      }
      const isToken = change.table === 'token' || change.table === 'tombstone';
      add(change.tenant_id, isToken ? 'tokens' : 'authority', digestOf(keyring, change));
    }
  }

  return {
    apply({ event, sequence }: Pick<PositionedEvent, 'event' | 'sequence'>): void {
      const { action, tenant_id = '', entities } = event;
      if (isOfAuthority(event)) authority = sequence;
      if (removesTenant(event)) {
        tenants.delete(tenant_id);
        return;
      }
      if (action === 'resetTokens') {
        const { tokens } = tenants.get(tenant_id) ?? NO_SUMS;
        if (decodeDigest(entities[0] ?? '') !== tokens) contradict({ sequence, tenant_id });
        add(tenant_id, 'tokens', -tokens);
        return;
      }
      if (action === 'acceptTenant') {
        const [authority = 0n, tokens = 0n] = entities.map(decodeDigest);
        // Without a record of authority, there is no tenant.
        if (authority === 0n) tenants.delete(tenant_id);
        else tenants.set(tenant_id, { authority, tokens });
        contradictions = contradictions.filter((one) => one.tenant_id !== tenant_id);
        return;
      }
      applyRecords(event, sequence);
    },

    state: (): LogState => ({ header, authority, tenants }),
    sumsOf: (tenantId: string): TenantSums => tenants.get(tenantId) ?? NO_SUMS,
    contradictions: () => contradictions,
  };
}

/** Returns the text of a state, a line each: the header and the row of authority; then each tenant with its sums. */
export function encodeState({ header, authority, tenants }: LogState): string {
  const lines = [...tenants].map(([id, sums]) => `${id} ${encodeDigest(sums.authority)} ${encodeDigest(sums.tokens)}`);
  return [`${authority} ${header}`, ...lines].join('\n');
}

export function decodeState(text: string): LogState {
  const [first = '', ...lines] = text.split('\n');
  const [authority, header = ''] = first.split(' ');
  const tenants = lines.map((line): [string, TenantSums] => {
    const [id = '', sum = '', tokens = ''] = line.split(' ');
    return [id, { authority: decodeDigest(sum), tokens: decodeDigest(tokens) }];
  });
  return { header, authority: Number(authority), tenants: new Map(tenants) };
}

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
