import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { APPLICATION_TYPES } from '../../src/contract/permissions.ts';
import { ALLOWED, holdsAnywhere, type ModelApplication } from './model-fuzz-access.ts';
import { ENDS } from './model-fuzz-applications.ts';
import {
  applicationFlaw,
  type Draw,
  IDS,
  listFlaw,
  newTokenBody,
  patchFlaw,
  rulesFor,
  tenantFlaw,
  tokenFlaw,
  transportFlaws,
} from './model-fuzz-bodies.ts';
import { type Command, type Flaw, type Model, type ModelTenant, UNSEEN } from './model-fuzz-state.ts';
import { GOOD, isObject, type Plain, type PlainObject } from './model-fuzz-values.ts';
import { METADATA_KEYS, randomQuery, TEXTS } from './random-query.ts';

const WEIGHTS: readonly (readonly [Command['operation'], number])[] = [
  ['createToken', 26],
  ['getToken', 14],
  ['listTokens', 8],
  ['previewToken', 3],
  ['listTokensByCursor', 4],
  ['searchTokens', 24],
  ['searchTokensByCursor', 6],
  ['updateToken', 18],
  ['deleteToken', 4],
  ['tokenize', 6],
  ['detokenize', 6],
  ['createApplication', 8],
  ['listApplications', 3],
  ['getApplication', 2],
  ['getApplicationByKey', 1.5],
  ['explainAccess', 2.5],
  ['measureReach', 1.5],
  ['updateApplication', 4],
  ['regenerateApplicationKey', 1.5],
  ['deleteApplication', 1.2],
  ['createApplicationKey', 3],
  ['listApplicationKeys', 2.5],
  ['getApplicationKey', 1.5],
  ['deleteApplicationKey', 1.5],
  ['getTenant', 1.2],
  ['updateTenant', 2],
  ['deleteTenant', 0.12],
  ['getUsageReport', 2.5],
  ['getActivity', 1],
  ['listPermissions', 0.3],
  ['listLogs', 1.5],
];

const APPLICATION_KINDS = Object.keys(APPLICATION_TYPES);

const WRONG_KEYS = [undefined, '', 'key_', 'nonsense', `key_${'1'.repeat(32)}`];

/** The state that a command can refer to, and the time. */
interface Circumstances {
  readonly model: Model;
  readonly now: number;
  readonly deadKeys: readonly string[];
}

/** Returns the next command: mostly a sensible call by an application that may make it, sometimes any other call. */
export function nextCommand(draw: Draw, { model, now, deadKeys }: Circumstances): Command {
  let operation = draw.weighted(WEIGHTS);
  const tenants = [...model.tenants.values()];
  if (operation === 'deleteTenant' && tenants.length < 2) operation = 'getTenant';
  const tenant = draw.one(tenants);
  const caller = draw.one(callersOf(draw, tenant, operation, now));
  const apiKey = draw.chance(0.015)
    ? draw.one([...WRONG_KEYS, ...deadKeys])
    : draw.one(caller.keys.length > 0 ? caller.keys.map(({ key }) => key) : WRONG_KEYS);
  const around = { tenant, caller, now, tenants };
  const byRow = () => ('params' in OPERATIONS[operation] ? byId(draw, around) : {});
  const made: Made = PARTS[operation]?.(draw, around) ?? byRow();
  const parts: Made = { ...made, flaw: made.flaw ?? undefined };
  return { ...withText(draw, operation, parts), operation, apiKey };
}

/** Returns the callers to choose from: mostly live applications with the permission, sometimes all applications. */
function callersOf(draw: Draw, tenant: ModelTenant, operation: Command['operation'], now: number) {
  const all = [...tenant.applications.values()];
  const minting = operation === 'createApplication' && draw.chance(0.4);
  const { permission }: Operation = OPERATIONS[operation];
  const fitting = all.filter(
    (each) =>
      (each.expires_at ?? Number.POSITIVE_INFINITY) > now &&
      (minting ? each.can_create_expiring_applications === true : holdsAnywhere(each, permission)),
  );
  return fitting.length > 0 && draw.chance(0.96) ? fitting : all;
}

