import { type AuditFacts, OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import type { Instant } from '../ports.ts';
import type { EndedRecord, Witness } from './ports.ts';
import { decodeDigest, encodeDigest } from './record-digest.ts';

/**
 * The audited actions outside the API. The holder of the file's key or the vault itself performs them. `summary` is
 * their text in the log.
 */
const LOCAL_ACTIONS = {
  createVault: { code: 'vc', effect: ['header', 'upsert'], summary: 'Create the vault' },
  createTenant: { code: 'nc', effect: ['application', 'upsert'], summary: 'Create the tenant' },
  issueKey: {
    code: 'ni',
    effect: ['application', 'upsert'],
    summary: "Create a management application, authorized by the vault's key",
  },
  expireToken: { code: 'te', effect: ['token', 'remove'], summary: 'Remove an expired token' },
  expireApplication: { code: 'ae', effect: ['application', 'remove'], summary: 'Remove an expired application' },
  endApplications: {
    code: 'ao',
    effect: ['application', 'remove'],
    summary: 'End the expiring applications that a removed key created',
  },
  addApplicationKey: {
    code: 'yi',
    effect: ['application_key', 'upsert'],
    summary: 'Create the API key of a new or regenerated application',
  },
  expireApplicationKey: { code: 'ye', effect: ['application_key', 'remove'], summary: 'Remove an expired API key' },
  endApplicationKeys: {
    code: 'yo',
    effect: ['application_key', 'remove'],
    summary: 'End the API keys of removed or regenerated applications',
  },
  addSlot: { code: 'sa', effect: ['header', 'upsert'], summary: 'Add a key slot to the file' },
  removeSlot: { code: 'sr', effect: ['header', 'upsert'], summary: 'Remove a key slot from the file' },
  replaceMasterKey: { code: 'km', effect: ['header', 'upsert'], summary: 'Replace the master key' },
  addTenantKey: { code: 'ka', effect: ['tenant_key', 'upsert'], summary: 'Add a key of the tenant' },
  removeTenantKey: { code: 'kr', effect: ['tenant_key', 'remove'], summary: 'Destroy a key of the tenant' },
  exportTokens: { code: 'nx', effect: 'none', summary: 'Export tokens' },
  resetTokens: { code: 'nz', effect: 'none', summary: 'Remove all tokens' },
  pruneAudit: { code: 'hp', effect: 'none', summary: 'Remove old audit entries' },
  acceptTenant: { code: 'nv', effect: 'none', summary: 'Accept the records of the tenant as they are' },
  moveVault: { code: 'vm', effect: 'none', summary: 'Move the vault' },
} as const satisfies Record<string, AuditFacts & Pick<Operation, 'summary'>>;

export interface TimedEvent {
  readonly event: AuditEvent;
  readonly at: Instant;
}

export type AuditedAction = OperationId | keyof typeof LOCAL_ACTIONS;

/** An event of the audit: the caller, the records and the result. Contains no body, value or metadata. */
export interface AuditEvent {
  readonly action: AuditedAction;
  /** The HTTP status of the reply; 200 for actions that are not operations. */
  readonly status: number;
  /**
   * The revision of the record after the change, which detects restored old records. For a tenant key it is the key's
   * id, for the master key its generation.
   */
  readonly revision?: number | undefined;
  readonly application_id?: string | undefined;
  /** The calling application's name at that time, and the id of its API key. */
  readonly actor_name?: string | undefined;
  readonly api_key_id?: string | undefined;
  /** The tenant of the event. Absent for events of the whole vault. */
  readonly tenant_id?: string | undefined;
  /** The address of a remote caller; absent for this machine. */
  readonly peer?: string | undefined;
  /**
   * The ids of the tokens, applications or API keys of the event, with these special cases:
   * - a list: the ids on the page
   * - the removal of an application: its id and the ids of the applications that it created
   * - a change of key slots: the new and the old MAC of the header
   * - an export: the exported view
   * - a prune of the audit: the last removed row, from `encodePosition`, and the SHA-256 of the archive in hex
   * - the acceptance of a tenant: the sums of its records of authority and of its tokens
   * - the removal of all tokens: the sum of the hashes of the removed tokens and tombstones
   */
  readonly entities: readonly string[];
  /**
   * The name of the application of each of the `entities` at that time; empty where it was unknown. Only for UUIDs.
   */
  readonly names?: readonly string[] | undefined;
  /**
   * The revision that each of the `entities` ended at. Set if the event removed tokens, applications or API keys, so
   * that the removal of an older row is found.
   */
  readonly ended?: readonly number[] | undefined;
  /** Set when the reply or the export contains plaintext. */
  readonly revealed?: true | undefined;
  /**
   * Set for an entry that counts several denials, without records and peers: their number and the times of the first
   * and the last.
   */
  readonly counted?: { readonly count: number; readonly first_at: Instant; readonly last_at: Instant } | undefined;
}

/** Returns the members of an event that name removed records. */
export function namesOf(removed: readonly EndedRecord[]): Required<Pick<AuditEvent, 'entities' | 'ended'>> {
  return { entities: removed.map(({ id }) => id), ended: removed.map(({ revision }) => revision) };
}

const OPERATION_FACTS = Object.entries<Operation>(OPERATIONS).map(([id, { audit }]) => [id, audit] as const);

const AUDIT_FACTS: Readonly<Record<AuditedAction, AuditFacts>> = {
  ...(Object.fromEntries(OPERATION_FACTS) as Record<OperationId, AuditFacts>),
  ...LOCAL_ACTIONS,
};

/** The summary of each action, a verb phrase. */
export const SUMMARIES: Readonly<Record<AuditedAction, Pick<Operation, 'summary'>>> = {
  ...OPERATIONS,
  ...LOCAL_ACTIONS,
};

type Effect = Exclude<AuditFacts['effect'], 'none'>;

/** Returns the effect of an event on the records that it names; undefined when the event changed nothing. */
export function changeOf({ action, status, revision }: AuditEvent): Effect | undefined {
  const { effect } = AUDIT_FACTS[action];
  if (status >= 400 || effect === 'none') return undefined;
  // A create that found a duplicate created nothing, so its event has no revision.
  return effect[1] === 'upsert' && revision === undefined ? undefined : effect;
}

export const AUDITED_ACTIONS = Object.keys(AUDIT_FACTS) as readonly AuditedAction[];

const ACTIONS: ReadonlyMap<string, AuditedAction> = new Map(
  AUDITED_ACTIONS.map((action) => [AUDIT_FACTS[action].code, action]),
);

/**
 * Returns the text of a row: its witness, then its events. The first line has the last row that the writer knew and the
 * last authority row up to it. In an authority row, the digest of all records of authority after it follows:
 *
 *     <sequence> <link, base64url> <authority>[ <digest, base64url>]
 */
export function encodeAuditRow(witness: Witness, events: readonly TimedEvent[], digest?: bigint): string {
  const { sequence, link, authority } = witness;
  const first = [sequence, Buffer.from(link).toString('base64url'), authority];
  if (digest !== undefined) first.push(encodeDigest(digest));
  return `${first.join(' ')}\n${encodeEvents(events)}`;
}

/** Returns the first line of a text from `encodeAuditRow`. */
export function decodeWitness(text: string) {
  const [sequence, link = '', authority, digest] = text.slice(0, text.indexOf('\n')).split(' ');
  const witness: Witness = {
    sequence: Number(sequence),
    link: Buffer.from(link, 'base64url'),
    authority: Number(authority),
  };
  return { witness, digest: digest === undefined ? undefined : decodeDigest(digest) };
}

/** Returns the events of a text from `encodeAuditRow`. `first` is the time of the first event. */
export function decodeRowEvents(first: Instant, text: string): readonly TimedEvent[] {
  return decodeEvents(first, text.slice(text.indexOf('\n') + 1));
}

/**
 * Returns the text of events in order. Before each later event there is a line with `+` and its time in
 * milliseconds after the first event, which may be negative. The row itself has the time of the first event.
 */
export function encodeEvents(events: readonly TimedEvent[]): string {
  const first = events[0]?.at ?? 0;
  return events
    .map(({ event, at }, n) => (n === 0 ? '' : `\n+${at - first}\n`) + encodeEvent(event, events[n - 1]?.event))
    .join('');
}

/** Returns the events of a text from `encodeEvents`. `first` is the time of the first event. */
export function decodeEvents(first: Instant, text: string): readonly TimedEvent[] {
  const events: TimedEvent[] = [];
  let lines: string[] = [];
  let at = first;
  for (const line of text.split('\n')) {
    if (!line.startsWith('+')) {
      lines.push(line);
      continue;
    }
    events.push({ event: decodeEvent(lines, events.at(-1)?.event), at });
    [lines, at] = [[], first + Number(line.slice(1))];
  }
  return [...events, { event: decodeEvent(lines, events.at(-1)?.event), at }];
}

const WHO = ['application_id', 'actor_name', 'api_key_id', 'tenant_id', 'peer'] as const;
const SAME = '=';

/**
 * Returns the text of an event, one field a line: code, status, revision, application, its name, API key, tenant, peer,
 * entities. In a counted event the count and the first and last time follow the status, separated by blanks; a `!` at
 * the end of this line means `revealed`, and `#` means `names`. An entity of a removal is `<revision> <id>`, with the
 * revision that it ended at; with `names` it is `<id> <name>`. Ids and names have no line ends (decisions §5), but may
 * have blanks. A UUID is `~` and its 22 characters of base64url. Another id or name that begins with `~`, `+` or `=`
 * gets a `~` in front. `=` repeats a field of the previous event, from the application to the peer.
 */
function encodeEvent(event: AuditEvent, before: AuditEvent | undefined): string {
  const { action, status, revision, entities, names, ended = [], revealed, counted } = event;
  const isRemoval = removes(event);
  if (ended.length !== (isRemoval ? entities.length : 0)) {
    throw new Error('unreachable: exactly the removals state the revision of each record');
  }
  const result = counted ? [status, counted.count, counted.first_at, counted.last_at].join(' ') : status;
  const marks = `${revealed ? '!' : ''}${names ? '#' : ''}`;
  let text = `${AUDIT_FACTS[action].code}\n${result}${marks}\n${revision ?? ''}`;
  for (const name of WHO) {
    const id = event[name];
    text += `\n${id !== undefined && id === before?.[name] ? SAME : packId(id ?? '')}`;
  }
  entities.forEach((id, n) => {
    text += `\n${isRemoval ? `${ended[n]} ` : ''}${packId(id)}${names ? ` ${names[n]}` : ''}`;
  });
  return text;
}

function removes(event: AuditEvent): boolean {
  return changeOf(event)?.[1] === 'remove';
}

/** Returns the event of the lines of a text from `encodeEvent`. `before` is the previous event. */
function decodeEvent(lines: readonly string[], before: AuditEvent | undefined): AuditEvent {
  const [code = '', result = '', revision = '', ...ids] = lines;
  const action = ACTIONS.get(code);
  if (!action) throw new Error('unreachable: the event was sealed by encodeEvent');
  const who = WHO.map((name, at) => (ids[at] === SAME ? before?.[name] : unpackId(ids[at] ?? '')));
  const [application, actor_name, api_key, tenant, peer] = who;
  const [status = 0, count, first_at = 0, last_at = 0] = result.replace(/[!#]/g, '').split(' ').map(Number);
  const named = ids.slice(WHO.length);
  const isRemoval = named.length > 0 && removes({ action, status, entities: [] });
  const records = isRemoval ? named.map(afterBlank) : named;
  const hasNames = result.includes('#');
  return {
    action,
    status,
    ...(revision !== '' && { revision: Number(revision) }),
    ...(application && { application_id: application }),
    ...(actor_name && { actor_name }),
    ...(api_key && { api_key_id: api_key }),
    ...(tenant && { tenant_id: tenant }),
    ...(peer && { peer }),
    entities: records.map((record) => unpackId(hasNames ? record.slice(0, record.indexOf(' ')) : record)),
    ...(hasNames && { names: records.map(afterBlank) }),
    ...(isRemoval && { ended: named.map((text) => Number(text.slice(0, text.indexOf(' ')))) }),
    ...(result.includes('!') && { revealed: true }),
    ...(count !== undefined && { counted: { count, first_at, last_at } }),
  };
}

const afterBlank = (text: string): string => text.slice(text.indexOf(' ') + 1);

const CANONICAL_UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The bytes of the id that is being packed: a new buffer for each id would take as long as the rest. */
const PACKED = Buffer.alloc(16);

function packId(id: string): string {
  if (CANONICAL_UUID.test(id)) {
    PACKED.write(id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24), 'hex');
    return `~${PACKED.toString('base64url')}`;
  }
  if (id.includes('\n')) throw new Error('unreachable: no id has a line end');
  return /^[~+=]/.test(id) ? `~${id}` : id;
}

function unpackId(packed: string): string {
  if (!packed.startsWith('~')) return packed;
  if (/^~[~+=]/.test(packed)) return packed.slice(1);
  const hex = Buffer.from(packed.slice(1), 'base64url').toString('hex');
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(index === 0 ? 0 : ends[index - 1], end)).join('-');
}
