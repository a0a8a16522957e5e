import { type AuditFacts, OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';

/** What is done below the API, by the holder of the file's key or by the vault itself. */
const LOCAL_ACTIONS = {
  createVault: { code: 'vc', effect: ['header', 'upsert'] },
  createTenant: { code: 'nc', effect: ['application', 'upsert'] },
  /** A management application was made on the file. */
  issueKey: { code: 'ni', effect: ['application', 'upsert'] },
  expireToken: { code: 'te', effect: ['token', 'remove'] },
  expireApplication: { code: 'ae', effect: ['application', 'remove'] },
  addSlot: { code: 'sa', effect: ['header', 'upsert'] },
  removeSlot: { code: 'sr', effect: ['header', 'upsert'] },
  replaceMasterKey: { code: 'km', effect: ['header', 'upsert'] },
  addTenantKey: { code: 'ka', effect: ['tenant_key', 'upsert'] },
  removeTenantKey: { code: 'kr', effect: ['tenant_key', 'remove'] },
  loadSnapshot: { code: 'sl', effect: 'none' },
  exportTokens: { code: 'nx', effect: 'none' },
  /** All tokens of a tenant were removed. */
  resetTokens: { code: 'nz', effect: 'none' },
} as const satisfies Record<string, AuditFacts>;

export type AuditedAction = OperationId | keyof typeof LOCAL_ACTIONS;

/** One event of the audit: who did what to which, and how it ended. Never a body, a value or metadata. */
export interface AuditEvent {
  readonly action: AuditedAction;
  /** The HTTP status of the reply; 200 for what is no operation. */
  readonly status: number;
  /** Of the record after the change: records that were put back are found by it. Of a key its id, of the master key its generation, of a snapshot the place that the audit had come to. */
  readonly revision?: number | undefined;
  readonly application_id?: string | undefined;
  /** The tenant of an event that no application caused; an application's tenant is its own. */
  readonly tenant_id?: string | undefined;
  /** The address that a remote caller came from; absent for this machine's own. */
  readonly peer?: string | undefined;
  /**
   * The ids of the tokens or applications that it was about: all of a page's for a list; for the removal of an application
   * those that ended with it, too; for a change of the slots the header's MAC; for an export what it showed.
   */
  readonly entities: readonly string[];
}

const OPERATION_FACTS = Object.entries<Operation>(OPERATIONS).map(([id, { audit }]) => [id, audit] as const);

/** What the audit keeps of each action. */
export const AUDIT_FACTS = { ...Object.fromEntries(OPERATION_FACTS), ...LOCAL_ACTIONS } as Readonly<
  Record<AuditedAction, AuditFacts>
>;

export const AUDITED_ACTIONS = Object.keys(AUDIT_FACTS) as readonly AuditedAction[];

const ACTIONS: ReadonlyMap<string, AuditedAction> = new Map(
  AUDITED_ACTIONS.map((action) => [AUDIT_FACTS[action].code, action]),
);

/**
 * The text that is sealed, one field a line: code, status, revision, application, tenant, peer, entities. Ids are without
 * line ends (decisions §5); a UUID is `~` and its 22 characters of base64url, so that most events fit one step of padding.
 */
export function encodeEvent(event: AuditEvent): string {
  const { action, status, revision, application_id = '', tenant_id = '', peer = '', entities } = event;
  let text = `${AUDIT_FACTS[action].code}\n${status}\n${revision ?? ''}\n${packApplication(application_id)}\n${packId(tenant_id)}\n${packId(peer)}`;
  for (const id of entities) text += `\n${packId(id)}`;
  return text;
}

/** Nearly every event is of an application that another was of before. */
let lastApplication = { id: '', packed: '' };

function packApplication(id: string): string {
  if (id !== lastApplication.id) lastApplication = { id, packed: packId(id) };
  return lastApplication.packed;
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

const uuid = Buffer.alloc(16);

const UUID_LENGTH = 36;
const HYPHEN = 0x2d;

/** Reads a canonical UUID into `uuid`; false for any other text. By code unit: a page has many, and slices and `hex` take longer. */
function readUuid(id: string): boolean {
  if (id.length !== UUID_LENGTH) return false;
  let byte = 0;
  for (let at = 0; at < UUID_LENGTH; at += 2) {
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (id.charCodeAt(at) !== HYPHEN) return false;
      at += 1;
    }
    const value = (hexDigit(id.charCodeAt(at)) << 4) | hexDigit(id.charCodeAt(at + 1));
    if (value < 0) return false;
    uuid[byte++] = value;
  }
  return true;
}

/** What a digit in lower case stands for; -1 for any other code unit. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}

function packId(id: string): string {
  if (id === '') return '';
  if (id.includes('\n')) throw new Error('unreachable: no id has a line end');
  if (!readUuid(id)) return id.startsWith('~') ? `~${id}` : id;
  return `~${uuid.toString('base64url')}`;
}

function unpackId(packed: string): string {
  if (!packed.startsWith('~')) return packed;
  if (packed.startsWith('~~')) return packed.slice(1);
  const hex = Buffer.from(packed.slice(1), 'base64url').toString('hex');
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(index === 0 ? 0 : ends[index - 1], end)).join('-');
}
