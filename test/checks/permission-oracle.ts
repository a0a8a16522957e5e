import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';

/**
 * What the specification says of every cell of the permission matrix, written down by hand from its paragraphs. Only the
 * permission and the status of an operation come from its row, which test/scripts/permissions.txt holds to the
 * specification. It shares no code with the vault on purpose: a mistake must be made twice, in two different ways.
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
  /** can_create_expiring_applications */
  readonly flag?: true;
}

/** One: a token in /pci/high/. Two: a token in /pci/high/ and /bank/high/. Other: of another tenant. */
export type Target = 'one' | 'two' | 'other' | 'own' | 'private' | 'expiring' | 'self';

export interface Expected {
  readonly status: number;
  /** Of single tokens, and of the listed one. */
  readonly sight?: Sight;
  /** Of lists. */
  readonly items?: number;
  /** Of updates: whether the reply has what a reader sees of any token. */
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

/** Decisions §6, first paragraph. */
export const MAY_HOLD: Readonly<Record<Applicant['type'], readonly string[]>> = {
  public: ['token:create', 'token:update'],
  private: ['token:create', 'token:update', 'token:read', 'token:delete', 'token:search', 'token:use'],
  expiring: ['token:read'],
  management: [
    ...['application:create', 'application:read', 'application:update', 'application:delete'],
    ...['tenant:read', 'tenant:update', 'tenant:delete', 'report:read', 'log:read'],
  ],
};

/** Which of the two containers a rule at the place matches a token in (decisions §6, §2.5); `/pcix/` is not below `/pci/`. */
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

/** Decisions §6: the first rule that matches and grants governs. */
function ruled(who: Applicant, permission: string, containers: readonly string[]): Sight | undefined {
  const inOrder = [...who.rules].sort((a, b) => a.priority - b.priority);
  for (const { place, transform, permissions } of inOrder) {
    if (!permissions.includes(permission)) continue;
    if (MATCHES[place].some((container) => containers.includes(container))) return SIGHTS[transform];
  }
  return undefined;
}

/** Without a rule the plain permission with its mask, else nothing. */
function governs(who: Applicant, permission: string, containers: readonly string[]): Sight | undefined {
  const plain = permission === 'token:use' ? 'reveal' : 'mask';
  return ruled(who, permission, containers) ?? (who.permissions.includes(permission) ? plain : undefined);
}

/** Decisions §1, order of checks: 401, then 403 for a permission held nowhere, then 404, then 403 for a token out of reach. */
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
  // An id is taken in one tenant only (decisions §5): another tenant's does not stand in the way.
  const creates = operation === 'createToken' || operation === 'previewToken' || operation === 'tokenize';
  if (target === 'other' && !creates) return { status: operation === 'detokenize' ? 400 : 404 };
  if (!permission.startsWith('token:')) return { status: success };

  const containers = target === 'two' ? ['pci', 'bank'] : ['pci'];
  const sight = governs(who, permission, containers);
  if (reads) {
    const seen = sight && governs(who, 'token:read', containers);
    return seen ? { status: 200, items: 1, sight: seen } : { status: 200, items: 0 };
  }
  // What shows nothing is as if it were not there.
  if (operation === 'detokenize') return sight && sight !== 'nothing' ? { status: 200, sight } : { status: 400 };
  if (operation === 'getToken') return sight ? { status: 200, sight } : { status: 403 };
  // Decisions §6: writing needs the permission in every container.
  if (!sight || !containers.every((container) => governs(who, permission, [container]))) return { status: 403 };
  if (operation === 'deleteToken') return { status: 204 };
  if (operation === 'updateToken') return expectedUpdate(who, containers, member);
  // §4.1: create answers with the masked form, whatever the transform, but never more than the transform shows.
  return { status: success, sight: sight === 'reveal' ? 'mask' : sight };
}

/** Lists, and searches: these find what their caller may search and read, as it reads it. */
const READS_OF_MANY: Readonly<Partial<Record<OperationId, true>>> = {
  listTokens: true,
  listTokensByCursor: true,
  searchTokens: true,
  searchTokensByCursor: true,
};

const STRENGTH: readonly (Sight | undefined)[] = [undefined, 'nothing', 'mask', 'reveal'];

/**
 * Decisions §6: an update sets no expressions over data that its caller's rule does not reveal, moves no token to where the
 * caller sees more of it, and shows a caller without token:read nothing. The other token has the same content: §4.1.
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
  const twin = before.length === 1 ? ['pci', 'bank'] : ['pci'];
  const redacted = member === 'deduplicate_token' && !governs(who, 'token:read', twin);
  return {
    status: 200,
    sight: redacted ? 'nothing' : (governs(who, 'token:update', after) ?? 'nothing'),
    isRead: true,
  };
}

/** Decisions §6: with the flag, expiring ones only; asked for is the plain permission, a mask on every token. */
function expectedChild(who: Applicant, target: Target): Expected {
  const everywhere = who.rules.filter(({ place }) => place === 'root').map(({ transform }) => transform);
  const reads = who.permissions.includes('token:read') || everywhere.some((transform) => transform !== 'redact');
  const lessSomewhere = who.rules.some(({ transform }) => transform === 'redact');
  return { status: target === 'expiring' && reads && !lessSomewhere ? 201 : 403 };
}
