import { OPERATIONS, type OperationId } from '../../contract/operations.ts';

/** What is done below the API, by whoever holds the file's key or by the vault itself. */
export const LOCAL_ACTIONS = {
  foundTenant: 'a tenant was made with `vault init` or `vault tenant create`',
  issueKey: 'a management application was made with `vault tenant issue-key`',
  expireToken: 'an expired token was removed',
  expireApplication: 'an expired application was removed',
  addSlot: 'a key file or passphrase was added',
  removeSlot: 'a key file or passphrase was removed',
  rotateKeys: 'keys were rotated',
} as const;

export type AuditedAction = OperationId | keyof typeof LOCAL_ACTIONS;

/** One event of the audit: who did what to which, and how it ended. Never a body, a value or metadata. */
export interface AuditEvent {
  readonly action: AuditedAction;
  /** The HTTP status of the reply; 200 for what is no operation. */
  readonly status: number;
  /** Of the record after the change: doctor finds records that were put back by it. */
  readonly revision?: number | undefined;
  readonly application_id?: string | undefined;
  /** The address that a remote caller came from; undefined for loopback, a Unix socket and the direct door. */
  readonly peer?: string | undefined;
  /** The tenant of an event that no application caused; an application's tenant is its own. */
  readonly tenant_id?: string | undefined;
  /** The ids of the tokens or applications that it was about; all of a page's for a list. */
  readonly entities: readonly string[];
}

/** Two letters an action, for good: they stand in files. */
const CODES = {
  createToken: 'tc',
  listTokens: 'tl',
  getToken: 'tg',
  updateToken: 'tu',
  deleteToken: 'td',
  createApplication: 'ac',
  listApplications: 'al',
  getApplicationByKey: 'ak',
  getApplication: 'ag',
  updateApplication: 'au',
  regenerateApplicationKey: 'ar',
  deleteApplication: 'ad',
  getTenant: 'ng',
  updateTenant: 'nu',
  deleteTenant: 'nd',
  getUsageReport: 'nr',
  foundTenant: 'nf',
  issueKey: 'ni',
  expireToken: 'te',
  expireApplication: 'ae',
  addSlot: 'ka',
  removeSlot: 'kr',
  rotateKeys: 'kt',
} as const satisfies Record<AuditedAction, string>;

const ACTIONS = new Map(Object.entries(CODES).map(([action, code]) => [code as string, action as AuditedAction]));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The text that is sealed, one field a line: code, status, revision, application, tenant, peer, entities. Ids are without
 * line ends (decisions §5); a UUID is `~` and its 22 characters of base64url, so that an event mostly fits one step of padding.
 */
export function encodeEvent(event: AuditEvent): string {
  const { action, status, revision, application_id = '', tenant_id = '', peer = '', entities } = event;
  const ids = [application_id, tenant_id, peer, ...entities].map(packId);
  return [CODES[action], status, revision ?? '', ...ids].join('\n');
}

/** The inverse of `encodeEvent`. */
export function decodeEvent(text: string): AuditEvent {
  const [code = '', status = '', revision = '', ...ids] = text.split('\n');
  const action = ACTIONS.get(code);
  if (!action) throw new Error('unreachable: the event was sealed by encodeEvent');
  const [application, tenant, peer, ...entities] = ids.map(unpackId);
  return {
    action,
    status: Number(status),
    ...(revision !== '' && { revision: Number(revision) }),
    ...(application && { application_id: application }),
    ...(tenant && { tenant_id: tenant }),
    ...(peer && { peer }),
    entities,
  };
}

function packId(id: string): string {
  if (!UUID.test(id)) return id.startsWith('~') ? `~${id}` : id;
  return `~${Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')}`;
}

function unpackId(packed: string): string {
  if (!packed.startsWith('~')) return packed;
  if (packed.startsWith('~~')) return packed.slice(1);
  const hex = Buffer.from(packed.slice(1), 'base64url').toString('hex');
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(index === 0 ? 0 : ends[index - 1], end)).join('-');
}

/** Whether the operation changes anything: what all but a GET does. */
export function isMutation(operation: OperationId): boolean {
  return OPERATIONS[operation].method !== 'GET';
}