interface Around {
  readonly tenant: ModelTenant;
  readonly tenants: readonly ModelTenant[];
  readonly caller: ModelApplication;
  readonly now: number;
}

interface Made {
  readonly id?: string;
  readonly keyId?: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: PlainObject;
  readonly flaw?: Flaw | undefined;
  readonly mediaType?: string | undefined;
  readonly bodyText?: string;
}

function newToken(draw: Draw, { now, caller }: Around): Made {
  const rule = caller.rules.find(({ permissions }) => permissions.includes('token:create'));
  const within = rule?.container !== undefined && draw.chance(0.6) && { containers: [rule.container] };
  const body = { ...newTokenBody(draw, now), ...within };
  return draw.chance(0.12) ? tokenFlaw(draw, body, now) : { body };
}

/** Builds the input of each operation. An operation without an entry gets only the id that its path needs. */
const PARTS: Readonly<Partial<Record<Command['operation'], (draw: Draw, around: Around) => Made>>> = {
  createToken: newToken,
  previewToken: newToken,
  tokenize: (draw, { now }) => {
    const first = newTokenBody(draw, now);
    const second = draw.chance(0.2) ? first : newTokenBody(draw, now);
    return { body: draw.chance(0.5) ? { first, second } : { first, second, third: newTokenBody(draw, now) } };
  },
  detokenize: (draw, around) => {
    const ids = [0, 1, 2].map(() => tokenId(draw, around));
    const [whole, both] = [`{{ ${ids[0]} }}`, `{{${ids[0]}}} and {{ ${ids[1]} | stringify }}`];
    return {
      body: draw.one<PlainObject>([{ whole }, { whole, both }, { whole, both, list: `{{ ${ids[2]} }}`, n: 1 }]),
    };
  },
  deleteToken: (draw, around) => ({ id: tokenId(draw, around) }),
  getActivity: (draw) => ({ query: draw.chance(0.5) ? [] : [['months', String(1 + draw.below(36))]] }),
  explainAccess: (draw, around) => ({
    body: { application_id: applicationId(draw, around), token_id: tokenId(draw, around) },
  }),
  measureReach: (draw, around) => ({ body: { application_id: applicationId(draw, around) } }),
  listTokens: (draw, around) => {
    const query = tokenQuery(draw, around);
    return draw.chance(0.1) ? listFlaw(draw, query, true) : { query };
  },
  listTokensByCursor: (draw, around) => ({ query: tokenQuery(draw, around).filter(([name]) => name !== 'page') }),
  searchTokens: (draw, around) => ({ body: { ...Object.fromEntries(numbers(draw)), ...search(draw, around) } }),
  searchTokensByCursor: (draw, around) => ({ body: search(draw, around) }),
  getToken: (draw, around) => ({ id: tokenId(draw, around), query: most(draw) }),
  updateToken: (draw, around) => {
    const id = tokenId(draw, around);
    const body = patchBody(draw, around, id);
    return { id, ...(draw.chance(0.12) ? patchFlaw(draw, body, around.now) : { body }) };
  },
  createApplication: (draw, around) => {
    const body = newApplicationBody(draw, around);
    return draw.chance(0.12) ? applicationFlaw(draw, body, true) : { body };
  },
  listApplications: (draw, around) => {
    const ids = Array.from({ length: draw.chance(0.3) ? draw.below(3) : 0 }, () => applicationId(draw, around));
    const types = Array.from({ length: draw.chance(0.3) ? 1 + draw.below(2) : 0 }, () => draw.one(APPLICATION_KINDS));
    const query = [
      ...ids.map((id) => ['id', id] as const),
      ...types.map((type) => ['type', type] as const),
      ...paging(draw),
    ];
    return draw.chance(0.1) ? listFlaw(draw, query, false) : { query };
  },
  createApplicationKey: (draw, around) => {
    const end = draw.one(ENDS);
    const body = end === undefined ? undefined : { expires_at: new Date(around.now + end).toISOString() };
    return { id: applicationId(draw, around), ...(body && { body }) };
  },
  getApplicationKey: (draw, around) => keyOf(draw, around),
  deleteApplicationKey: (draw, around) => keyOf(draw, around),
  updateApplication: (draw, around) => {
    const id = applicationId(draw, around);
    const type = around.tenant.applications.get(id)?.type ?? 'private';
    const { name, permissions, rules, can_create_expiring_applications } = definition(draw, type);
    const body = Object.fromEntries(
      Object.entries({ name, permissions, rules, can_create_expiring_applications }).filter(
        ([member, value]) => value !== undefined && !(member === 'permissions' && (value as []).length === 0),
      ),
    );
    return {
      id,
      ...(draw.chance(0.12) ? applicationFlaw(draw, body as PlainObject, false) : { body: body as PlainObject }),
    };
  },
  listLogs: (draw, around) => ({
    query: [
      ...(draw.chance(0.5) ? [['size', String(1 + draw.below(100))] as const] : []),
      ...(draw.chance(0.3) ? [['page', String(1 + draw.below(5))] as const] : []),
      ...(draw.chance(0.3) ? [['entity_id', tokenId(draw, around)] as const] : []),
      ...(draw.chance(0.3) ? [['actor_id', applicationId(draw, around)] as const] : []),
      ...(draw.chance(0.3) ? [['denied', draw.one(['true', 'false'])] as const] : []),
    ],
  }),
  listPermissions: (draw) => ({
    query: draw.chance(0.5) ? [] : [['application_type', draw.one(APPLICATION_KINDS)]],
  }),
  updateTenant: (draw) => {
    const settings: Plain = draw.one([{ deduplicate_tokens: 'true' }, { deduplicate_tokens: 'false' }, {}, null]);
    const body = { name: draw.one(['prod', 'test', 'ä🃏']), ...(draw.chance(0.7) && { settings }) };
    return draw.chance(0.2) ? tenantFlaw(draw, body) : { body };
  },
};

