import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';

/**
 * The expected result of every cell of the permission matrix, written by hand from the specification. Only the
 * permission and the status of an operation come from the contract; test/scripts/permissions.txt compares those with
 * the specification. The oracle shares no code with the vault, so that the same mistake is unlikely in both.
 */
export type Sight = 'nothing' | 'mask' | 'reveal';
export type Place = 'root' | 'pci' | 'bank' | 'pcix' | 'its id' | 'an id' | 'id and pci' | 'id and pcix';
export type KeyState =
  | 'good'
  | 'missing'
  | 'malformed'
  | 'unknown'
  | 'regenerated'
  | 'deleted application'
  | 'expired'
  | 'deleted tenant';

export interface OracleRule {
  readonly priority: number;
  readonly place: Place;
  readonly transform: 'redact' | 'mask' | 'reveal';
  readonly permissions: readonly string[];
}

export interface Applicant {
  readonly type: 'private' | 'public' | 'management' | 'expiring';
  readonly permissions: readonly string[];
  readonly rules: readonly OracleRule[];
  /** The member `can_create_expiring_applications`. */
  readonly flag?: true;
}

/** `one`: a token in /pci/high/. `two`: a token in /pci/high/ and /bank/high/. `other`: an object of another tenant. */
export type Target = 'one' | 'two' | 'other' | 'own' | 'private' | 'expiring' | 'self';

export interface Expected {
  readonly status: number;
  /** How much the reply shows of a token. */
  readonly sight?: Sight;
  /** The number of items in a list. */
  readonly items?: number;
  /** For updates: whether the reply has the members that every reader sees. */
  readonly isRead?: boolean;
}

/** A member of an update. */
export type Member =
  | 'data'
  | 'mask'
  | 'metadata'
  | 'containers'
  | 'search_indexes'
  | 'fingerprint_expression'
  | 'deduplicate_token'
  | 'expires_at';

/** The permissions that each application type may hold (decisions §6). */
export const MAY_HOLD: Readonly<Record<Applicant['type'], readonly string[]>> = {
  public: ['token:create', 'token:update'],
  private: ['token:create', 'token:update', 'token:read', 'token:delete', 'token:search', 'token:use'],
  expiring: ['token:read'],
  management: [
    ...['application:create', 'application:read', 'application:update', 'application:delete'],
    ...['tenant:read', 'tenant:update', 'tenant:delete', 'report:read', 'log:read'],
  ],
};

/** The containers in which a rule at the place matches a token (decisions §6, §2.5). `/pcix/` is not below `/pci/`. */
const MATCHES: Readonly<Record<Place, readonly ('pci' | 'bank')[]>> = {
  root: ['pci', 'bank'],
  pci: ['pci'],
  bank: ['bank'],
  pcix: [],
  'its id': ['pci', 'bank'],
  'an id': [],
  'id and pci': ['pci'],
  'id and pcix': [],
};
const SIGHTS = { redact: 'nothing', mask: 'mask', reveal: 'reveal' } as const;

/** Returns what the governing rule shows: the first rule that matches and grants the permission (decisions §6). */
function ruled(who: Applicant, permission: string, containers: readonly string[]): Sight | undefined {
  const inOrder = [...who.rules].sort((a, b) => a.priority - b.priority);
  for (const { place, transform, permissions } of inOrder) {
    if (!permissions.includes(permission)) continue;
    if (MATCHES[place].some((container) => containers.includes(container))) return SIGHTS[transform];
  }
  return undefined;
}

/** Returns what the governing rule shows, or else what the plain permission shows. */
function governs(who: Applicant, permission: string, containers: readonly string[]): Sight | undefined {
  const plain = permission === 'token:use' ? 'reveal' : 'mask';
  return ruled(who, permission, containers) ?? (who.permissions.includes(permission) ? plain : undefined);
}

/**
 * Returns the expected result of a cell. The order of checks (decisions §1): 401, then 403 for a permission held
 * nowhere, then 404, then 403 for a token out of reach.
 */
