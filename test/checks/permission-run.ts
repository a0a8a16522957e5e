import type { Call, Reply } from '../../src/contract/call.ts';
import type { OperationId } from '../../src/contract/operations.ts';
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
  MAY_HOLD,
  type Sight,
  type Target,
} from './permission-oracle.ts';
import { replyFlaws } from './reply-flaws.ts';

/** Every operation on every target, in an order in which none takes away what a later one is about. */
const DEEDS: readonly (readonly [OperationId, readonly Target[]])[] = [
  ['listTokens', ['one', 'two', 'other']],
  ['getToken', ['one', 'two', 'other']],
  ['updateToken', ['one', 'two', 'other']],
  ['deleteToken', ['one', 'two', 'other']],
  ['createToken', ['one', 'two', 'other']],
  ['listApplications', ['own', 'other']],
  ['getApplication', ['own', 'other']],
  ['getApplicationByKey', ['self']],
  ['createApplication', ['private', 'expiring']],
  ['updateApplication', ['own', 'other']],
  ['regenerateApplicationKey', ['own', 'other']],
  ['deleteApplication', ['own', 'other']],
  ['getTenant', ['self']],
  ['updateTenant', ['self']],
  ['getUsageReport', ['self']],
  ['deleteTenant', ['self']],
];

/** Wrong keys, tried on the tenant of the good one, which they leave as it is. */
const KEYLESS: readonly KeyState[] = ['missing', 'malformed', 'unknown'];
/** Keys that were good: each takes a tenant of its own. */
const DEAD: readonly KeyState[] = ['regenerated', 'deleted application', 'deleted tenant'];
/** What an applicant could do does not matter without a good key: every so many applicants suffice. */
const UNAUTHENTICATED_EVERY = 3;

const SIGHT_OF: ReadonlyMap<unknown, Sight> = new Map([
  [undefined, 'nothing'],
  [MASKED, 'mask'],
  [PLAINTEXT, 'reveal'],
]);

export type Door = (call: Call) => Promise<Reply>;
export type Oracle = typeof expected;

export interface Cell {
  readonly who: Applicant;
  readonly state: KeyState;
  readonly operation: OperationId;
  readonly target: Target;
}

export interface MatrixResult {
  readonly cells: number;
  /** Of these, with a key that is good. */
  readonly authenticated: number;
  /** By status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** One line each. */
  readonly wrong: readonly string[];
  /** Successes on another tenant's tokens and applications, and replies that hold anything of it. */
  readonly foreign: number;
}

function deedCall(
  { operation, target }: Cell,
  key: string | undefined,
  { lookedAt }: Fixture,
  world: MatrixWorld,
): Call {
  const isToken = operation.endsWith('Token') || operation === 'listTokens';
  const tokenId = TOKEN_IDS[target === 'two' || target === 'other' ? target : 'one'];
  const id = isToken ? tokenId : target === 'other' ? world.other.applicationId : lookedAt;
  const byId = { params: { id } };
  const rest = { name: 'changed', permissions: ['token:create'] };
  const containers = CONTAINERS[target === 'two' ? 'two' : 'one'];
  const taken = target === 'other' && { id };
  const child =
    target === 'expiring' ? { type: 'expiring', permissions: ['token:read'] } : { ...rest, type: 'private' };
  const parts: Readonly<Record<OperationId, readonly [Partial<Call>, object?]>> = {
    listTokens: [{ query: [['id', id]] }],
    getToken: [byId],
    updateToken: [byId, { metadata: { seen: 'yes' } }],
    createToken: [{}, { ...taken, type: 'token', data: PLAINTEXT, mask: MASKED, containers }],
    deleteToken: [byId],
    listApplications: [{ query: [['id', id]] }],
    getApplication: [byId],
    getApplicationByKey: [{}],
    createApplication: [{}, { name: 'child', ...child }],
    updateApplication: [byId, rest],
    regenerateApplicationKey: [byId],
    deleteApplication: [byId],
    getTenant: [{}],
    updateTenant: [{}, { name: 'changed' }],
    getUsageReport: [{}],
    deleteTenant: [{}],
  };
  return callOf(key, operation, ...parts[operation]);
}

/** What a reply shows, in the oracle's words. */
function shown(operation: OperationId, { status, bodyText }: Reply): Expected {
  if (status >= 300 || bodyText === undefined) return { status };
  const body = JSON.parse(bodyText);
  const isToken = operation.endsWith('Token');
  const items: readonly { readonly data?: unknown }[] = isToken ? [body] : (body.data ?? []);
  const sight = operation === 'listTokens' || isToken ? items.map(({ data }) => SIGHT_OF.get(data))[0] : undefined;
  const total = operation.startsWith('list') && { items: body.pagination.total_items };
  return { status, ...total, ...(sight && { sight }) };
}

