import type { Call, Reply } from '../../src/contract/call.ts';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { ALLOWED } from './model-fuzz-access.ts';
import { createDraw } from './model-fuzz-bodies.ts';
import { paramsOf } from './perform.ts';
import { APPLICANTS } from './permission-applicants.ts';
import {
  CONTAINERS,
  callOf,
  type Fixture,
  FOREIGN,
  MASKED,
  type MatrixWorld,
  openMatrixWorld,
  PLAINTEXT,
  TOKEN_IDS,
} from './permission-fixture.ts';
import {
  type Applicant,
  type Expected,
  expected,
  type KeyState,
  type Member,
  type Sight,
  type Target,
} from './permission-oracle.ts';
import { replyFlaws } from './reply-flaws.ts';
import { type OpenStores, startDaemons } from './start-daemons.ts';

/** Returns the targets of an operation: tokens or applications of both tenants, or the caller itself. */
function targetsOf({ permission, params, query, body, orFlag }: Operation): readonly Target[] {
  if (permission?.startsWith('token:')) return ['one', 'two', 'other'];
  if (orFlag !== undefined) return ['private', 'expiring'];
  return params || query?.properties?.['id'] || body?.properties?.['application_id'] ? ['own', 'other'] : ['self'];
}

/**
 * Returns the rank of an operation: reads, API keys, changes, deletes, creates, and last the operations on the tenant.
 */
function order({ path, method, status }: Operation): number {
  if (path.endsWith('/keys/{key_id}') && method === 'DELETE') return 0.5;
  if (path.endsWith('/keys') && method === 'POST') return 0.4;
  const creates = status === 201;
  return (path.startsWith('/tenants') ? 10 : 0) + (creates ? 3 : method === 'GET' ? 0 : method === 'DELETE' ? 2 : 1);
}

/** Every operation with its targets, ordered so that none removes what a later one needs. */
const TASKS: readonly (readonly [OperationId, readonly Target[]])[] = Object.entries<Operation>(OPERATIONS)
  .toSorted(([, a], [, b]) => order(a) - order(b))
  .map(([id, row]) => [id as OperationId, targetsOf(row)]);

/** The body of each update. Updates keep the values that the oracle depends on. */
const PATCHES: Readonly<Record<Member, object>> = {
  metadata: { metadata: { seen: 'yes' } },
  data: { data: PLAINTEXT },
  mask: { mask: MASKED },
  search_indexes: { search_indexes: ['{{ data }}'] },
  fingerprint_expression: { fingerprint_expression: '{{ data | stringify }}' },
  deduplicate_token: { deduplicate_token: true },
  expires_at: { expires_at: '12/31/2099' },
  containers: { containers: ['/bank/high/'] },
};
const MEMBERS = Object.keys(PATCHES) as Member[];

/** Invalid keys. They change nothing, so they share the tenant of the good key. */
const KEYLESS: readonly KeyState[] = ['missing', 'malformed', 'unknown'];
/** Keys that were valid once. Each needs its own tenant. */
const DEAD: readonly KeyState[] = ['regenerated', 'deleted application', 'deleted tenant'];
/** Invalid keys are tried with every third applicant, because permissions do not matter without a valid key. */
const UNAUTHENTICATED_EVERY = 3;

const SIGHT_OF: ReadonlyMap<unknown, Sight> = new Map([
  [undefined, 'nothing'],
  [MASKED, 'mask'],
  [PLAINTEXT, 'reveal'],
]);

export type Oracle = typeof expected;

export interface Cell {
  readonly who: Applicant;
  readonly state: KeyState;
  readonly operation: OperationId;
  readonly target: Target;
  readonly member?: Member;
}

export interface MatrixResult {
  readonly cells: number;
  readonly authenticated: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
  /** Successes on objects of another tenant, and replies that contain its data. */
  readonly foreign: number;
}

/** Operations that return the caller's own token, whatever id the call names. */
const OWN_TOKENS: readonly OperationId[] = ['createToken', 'previewToken', 'tokenize'];