function byId(draw: Draw, around: Around): Made {
  if (draw.chance(0.05)) {
    return { id: 'not-a-uuid', flaw: { status: 400, code: 'invalid_request', path: 'id' } };
  }
  const id = applicationId(draw, around);
  return { id: draw.chance(0.1) ? id.toUpperCase() : id };
}

function tokenId(draw: Draw, { tenant, tenants }: Around): string {
  const recent = [...tenant.tokens.keys()].slice(-40);
  if (recent.length > 0 && draw.chance(0.9)) return draw.one(recent);
  const taken = [...tenant.takenIds, ...[...draw.one(tenants).tokens.keys()].slice(-5)];
  return draw.one([...IDS, 'no such token', 'a/b', '..', 'ä', ...taken.slice(-20)]);
}

/** Returns an application and mostly one of its keys whose id is known. */
function keyOf(draw: Draw, around: Around): Made {
  const id = applicationId(draw, around);
  const keys = around.tenant.applications.get(id)?.keys ?? [];
  const ids = keys.flatMap((key) => key.id ?? []);
  const keyId = draw.chance(0.05) || ids.length === 0 ? '00000000-0000-4000-8000-000000000000' : draw.one(ids);
  return { id, keyId };
}

function applicationId(draw: Draw, { tenant, tenants }: Around): string {
  const source = draw.chance(0.9) ? tenant : draw.one(tenants);
  const ids = [...source.applications.keys()];
  return draw.chance(0.05) || ids.length === 0 ? '00000000-0000-4000-8000-000000000000' : draw.one(ids);
}

function paging(draw: Draw): readonly (readonly [string, string])[] {
  if (draw.chance(0.5)) return [];
  return [
    ['size', String(draw.one([1, 2, 3, 5, 20, 100]))],
    ['page', String(1 + draw.below(4))],
  ];
}

const numbers = (draw: Draw) => paging(draw).map(([name, value]) => [name, Number(value)] as const);

