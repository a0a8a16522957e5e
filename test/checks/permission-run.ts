import type { Reply } from '../../src/contract/call.ts';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { steppingClock } from '../fixed-world.ts';
import { CheckFailure } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { compare } from './model-fuzz.ts';
import { ALLOWED } from './model-fuzz-access.ts';
import { createDraw } from './model-fuzz-bodies.ts';
import { type Command, createModel, type Expected } from './model-fuzz-state.ts';
import { openTargets } from './model-fuzz-targets.ts';
import type { PlainObject } from './model-fuzz-values.ts';
import { EVERYTHING } from './perform.ts';
import { APPLICANTS } from './permission-applicants.ts';
import type { OpenStores } from './start-daemons.ts';

const PLAINTEXT = 'plain-4242';
const MASKED = 'masked-XXXX';
const FOREIGN = 'foreign-canary';
const TOKEN_IDS = { one: 'token-one', two: 'token-two', other: 'token-foreign' } as const;
const CONTAINERS = { one: ['/pci/high/'], two: ['/pci/high/', '/bank/high/'] } as const;

/** Invalid keys. They change nothing, so they share the tenant of the good key. */
const KEYLESS = ['missing', 'malformed', 'unknown'] as const;
/** Keys that were valid once. Each needs its own tenant. */
const DEAD = ['regenerated', 'deleted application', 'deleted tenant', 'expired'] as const;
type KeyState = 'good' | (typeof KEYLESS)[number] | (typeof DEAD)[number];

/** `one`: a token in /pci/high/. `two`: a token in /pci/high/ and /bank/high/. `other`: an object of another tenant. */
type Target = 'one' | 'two' | 'other' | 'own' | 'private' | 'expiring' | 'self';

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

/** The body of each update. */
const PATCHES: readonly PlainObject[] = [
  { metadata: { seen: 'yes' } },
  { data: PLAINTEXT },
  { mask: MASKED },
  { search_indexes: ['{{ data }}'] },
  { fingerprint_expression: '{{ data | stringify }}' },
  { deduplicate_token: true },
  { expires_at: '12/31/2099' },
  { containers: ['/bank/high/'] },
];

/** Invalid keys are tried with every third applicant, because permissions do not matter without a valid key. */
const UNAUTHENTICATED_EVERY = 3;
const isTriedWithoutKey = (number: number) => number % UNAUTHENTICATED_EVERY === 0;
const deadStatesOf = ({ type }: PlainObject) => DEAD.filter((state) => state !== 'expired' || type === 'expiring');

interface Cell {
  readonly who: PlainObject;
  readonly state: KeyState;
  readonly operation: OperationId;
  readonly target: Target;
  readonly patch?: PlainObject;
}

export interface MatrixResult {
  /** The cells whose calls went to the file target, to daemons over HTTP, and to the catalogue of permissions. */
  readonly cells: Record<'direct' | 'http' | 'catalogue', number>;
  readonly authenticated: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
  /** Replies that contain data of another tenant. */
  readonly foreign: number;
}

/** A tenant with two tokens, the applicant, and another application. */
interface Fixture {
  readonly management: string;
  readonly owner: string;
  readonly applicant: { readonly id: string; readonly key: string };
  /** The application that the calls read, change and delete, and one of its keys. */
  readonly lookedAt: string;
  readonly lookedAtKey: string;
}

function commandOf(
  apiKey: string | undefined,
  operation: OperationId,
  { query = [], ...parts }: Partial<Pick<Command, 'id' | 'keyId' | 'query' | 'body'>> = {},
): Command {
  const { mediaType = 'application/json' }: Operation = OPERATIONS[operation];
  const text = parts.body && { mediaType, bodyText: JSON.stringify(parts.body) };
  return { operation, apiKey, query, ...parts, ...text };
}

function commandFor(
  { operation, target, patch }: Cell,
  key: string | undefined,
  own: Fixture,
  foreignId: string,
): Command {
  const row: Operation = OPERATIONS[operation];
  const tokenId = TOKEN_IDS[target === 'two' || target === 'other' ? target : 'one'];
  const applicationId = target === 'other' ? foreignId : own.lookedAt;
  const id = row.permission?.startsWith('token:') ? tokenId : applicationId;
  const rest = { name: 'changed', permissions: ['token:create'] };
  const containers = CONTAINERS[target === 'two' ? 'two' : 'one'];
  const child =
    target === 'expiring' ? { type: 'expiring', permissions: ['token:read'] } : { ...rest, type: 'private' };
  const created = { type: 'token', data: PLAINTEXT, mask: MASKED, containers };
  const taken = { ...(target === 'other' && { id }), ...created };
  const search = { query: `id:${tokenId}` };
  /** Bodies that replace the example, which names records of another vault. */
  const bodies: Readonly<Partial<Record<OperationId, PlainObject>>> = {
    ...(patch && { updateToken: patch }),
    createToken: taken,
    previewToken: taken,
    tokenize: { created },
    detokenize: { shown: `{{ ${tokenId} }}` },
    searchTokens: search,
    searchTokensByCursor: search,
    createApplication: { name: 'child', ...child },
    explainAccess: { application_id: applicationId, token_id: TOKEN_IDS.one },
    measureReach: { application_id: applicationId },
    updateApplication: rest,
  };
  const [example] = Object.values(EXAMPLES[operation]);
  const { id: hasId, key_id: hasKeyId } = row.params?.properties ?? {};
  return commandOf(key, operation, {
    ...(hasId && { id }),
    ...(hasKeyId && { keyId: own.lookedAtKey }),
    ...(row.query?.properties?.['id'] && { query: [['id', id] as const] }),
    ...(row.body && { body: bodies[operation] ?? Object(example?.body) }),
  });
}