function deedCall(
  { operation, target, member }: Cell,
  key: string | undefined,
  { lookedAt, lookedAtKey }: Fixture,
  world: MatrixWorld,
): Call {
  const row: Operation = OPERATIONS[operation];
  const tokenId = TOKEN_IDS[target === 'two' || target === 'other' ? target : 'one'];
  const applicationId = target === 'other' ? world.other.applicationId : lookedAt;
  const id = row.permission?.startsWith('token:') ? tokenId : applicationId;
  const rest = { name: 'changed', permissions: ['token:create'] };
  const containers = CONTAINERS[target === 'two' ? 'two' : 'one'];
  const taken = target === 'other' && { id };
  const child =
    target === 'expiring' ? { type: 'expiring', permissions: ['token:read'] } : { ...rest, type: 'private' };
  const created = { type: 'token', data: PLAINTEXT, mask: MASKED, containers };
  /** Bodies that replace the example, where the example would change what the oracle depends on. */
  const bodies: Readonly<Partial<Record<OperationId, object>>> = {
    ...(member && { updateToken: PATCHES[member] }),
    createToken: { ...taken, ...created },
    previewToken: { ...taken, ...created },
    tokenize: [created],
    detokenize: [`{{ ${tokenId} }}`],
    searchTokens: { query: `id:${tokenId}` },
    searchTokensByCursor: { query: `id:${tokenId}` },
    createApplication: { name: 'child', ...child },
    explainAccess: { application_id: applicationId, token_id: TOKEN_IDS.one },
    measureReach: { application_id: applicationId },
    updateApplication: rest,
  };
  const [example] = Object.values(EXAMPLES[operation]);
  const parts = {
    ...(row.params && { params: paramsOf(row, { id, key_id: lookedAtKey }) }),
    ...(row.query?.properties?.['id'] && { query: [['id', id] as const] }),
  };
  return callOf(key, operation, parts, row.body && (bodies[operation] ?? Object(example?.body)));
}

/** Converts a reply to the terms of the oracle. */
function shown(operation: OperationId, { status, bodyText }: Reply): Expected {
  if (status >= 300 || bodyText === undefined) return { status };
  const body = JSON.parse(bodyText);
  const isToken = /token/i.test(operation);
  const items: readonly unknown[] = Array.isArray(body)
    ? body
    : isToken && !body.data?.map
      ? [body]
      : (body.data ?? []);
  const [data] = items.map((item) => (typeof item === 'string' ? item : Object(item).data));
  const sight = isToken && items.length > 0 ? SIGHT_OF.get(data) : undefined;
  const isRead = operation === 'updateToken' && { isRead: 'fingerprint' in body };
  const total = body.pagination && { items: body.pagination.total_items ?? (isToken ? items.length : undefined) };
  return { status, ...total, ...(sight && { sight }), ...isRead };
}

const same = (a: Expected, b: Expected) =>
  a.status === b.status && a.sight === b.sight && a.items === b.items && a.isRead === b.isRead;

export interface MatrixOptions {
  readonly seed: number;
  /** Whether to send calls over HTTP, to a daemon for each vault. Default: false. */
  readonly overHttp?: boolean;
  /** Opens the stores of the vaults. Default: one store on a new file. */
  readonly openStores?: OpenStores;
  readonly oracle?: Oracle;
  /** The applicants whose cells run. Default: all. */
  readonly applicants?: readonly Applicant[];
  /** Selects the cells to run. Default: all. */
  readonly keep?: (cell: Cell, index: number) => boolean;
}