function most(draw: Draw): readonly (readonly ['transform', string])[] {
  return draw.chance(0.2) ? [['transform', draw.one(['redact', 'mask'])]] : [];
}

/** Returns the fingerprints that replies have shown, in the order of their tokens. */
function seenFingerprints({ tenant }: Around): readonly string[] {
  return [...tenant.tokens.values()].map(({ fingerprint }) => fingerprint).filter((one) => one !== UNSEEN);
}

function search(draw: Draw, around: Around): PlainObject {
  const prints = seenFingerprints(around).slice(-40);
  const { text: query } = randomQuery(draw, {
    now: around.now,
    id: () => tokenId(draw, around),
    fingerprint: () => (prints.length > 0 ? draw.one(prints) : 'none'),
    application: () => applicationId(draw, around).toLowerCase(),
  });
  return { query, ...Object.fromEntries(most(draw)) };
}

function tokenQuery(draw: Draw, around: Around): readonly (readonly [string, string])[] {
  const query: (readonly [string, string])[] = [...paging(draw)];
  for (let ids = draw.chance(0.2) ? 1 + draw.below(3) : 0; ids > 0; ids--) query.push(['id', tokenId(draw, around)]);
  for (let types = draw.chance(0.25) ? 1 + draw.below(2) : 0; types > 0; types--) {
    query.push(['type', draw.one(['token', 'card', 'bank', 'card_number'])]);
  }
  if (draw.chance(0.25)) query.push([`metadata.${draw.one(METADATA_KEYS)}`, draw.one(['', ...TEXTS])]);
  if (draw.chance(0.1)) query.push([`metadata[${draw.one(['k', 'a.b'])}]`, draw.one(['x', 'X'])]);
  if (draw.chance(0.15)) query.push(['container', draw.one(['/pci/', '/PCI/', '/', '/general/high/', '/none/'])]);
  const prints = seenFingerprints(around).slice(-20);
  if (draw.chance(0.1) && prints.length > 0) query.push(['fingerprint', draw.one(prints)]);
  query.push(...most(draw));
  if (draw.chance(0.08)) query.push(['metadata.k', draw.one(['x', 'nothing'])]);
  return query;
}

function patchBody(draw: Draw, { tenant, now }: Around, id: string): PlainObject {
  const type = tenant.tokens.get(id)?.type ?? 'token';
  const fresh = newTokenBody(draw, now, type);
  const body: Record<string, Plain> = {};
  for (const name of 'data mask metadata containers search_indexes fingerprint_expression expires_at'.split(' ')) {
    if (draw.chance(0.25)) body[name] = name !== 'data' && draw.chance(0.2) ? null : (fresh[name] ?? null);
  }
  if (body['data'] === null) delete body['data'];
  if (draw.chance(0.3)) body['data'] = draw.one(PATCHES);
  const masked = tenant.tokens.get(id)?.masked;
  if (masked !== undefined && draw.chance(0.15)) {
    const edits = isObject(masked) ? [{}, { expiration_year: 2032 }, { a: { deep: 'y' } }] : [];
    body['data'] = edits.length > 0 ? { ...(masked as PlainObject), ...draw.one(edits) } : masked;
  }
  if (draw.chance(0.15)) body['metadata'] = draw.one([{ k: null }, { k: 'X', n: '' }, { 'a.b': 'äö' }, {}, null]);
  if (draw.chance(0.1)) body['mask'] = draw.one([{ number: null }, { extra: '{{ data | stringify | size }}' }, {}]);
  if (draw.chance(0.25)) body['deduplicate_token'] = draw.one([true, true, false, null]);
  return body;
}

const PATCHES: readonly Plain[] = [
  { a: 2 },
  { a: null },
  { a: { deep: [1, null] }, b: 'x' },
  { cvc: null },
  { expiration_year: 2031 },
  { expiration_month: 13 },
  { number: null },
  { number: GOOD['number']?.[1] ?? '' },
  { account_number: '42' },
  {},
  null,
  'replaced',
  [1, 2],
];