export function expected(
  who: Applicant,
  state: KeyState,
  operation: OperationId,
  target: Target,
  member?: Member,
): Expected {
  if (state !== 'good') return { status: 401 };
  const { permission, status: success }: Operation = OPERATIONS[operation];
  if (permission === undefined) return { status: 200 };
  const held = who.permissions.includes(permission) || who.rules.some((rule) => rule.permissions.includes(permission));
  if (!held) return operation === 'createApplication' && who.flag ? expectedChild(who, target) : { status: 403 };
  if (operation === 'listApplications') return { status: 200, items: target === 'other' ? 0 : 1 };
  const reads = READS_OF_MANY[operation];
  if (target === 'other' && reads) return { status: 200, items: 0 };
  // Ids are unique per tenant (decisions §5), so another tenant's id causes no conflict.
  const creates = operation === 'createToken' || operation === 'previewToken' || operation === 'tokenize';
  if (target === 'other' && !creates) return { status: operation === 'detokenize' ? 400 : 404 };
  if (!permission.startsWith('token:')) return { status: success };

  const containers = target === 'two' ? ['pci', 'bank'] : ['pci'];
  const sight = governs(who, permission, containers);
  if (reads) {
    const seen = sight && governs(who, 'token:read', containers);
    return seen ? { status: 200, items: 1, sight: seen } : { status: 200, items: 0 };
  }
  // A token that shows nothing counts as missing.
  if (operation === 'detokenize') return sight && sight !== 'nothing' ? { status: 200, sight } : { status: 400 };
  if (operation === 'getToken') return sight ? { status: 200, sight } : { status: 403 };
  // Decisions §6: writing needs the permission in every container.
  if (!sight || !containers.every((container) => governs(who, permission, [container]))) return { status: 403 };
  if (operation === 'deleteToken') return { status: 204 };
  if (operation === 'updateToken') return expectedUpdate(who, containers, member);
  // §4.1: a create shows the masked form, or less when the transform shows less.
  return { status: success, sight: sight === 'reveal' ? 'mask' : sight };
}

/** List and search operations. They return tokens as their caller reads them. */
const READS_OF_MANY: Readonly<Partial<Record<OperationId, true>>> = {
  listTokens: true,
  listTokensByCursor: true,
  searchTokens: true,
  searchTokensByCursor: true,
};

const STRENGTH: readonly (Sight | undefined)[] = [undefined, 'nothing', 'mask', 'reveal'];

/**
 * Returns the expected result of an update (decisions §6). An update may set expressions only if the caller's rule
 * reveals the data. It must not move a token to where the caller sees more of it. A caller without `token:read` sees
 * no data. Both tokens have the same content before the update, so it makes no duplicate (decisions §7).
 */
function expectedUpdate(who: Applicant, before: readonly string[], member: Member | undefined): Expected {
  const after = member === 'containers' ? ['bank'] : before;
  if (!after.every((container) => governs(who, 'token:update', [container]))) return { status: 403 };
  if (member === 'mask' || member === 'search_indexes' || member === 'fingerprint_expression') {
    const showing = [ruled(who, 'token:read', before), ruled(who, 'token:use', before)].filter(Boolean);
    const rules = showing.length > 0 ? showing : [ruled(who, 'token:update', before) ?? 'reveal'];
    if (!rules.includes('reveal')) return { status: 403 };
  }
  for (const permission of ['token:read', 'token:use', 'token:update']) {
    const [was, is] = [before, after].map((containers) => STRENGTH.indexOf(governs(who, permission, containers)));
    if (Number(is) > Number(was)) return { status: 403 };
  }
  if (!governs(who, 'token:read', after)) return { status: 200, sight: 'nothing', isRead: false };
  return { status: 200, sight: governs(who, 'token:update', after) ?? 'nothing', isRead: true };
}

/**
 * Returns the expected status when a caller with the flag creates an application (decisions §6). Only expiring
 * applications are allowed. The request asks for plain `token:read`, which shows the mask of every token.
 */
function expectedChild(who: Applicant, target: Target): Expected {
  const everywhere = who.rules.filter(({ place }) => place === 'root').map(({ transform }) => transform);
  const reads = who.permissions.includes('token:read') || everywhere.some((transform) => transform !== 'redact');
  const lessSomewhere = who.rules.some(({ transform }) => transform === 'redact');
  return { status: target === 'expiring' && reads && !lessSomewhere ? 201 : 403 };
}