/** Runs every cell and compares the reply with the oracle. */
export async function runMatrix({
  seed,
  overHttp = false,
  openStores,
  oracle = expected,
  applicants = APPLICANTS,
  keep = () => true,
}: MatrixOptions): Promise<MatrixResult> {
  const world = await openMatrixWorld(seed, openStores);
  const daemons = overHttp ? await startDaemons(world.vaults, createDraw(seed)) : undefined;
  const call = daemons?.call ?? world.dispatch;
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  let [cells, authenticated, foreign, index] = [0, 0, 0, 0];

  async function run(cell: Cell, key: string | undefined, fixture: Fixture): Promise<void> {
    if (!keep(cell, index++)) return;
    const request = deedCall(cell, key, fixture, world);
    const reply = await call(request);
    const found = shown(cell.operation, reply);
    const wanted = oracle(cell.who, cell.state, cell.operation, cell.target, cell.member);
    const flaws = replyFlaws(request, reply);
    cells++;
    if (cell.state === 'good') authenticated++;
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
    const isReached = found.status < 300 && (found.items ?? 1) > 0 && !OWN_TOKENS.includes(cell.operation);
    const isShown = reply.bodyText?.includes(FOREIGN) && !request.bodyText?.includes(FOREIGN);
    if (isShown || (cell.target === 'other' && isReached)) foreign++;
    if (same(found, wanted) && flaws.length === 0) return;
    wrong.push(JSON.stringify({ ...cell, wanted, found, ...(flaws.length > 0 && { flaws }) }));
  }

  async function runDeed(cell: Cell, key: string | undefined, fixture: Fixture): Promise<void> {
    if (cell.operation !== 'updateToken') return run(cell, key, fixture);
    for (const member of MEMBERS) await run({ ...cell, member }, key, fixture);
    if (cell.state === 'good' && (cell.target === 'one' || cell.target === 'two')) await fixture.restore(cell.target);
  }

  async function runState(who: Applicant, state: KeyState, fixture: Fixture): Promise<void> {
    const key = await world.spoil(fixture, state);
    for (const [operation, targets] of TASKS) {
      for (const target of targets) await runDeed({ who, state, operation, target }, key, fixture);
    }
  }

  const before = await otherTenant(world);
  for (const [number, who] of applicants.entries()) {
    const unauthenticated = number % UNAUTHENTICATED_EVERY === 0;
    const fixture = await world.prepare(who);
    for (const state of unauthenticated ? KEYLESS : []) await runState(who, state, fixture);
    await runState(who, 'good', fixture);
    const dead = who.type === 'expiring' ? [...DEAD, 'expired' as const] : DEAD;
    for (const state of unauthenticated ? dead : []) await runState(who, state, await world.prepare(who));
  }
  if ((await otherTenant(world)) !== before) foreign++;
  await daemons?.stop();
  await world.close();
  return { cells, authenticated, statuses, wrong, foreign };
}

/** Returns everything that the other tenant holds, as its own applications see it. */
async function otherTenant({ other, do: perform }: MatrixWorld): Promise<string> {
  const tokens = await perform(other.key, 'listTokens');
  const applications = await perform(other.management, 'listApplications');
  const tenant = await perform(other.management, 'getTenant');
  return [tokens, applications, tenant].map(({ bodyText }) => bodyText).join('\n');
}

/** Tries to create each application type with each permission, directly and in a rule (decisions §6). */
export async function runCatalogue(seed: number): Promise<MatrixResult> {
  const world = await openMatrixWorld(seed);
  const { management } = await world.prepare({ type: 'public', permissions: ['token:create'], rules: [] });
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  const types = Object.keys(ALLOWED) as Applicant['type'][];
  const cells = types.flatMap((type) =>
    [...new Set(Object.values(ALLOWED).flat())].flatMap((permission) =>
      [true, false].map((plainly) => ({ type, permission, plainly })),
    ),
  );
  for (const { type, permission, plainly } of cells) {
    const rule = { description: '', priority: 1, transform: 'mask', permissions: [permission] };
    const place = { conditions: [{ attribute: 'id', operator: 'equals', value: 'x' }] };
    const scoped = { ...rule, ...(type === 'expiring' ? place : { container: '/' }) };
    const body = { name: 'a', type, ...(plainly ? { permissions: [permission] } : { rules: [scoped] }) };
    const { status } = await world.dispatch(callOf(management, 'createApplication', {}, body));
    // Management applications have no rules.
    const may = ALLOWED[type]?.includes(permission) === true && (plainly || type !== 'management');
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== (may ? 201 : 400)) wrong.push(JSON.stringify({ type, permission, plainly, wanted: may, status }));
  }
  await world.close();
  return { cells: cells.length, authenticated: cells.length, statuses, wrong, foreign: 0 };
}