function definition(draw: Draw, type: string) {
  const own = ALLOWED[type] ?? [];
  const permissions: readonly string[] =
    type === 'management' ? draw.one([own, own, own.slice(0, 5), ['tenant:read', 'report:read']]) : draw.some(own);
  const rules = type === 'management' ? [] : rulesFor(draw, type);
  const flag = type === 'private' && draw.chance(0.5) ? { can_create_expiring_applications: draw.chance(0.8) } : {};
  const oddities = draw.chance(0.04)
    ? { permissions: draw.one([['token:read'], ['tenant:read'], ['token:delete']]) }
    : {};
  return { name: draw.one(['web', 'back end', 'ä🃏']), permissions, rules, ...flag, ...oddities } as {
    readonly name: string;
    readonly permissions: readonly string[];
    readonly rules: readonly PlainObject[];
    readonly can_create_expiring_applications?: boolean;
  };
}

function newApplicationBody(draw: Draw, { caller, now }: Around): PlainObject {
  const minting = caller.type === 'private';
  const type =
    minting && draw.chance(0.9) ? 'expiring' : draw.one(['private', 'private', 'public', 'management', 'expiring']);
  const { can_create_expiring_applications: flag, ...rest } = definition(draw, type);
  const within = minting && draw.chance(0.7) ? { permissions: [], rules: narrower(draw, caller) } : {};
  const lives = draw.one([30_000, 3_600_000, 86_400_000]);
  return {
    ...rest,
    ...within,
    type,
    ...(draw.chance(0.05) && { create_key: draw.chance(0.3) }),
    ...(flag !== undefined && { can_create_expiring_applications: flag }),
    ...(type === 'expiring' && draw.chance(0.7) && { expires_at: new Date(now + lives).toISOString() }),
    ...(draw.chance(0.02) && { expires_at: new Date(now + lives).toISOString() }),
  };
}

/** Returns rules for an expiring application that its creator can probably grant. */
function narrower(draw: Draw, { rules }: ModelApplication): readonly PlainObject[] {
  const own = rules.find(({ permissions }) => permissions.includes('token:read'));
  const value = `${own?.container ?? '/'}${draw.one(['', '', 'x/'])}`;
  const condition = { attribute: 'container', operator: draw.one(['starts_with', 'equals']), value };
  const { transform = 'mask' } = own ?? {};
  return [{ description: 'child', priority: 1, conditions: [condition], transform, permissions: ['token:read'] }];
}

/** Adds the encoded body, and sometimes replaces it with a transport-level flaw. */
function withText(
  draw: Draw,
  operation: Command['operation'],
  { flaw, query = [], ...made }: Made,
): Omit<Command, 'operation' | 'apiKey'> {
  const { body, id } = made;
  if (operation === 'createApplicationKey') {
    const sent = body && { bodyText: JSON.stringify(body), mediaType: 'application/json' };
    return { query, ...made, ...sent, flaw };
  }
  const common = { query, ...(id !== undefined && { id }), flaw };
  const patch = operation === 'updateToken';
  if (!body) {
    const wrong = flaw === undefined && draw.chance(0.02);
    if (!wrong) return { ...common, ...made };
    const mediaType = draw.one(['application/json', 'text/plain', undefined]);
    const bodyText = draw.one(['{}', ' null', '{"a":1}', 'x']);
    const isNothing = bodyText === '{}' || bodyText === ' null';
    const refused: Flaw = { status: 400, code: 'malformed_json' };
    return { ...common, ...made, bodyText, mediaType, ...(!isNothing && { flaw: refused }) };
  }
  const mediaType = patch ? 'application/merge-patch+json' : 'application/json';
  const shown = { ...common, body, bodyText: JSON.stringify(body), mediaType };
  if (flaw !== undefined || draw.chance(0.97))
    return { ...shown, mediaType: draw.chance(0.1) ? `${mediaType}; charset=utf-8` : mediaType };
  return { ...shown, ...draw.one(transportFlaws(patch, shown.bodyText)) };
}