const same = (a: Expected, b: Expected) => a.status === b.status && a.sight === b.sight && a.items === b.items;

export interface MatrixOptions {
  readonly seed: number;
  /** Where the calls go; the vault itself when absent. */
  readonly door?: (world: MatrixWorld) => Door;
  readonly oracle?: Oracle;
  /** Which cells to run; all when absent. */
  readonly keep?: (cell: Cell, index: number) => boolean;
}

/** Runs every cell and holds it to the oracle. */
export async function runMatrix({
  seed,
  door,
  oracle = expected,
  keep = () => true,
}: MatrixOptions): Promise<MatrixResult> {
  const world = await openMatrixWorld(seed);
  const call = door?.(world) ?? world.vault.dispatch;
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  let cells = 0;
  let authenticated = 0;
  let foreign = 0;
  let index = 0;

  async function run(cell: Cell, key: string | undefined, fixture: Fixture): Promise<void> {
    if (!keep(cell, index++)) return;
    const request = deedCall(cell, key, fixture, world);
    const reply = await call(request);
    const found = shown(cell.operation, reply);
    const wanted = oracle(cell.who, cell.state, cell.operation, cell.target);
    const flaws = replyFlaws(request, reply);
    cells++;
    if (cell.state === 'good') authenticated++;
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
    if (reply.bodyText?.includes(FOREIGN) && !request.bodyText?.includes(FOREIGN)) foreign++;
    else if (
      cell.target === 'other' &&
      cell.operation !== 'createToken' &&
      (found.items ?? 1) > 0 &&
      found.status < 300
    )
      foreign++;
    if (same(found, wanted) && flaws.length === 0) return;
    wrong.push(JSON.stringify({ ...cell, wanted, found, ...(flaws.length > 0 && { flaws }) }));
  }

  async function runState(who: Applicant, state: KeyState, fixture: Fixture): Promise<void> {
    const key = await world.spoil(fixture, state);
    for (const [operation, targets] of DEEDS) {
      for (const target of targets) await run({ who, state, operation, target }, key, fixture);
    }
  }

  const before = await otherTenant(world);
  for (const [number, who] of APPLICANTS.entries()) {
    const unauthenticated = number % UNAUTHENTICATED_EVERY === 0;
    const fixture = await world.prepare(who);
    for (const state of unauthenticated ? KEYLESS : []) await runState(who, state, fixture);
    await runState(who, 'good', fixture);
    const dead = who.type === 'expiring' ? [...DEAD, 'expired' as const] : DEAD;
    for (const state of unauthenticated ? dead : []) await runState(who, state, await world.prepare(who));
  }
  if ((await otherTenant(world)) !== before) foreign++;
  await world.vault.close();
  return { cells, authenticated, statuses, wrong, foreign };
}

/** All that the other tenant holds, as its own applications see it. */
async function otherTenant({ other, do: perform }: MatrixWorld): Promise<string> {
  const tokens = await perform(other.key, 'listTokens');
  const applications = await perform(other.management, 'listApplications');
  const tenant = await perform(other.management, 'getTenant');
  return [tokens, applications, tenant].map(({ bodyText }) => bodyText).join('\n');
}

/** Which permission each application type may be given, plainly and in a rule: decisions §6. */
export async function runCatalogue(seed: number): Promise<MatrixResult> {
  const world = await openMatrixWorld(seed);
  const { management } = await world.prepare({ type: 'public', permissions: ['token:create'], rules: [] });
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  const types = Object.keys(MAY_HOLD) as Applicant['type'][];
  const cells = types.flatMap((type) =>
    [...new Set(Object.values(MAY_HOLD).flat())].flatMap((permission) =>
      [true, false].map((plainly) => ({ type, permission, plainly })),
    ),
  );
  for (const { type, permission, plainly } of cells) {
    const rule = { description: '', priority: 1, transform: 'mask', permissions: [permission] };
    const place = { conditions: [{ attribute: 'id', operator: 'equals', value: 'x' }] };
    const scoped = { ...rule, ...(type === 'expiring' ? place : { container: '/' }) };
    const body = { name: 'a', type, ...(plainly ? { permissions: [permission] } : { rules: [scoped] }) };
    const { status } = await world.vault.dispatch(callOf(management, 'createApplication', {}, body));
    // Rules are for public, private and expiring applications.
    const may = MAY_HOLD[type].includes(permission) && (plainly || type !== 'management');
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== (may ? 201 : 400)) wrong.push(JSON.stringify({ type, permission, plainly, wanted: may, status }));
  }
  await world.vault.close();
  return { cells: cells.length, authenticated: cells.length, statuses, wrong, foreign: 0 };
}
