import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import {
  gains,
  holdsAnywhere,
  mayDefine,
  mayWrite,
  type Power,
  type Reached,
  readsAll,
  transformFor,
} from './model-fuzz-access.ts';
import { applicationBody, CONTAINERS, TOKEN_IDS } from './permission-fixture.ts';

/**
 * The expected result of every cell of the permission matrix, written by hand from the specification, with the rules of
 * the model of the fuzz. Only the permission and the status of an operation come from the contract;
 * test/scripts/permissions.txt compares those with the specification. The oracle shares no code with the vault, so that
 * the same mistake is unlikely in both.
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
  readonly items?: number;
  /** For updates: whether the reply has the members that every reader sees. */
  readonly isRead?: boolean;
}

export type Member =
  | 'data'
  | 'mask'
  | 'metadata'
  | 'containers'
  | 'search_indexes'
  | 'fingerprint_expression'
  | 'deduplicate_token'
  | 'expires_at';

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
  const power = powerOf(who);
  if (!holdsAnywhere(power, permission)) {
    // The request asks for plain `token:read`, which shows the mask of every token.
    const isChild = operation === 'createApplication' && who.flag && target === 'expiring';
    return { status: isChild && readsAll(power, '/', 'mask') ? 201 : 403 };
  }
  if (operation === 'listApplications') return { status: 200, items: target === 'other' ? 0 : 1 };
  const reads = READS_OF_MANY[operation];
  if (target === 'other' && reads) return { status: 200, items: 0 };
  // Ids are unique per tenant (decisions §5), so another tenant's id causes no conflict.
  const creates = operation === 'createToken' || operation === 'previewToken' || operation === 'tokenize';
  if (target === 'other' && !creates) return { status: operation === 'detokenize' ? 400 : 404 };
  if (!permission.startsWith('token:')) return { status: success };

  const name = target === 'two' ? 'two' : 'one';
  const token: Reached = { id: TOKEN_IDS[name], containers: CONTAINERS[name] };
  const sight = sightOf(power, permission, token);
  if (reads) {
    const seen = sight && sightOf(power, 'token:read', token);
    return seen ? { status: 200, items: 1, sight: seen } : { status: 200, items: 0 };
  }
  // A token that shows nothing counts as missing.
  if (operation === 'detokenize') return sight && sight !== 'nothing' ? { status: 200, sight } : { status: 400 };
  if (operation === 'getToken') return sight ? { status: 200, sight } : { status: 403 };
  if (!sight || !mayWrite(power, permission, token)) return { status: 403 };
  if (operation === 'deleteToken') return { status: 204 };
  if (operation === 'updateToken') return expectedUpdate(power, token, member);
  // §4.1: a create shows the masked form, or less when the transform shows less.
  return { status: success, sight: sight === 'reveal' ? 'mask' : sight };
}

const powerOf = (who: Applicant): Power => ({
  parent: undefined,
  ...(applicationBody(who) as Pick<Power, 'permissions' | 'rules'>),
});

const SIGHTS: Readonly<Record<string, Sight>> = { redact: 'nothing', mask: 'mask', reveal: 'reveal' };

const sightOf = (power: Power, permission: string, token: Reached) =>
  SIGHTS[transformFor(power, permission, token) ?? ''];

/** Both tokens have the same content before the update, so it makes no duplicate (decisions §7). */
function expectedUpdate(power: Power, token: Reached, member: Member | undefined): Expected {
  const after = member === 'containers' ? { ...token, containers: ['/bank/high/'] } : token;
  const defines = member === 'mask' || member === 'search_indexes' || member === 'fingerprint_expression';
  const isRefused =
    !mayWrite(power, 'token:update', after) || (defines && !mayDefine(power, token)) || gains(power, token, after);
  if (isRefused) return { status: 403 };
  if (!sightOf(power, 'token:read', after)) return { status: 200, sight: 'nothing', isRead: false };
  return { status: 200, sight: sightOf(power, 'token:update', after) ?? 'nothing', isRead: true };
}

/** List and search operations. They return tokens as their caller reads them. */
const READS_OF_MANY: Readonly<Partial<Record<OperationId, true>>> = {
  listTokens: true,
  listTokensByCursor: true,
  searchTokens: true,
  searchTokensByCursor: true,
};