export interface MatrixOptions {
  readonly seed: number;
  /** Opens the stores of the daemons. Default: one daemon on a file. */
  readonly openStores?: OpenStores;
  /** The applicants whose cells run. Default: all. */
  readonly applicants?: readonly PlainObject[];
  /** Returns whether the calls of an applicant go over HTTP, too, by its number. Default: all do. */
  readonly overHttp?: (number: number) => boolean;
  /** Returns whether a cell with an invalid key runs, by its index among them. Default: all do. */
  readonly keep?: (index: number) => boolean;
  /** Returns whether such a cell is sent over HTTP, too: a daemon limits failed authentications. Default: all are. */
  readonly isSent?: (index: number) => boolean;
  /** For the control: the number of the cell, among those that show a masked token, of which the model shows the data. */
  readonly wrongCell?: number;
}

/** Runs every cell on both targets and compares the replies with each other and with the model of the fuzz. */
export async function runMatrix({
  seed,
  openStores,
  applicants = APPLICANTS,
  overHttp = () => true,
  keep = () => true,
  isSent = () => true,
  wrongCell = -1,
}: MatrixOptions): Promise<MatrixResult> {
  using folder = makeMemoryFolder();
  const clock = steppingClock();
  const vaults = applicants.map((who, number) => (isTriedWithoutKey(number) ? 1 + deadStatesOf(who).length : 1));
  const targets = await openTargets({
    folder: folder.path,
    seed: `matrix ${seed}`,
    clock,
    // Two more: the other tenant, and that of the catalogue.
    tenants: vaults.reduce((sum, count) => sum + count, 2),
    draw: createDraw(seed),
    openStores,
  });
  /** Has the tenants in use only, because the model looks for a key in each of them. */
  const model = createModel([], clock.now());
  const start = clock.now();
  const compared = { model, targets, clock };
  const unused = targets.tenants.values();
  const used: string[] = [];
  const cells = { direct: 0, http: 0, catalogue: 0 };
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  let [steps, authenticated, foreign, invalid, masked] = [0, 0, 0, 0, 0];
  /** Whether all calls go to the file target alone. Its ids then differ from those of the daemons for good. */
  let isDirect = false;

  /** Makes a call of the fixture, which must succeed as the model says. Resolves to the body of its reply. */
  async function perform(...parts: Parameters<typeof commandOf>): Promise<PlainObject> {
    const { reply, actual, what } = await compare(compared, commandOf(...parts), ++steps, { isDirect });
    if (what === undefined && reply.status < 300) return actual;
    throw new CheckFailure(`the fixture: ${parts[1]} answered ${reply.status}: ${what ?? reply.bodyText}`);
  }

  async function apply(management: string, body: PlainObject) {
    const { id, key } = await perform(management, 'createApplication', { body });
    return { id: String(id), key: String(key) };
  }

  async function createTenant(name: string, tokens: readonly (readonly [keyof typeof TOKEN_IDS, string])[]) {
    const { value } = unused.next();
    if (value === undefined) throw new Error('unreachable: a tenant for each use');
    for (const [id, tenant] of createModel([value], start).tenants) model.tenants.set(id, tenant);
    used.push(value.tenant.id);
    const management = value.application.key ?? '';
    const owner = await apply(management, { ...EVERYTHING, name });
    for (const [which, data] of tokens) {
      const containers = CONTAINERS[which === 'two' ? 'two' : 'one'];
      const body = { id: TOKEN_IDS[which], type: 'token', data, mask: MASKED, containers };
      await perform(owner.key, 'createToken', { body });
    }
    return { management, owner };
  }

  async function prepare(who: PlainObject): Promise<Fixture> {
    const { management, owner } = await createTenant('own', [
      ['one', PLAINTEXT],
      ['two', PLAINTEXT],
    ]);
    const applicant = await apply(management, who);
    const { id: lookedAtKey } = await perform(management, 'createApplicationKey', { id: owner.id });
    return { management, owner: owner.key, applicant, lookedAt: owner.id, lookedAtKey: String(lookedAtKey) };
  }

  /** Brings the applicant's key into the given state. Resolves to the key to send. */
  async function spoil({ management, applicant: { id, key } }: Fixture, state: KeyState): Promise<string | undefined> {
    // Use the key once while it is valid, so that each vault caches it. A cached key must end on time too.
    const use = { operation: 'getTenant', apiKey: key, params: {}, query: [], traceId: 'spoil' } as const;
    await (isDirect ? targets.callDirect(use) : targets.callEach(use));
    if (state === 'missing') return undefined;
    if (state === 'malformed') return key.slice(0, -1);
    if (state === 'regenerated') await perform(management, 'regenerateApplicationKey', { id });
    if (state === 'deleted application') await perform(management, 'deleteApplication', { id });
    if (state === 'deleted tenant') await perform(management, 'deleteTenant');
    // The default lifetime of an expiring application.
    if (state === 'expired') clock.advance(60_000);
    if (state !== 'unknown') return key;
    // Well-formed, but issued to another application that is already deleted.
    const other = await apply(management, { name: 'x', type: 'private', permissions: ['token:read'] });
    await perform(management, 'deleteApplication', { id: other.id });
    return other.key;
  }

  /** Shows the data of a masked token in the wrong cell. */
  function change(expected: Expected): Expected {
    const text = JSON.stringify(expected.body) ?? '';
    if (!text.includes(`"data":"${MASKED}"`) || masked++ !== wrongCell) return expected;
    return { ...expected, body: JSON.parse(text.replace(`"data":"${MASKED}"`, `"data":"${PLAINTEXT}"`)) };
  }

  function note({ status, bodyText }: Reply, command: Command, what: string | undefined, cell: object): void {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (bodyText?.includes(FOREIGN) && !command.bodyText?.includes(FOREIGN)) foreign++;
    if (what !== undefined) wrong.push(`${JSON.stringify(cell)}: ${what}`);
  }

  let other: Awaited<ReturnType<typeof createTenant>> | undefined;

  async function run(cell: Cell, key: string | undefined, fixture: Fixture): Promise<void> {
    const isValid = cell.state === 'good';
    if (!isValid && !keep(invalid++)) return;
    const isAlone = isDirect || (!isValid && !isSent(invalid - 1));
    const command = commandFor(cell, key, fixture, other?.owner.id ?? '');
    const { reply, what } = await compare(compared, command, ++steps, { isDirect: isAlone, change });
    cells.direct++;
    if (!isAlone) cells.http++;
    if (isValid) authenticated++;
    note(reply, command, what, cell);
  }

  async function runState(who: PlainObject, state: KeyState, fixture: Fixture): Promise<void> {
    const key = state === 'good' ? fixture.applicant.key : await spoil(fixture, state);
    for (const [operation, own] of TASKS) {
      for (const target of own) {
        const cell = { who, state, operation, target };
        if (operation !== 'updateToken') await run(cell, key, fixture);
        else for (const patch of PATCHES) await run({ ...cell, patch }, key, fixture);
        if (operation !== 'updateToken' || state !== 'good' || (target !== 'one' && target !== 'two')) continue;
        await perform(fixture.owner, operation, { id: TOKEN_IDS[target], body: { containers: CONTAINERS[target] } });
      }
    }
  }

  async function runApplicant(who: PlainObject, number: number): Promise<void> {
    used.length = 0;
    const fixture = await prepare(who);
    for (const state of isTriedWithoutKey(number) ? KEYLESS : []) await runState(who, state, fixture);
    await runState(who, 'good', fixture);
    for (const state of isTriedWithoutKey(number) ? deadStatesOf(who) : [])
      await runState(who, state, await prepare(who));
    for (const id of used) model.tenants.delete(id);
  }

  /** Tries to create each application type with each permission, directly and in a rule (decisions §6). */
  async function runCatalogue(management: string): Promise<void> {
    for (const type of Object.keys(ALLOWED)) {
      for (const permission of new Set(Object.values(ALLOWED).flat())) {
        const place =
          type === 'expiring'
            ? { conditions: [{ attribute: 'id', operator: 'equals', value: 'x' }] }
            : { container: '/' };
        const rule = { description: '', priority: 1, transform: 'mask', permissions: [permission], ...place };
        for (const granted of [{ permissions: [permission] }, { rules: [rule] }]) {
          const command = commandOf(management, 'createApplication', { body: { name: 'a', type, ...granted } });
          const { reply, what } = await compare(compared, command, ++steps);
          cells.catalogue++;
          note(reply, command, what, { type, granted });
        }
      }
    }
  }

  try {
    other = await createTenant(FOREIGN, [['other', FOREIGN]]);
    await runCatalogue((await createTenant('catalogue', [])).management);
    for (isDirect of [false, true]) {
      for (const [number, who] of applicants.entries())
        if (overHttp(number) !== isDirect) await runApplicant(who, number);
      // The other tenant is as the model knows it.
      await perform(other.owner.key, 'listTokens');
      for (const operation of ['listApplications', 'getTenant'] as const) await perform(other.management, operation);
    }
    return { cells, authenticated, statuses, wrong, foreign };
  } finally {
    await targets.close();
  }
}
