import { isDeepStrictEqual } from 'node:util';
import type { Call, Reply } from '../../src/contract/call.ts';
import { PROBLEM_TYPE_PREFIX } from '../../src/contract/problems.ts';
import { type SteppingClock, steppingClock } from '../fixed-world.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures, mustAllFail } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { createDraw, type Draw } from './model-fuzz-bodies.ts';
import { nextCommand } from './model-fuzz-generator.ts';
import { answer } from './model-fuzz-model.ts';
import {
  addApplication,
  type Command,
  createModel,
  type Expected,
  type Ignored,
  iso,
  type Model,
  UNSEEN,
} from './model-fuzz-state.ts';
import { openTargets, type Targets } from './model-fuzz-targets.ts';
import { isObject, type Plain, type PlainObject } from './model-fuzz-values.ts';
import { replyFlaws } from './perform.ts';
import type { OpenStores } from './start-daemons.ts';

/** Steps before the vaults are replaced. This keeps the state small and failures quick to reproduce. */
const STEPS_A_VAULT = 1_000;
/** Pairs of vaults that run in parallel, because they also wait. */
const PAIRS = 4;
const TENANTS = 4;

interface FuzzOptions {
  readonly seed: number;
  readonly steps: number;
  readonly ignores?: Ignored;
  readonly tamper?: Compared['tamper'];
  /** Opens the stores of the daemons. Default: one daemon on a file. */
  readonly openStores?: OpenStores;
}

interface Counted extends FuzzOptions {
  readonly count: (name: string) => void;
  /** Whether another pair of vaults has found a difference. */
  readonly isOver: () => boolean;
}

interface Difference {
  readonly part: number;
  readonly step: number;
  readonly what: string;
  readonly command: Command;
}

interface FuzzResult {
  readonly figures: Figures;
  readonly differences: readonly Difference[];
}

/** Sends the same commands to the daemons, to a vault opened directly and to the model. All three must agree. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const counts = new Map<string, number>();
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const differences: Difference[] = [];
  const stepsAVault = Math.min(STEPS_A_VAULT, Math.ceil(options.steps / PAIRS));
  let part = 0;
  let done = 0;
  async function walkPairs(): Promise<void> {
    while (part * stepsAVault < options.steps && differences.length === 0) {
      const steps = Math.min(stepsAVault, options.steps - part * stepsAVault);
      const found = await fuzzVault({ ...options, count, isOver: () => differences.length > 0 }, part++, steps);
      if (found) differences.push(found);
      done += found ? found.step : steps;
    }
  }
  await Promise.all(Array.from({ length: PAIRS }, walkPairs));
  const failures = [...counts].filter(([name]) => name.endsWith('_5xx')).reduce((sum, [, number]) => sum + number, 0);
  const figures = { seed: options.seed, steps: done, differences: differences.length, server_errors: failures };
  return { figures: { ...figures, ...Object.fromEntries([...counts].sort(byName)) }, differences };
}

const byName = ([a]: readonly [string, number], [b]: readonly [string, number]) => (a < b ? -1 : 1);

async function fuzzVault(options: Counted, part: number, steps: number): Promise<Difference | undefined> {
  using folder = makeMemoryFolder();
  const clock = steppingClock();
  const draw = createDraw(options.seed * 1_000_003 + part);
  const seed = `${options.seed}/${part}`;
  const daemonDraw = createDraw(options.seed * 1_000_033 + part);
  const { openStores } = options;
  const targets = await openTargets({
    folder: folder.path,
    seed,
    clock,
    tenants: TENANTS,
    draw: daemonDraw,
    openStores,
  });
  try {
    const model = createModel(targets.tenants, clock.now(), options.ignores);
    const found = await walk({ ...options, model, targets, clock, draw, steps });
    return found && { part, ...found };
  } finally {
    await targets.close();
  }
}

/** What answers a command: the vaults under test, and the model. */
interface Compared {
  readonly model: Model;
  readonly targets: Targets;
  readonly clock: SteppingClock;
  /** Changes the replies of the file target, for a control. */
  readonly tamper?: ((reply: Reply) => Reply) | undefined;
}

interface CompareOptions {
  readonly isDirect?: boolean;
  /** Changes what the model demands, for a control. */
  readonly change?: (expected: Expected) => Expected;
}

/** Sends a command to both targets. `what` is how a reply differs from the other one or from the model. */
export async function compare(
  { model, targets, clock, tamper = (reply) => reply }: Compared,
  command: Command,
  step: number,
  { isDirect = false, change = (expected) => expected }: CompareOptions = {},
) {
  const call = callOf(command, step);
  const [daemon, untouched] = await (isDirect ? targets.callDirect(call) : targets.call(call));
  const reply = tamper(untouched);
  const actual = (reply.bodyText ? JSON.parse(reply.bodyText) : {}) as PlainObject;
  const expected = change(answer(model, command, clock.now(), actual));
  const what =
    targetsDiffer(command, daemon, reply) ?? replyFlaws(call, reply)[0] ?? modelDiffers(expected, reply, actual);
  return { daemon, reply, actual, what };
}

interface Walk extends Counted, Compared {
  readonly draw: Draw;
}

async function walk({ draw, count, steps, isOver, ...compared }: Walk): Promise<Omit<Difference, 'part'> | undefined> {
  const { model, clock } = compared;
  const deadKeys: string[] = [];
  for (let step = 1; step <= steps && !isOver(); step++) {
    await betweenSteps({ ...compared, draw });
    const keys = keysOf(model);
    const command = nextCommand(draw, { model, now: clock.now(), deadKeys });
    const { daemon, actual, what } = await compare(compared, command, step);
    count(`${command.operation}_${daemon.status >= 500 ? '5xx' : daemon.status}`);
    const kind = deduplicated(command, actual, clock.now());
    if (kind) count(`${command.operation}_${kind}`);
    if (what !== undefined) return { step, what, command };
    const after = new Set(keysOf(model));
    deadKeys.push(...keys.filter((key) => !after.has(key)));
  }
  return undefined;
}

/** Returns the kind of a success: `duplicate` if deduplicated, `unread` for an update without read access. */
function deduplicated({ operation }: Command, actual: PlainObject, now: number): string | undefined {
  if (actual['id'] === undefined) return undefined;
  if (operation === 'createToken' && actual['created_at'] !== iso(now)) return 'duplicate';
  if (operation !== 'updateToken') return undefined;
  if (actual['fingerprint'] === undefined) return 'unread';
  return actual['fingerprint_expression'] === undefined ? 'duplicate' : undefined;
}

/** Advances the clock, sometimes sweeps expired records, and issues a key when nobody can manage a tenant. */
async function betweenSteps({ model, targets, clock, draw }: Pick<Walk, 'model' | 'targets' | 'clock' | 'draw'>) {
  if (draw.chance(0.5))
    clock.advance(
      draw.weighted([
        [1, 40],
        [1 + draw.below(5_000), 40],
        [draw.below(7_200_000), 4],
        [86_400_000, 1],
        [32 * 86_400_000, 0.5],
      ]),
    );
  if (draw.chance(0.01)) {
    const [daemon, direct] = await targets.both((vault) => vault.sweep());
    if (daemon !== direct) throw new CheckFailure(`the sweeps removed ${daemon} and ${direct} records`);
  }
  for (const tenant of model.tenants.values()) {
    const managed = [...tenant.applications.values()].some(
      ({ permissions, keys }) =>
        keys.some(({ expires_at }) => expires_at === undefined) &&
        permissions.includes('application:update') &&
        permissions.includes('application:create'),
    );
    if (managed) continue;
    const [daemon, direct] = await targets.both((vault) => vault.issueKey(tenant.id));
    if (!isDeepStrictEqual(daemon, direct)) throw new CheckFailure('the issued keys differ');
    addApplication(tenant, direct, clock.now());
  }
}

const keysOf = (model: Model) =>
  [...model.tenants.values()].flatMap(({ applications }) =>
    [...applications.values()].flatMap(({ keys }) => keys.map(({ key }) => key)),
  );

function callOf({ operation, apiKey, id, keyId, query, mediaType, bodyText }: Command, step: number): Call {
  const params = { ...(id !== undefined && { id }), ...(keyId !== undefined && { key_id: keyId }) };
  return { operation, apiKey, params, query, mediaType, bodyText, traceId: `step-${step}` };
}

function targetsDiffer({ operation }: Command, daemon: Reply, direct: Reply): string | undefined {
  if (isDeepStrictEqual(withoutCursor(daemon), withoutCursor(direct))) return undefined;
  // The grouping of log entries depends on timing.
  if (operation === 'listLogs' && daemon.status === 200 && direct.status === 200) return undefined;
  return `daemon ${daemon.status} ${daemon.bodyText}, direct ${direct.status} ${direct.bodyText}`;
}

/** Each sealing of a cursor differs. */
function withoutCursor({ bodyText, ...reply }: Reply) {
  return { ...reply, bodyText: bodyText?.replace(/"next":"[\w-]+"/, '"next":"sealed"') };
}

function modelDiffers(expected: Expected, reply: Reply, actual: PlainObject): string | undefined {
  const { status, code, paths, body } = expected;
  const differs = `model ${JSON.stringify(expected)}, vault ${reply.status} ${reply.bodyText}`;
  if (reply.status !== status) return differs;
  if (code === undefined)
    return isDeepStrictEqual(actual, withSeenFingerprints(body ?? {}, actual)) ? undefined : differs;
  if (actual['type'] !== PROBLEM_TYPE_PREFIX + code) return differs;
  const named = Object.keys((actual['errors'] ?? {}) as PlainObject);
  return paths === undefined || paths.some((path) => named.includes(path)) ? undefined : differs;
}

/** Resolves to the figures of a run. Rejects with a `CheckFailure` if a reply differs or is a 5xx. */
export async function requireAgreement(options: FuzzOptions): Promise<Figures> {
  const { figures, differences } = await fuzz(options);
  const [first] = differences;
  if (first) {
    const { part, step, what, command } = first;
    const { bodyText = '', ...rest } = command;
    throw new CheckFailure(
      `part ${part}, step ${step}: ${what}\n${JSON.stringify({ ...rest, bodyText: bodyText.slice(0, 2_000) })}`,
      figures,
    );
  }
  if (figures['server_errors'] !== 0) throw new CheckFailure('a server error', figures);
  return figures;
}

/** Compares with a model that ignores expiry, then with one that ignores rules. Each must differ. */
const control = ({ seed }: CheckOptions) =>
  mustAllFail((['expiry', 'rules'] as const).map((ignores) => () => requireAgreement({ seed, steps: 2_000, ignores })));

/** Checks that the daemon, the file target and the model agree on every step. */
export const CHECK: Check = {
  number: 9,
  name: 'model fuzz',
  quick: true,
  runs: 'early',
  run: ({ seed, quick }) => requireAgreement({ seed, steps: quick ? 2_000 : 100_000 }),
  control,
};

/** Returns the expected body, with the vault's fingerprints where the model does not know them yet. */
function withSeenFingerprints(expected: Plain, actual: Plain): Plain {
  if (Array.isArray(expected)) {
    return expected.map((item, index) =>
      withSeenFingerprints(item, Array.isArray(actual) ? (actual[index] ?? null) : null),
    );
  }
  if (!isObject(expected)) return expected;
  const told: PlainObject = isObject(actual) ? actual : {};
  return Object.fromEntries(
    Object.entries(expected).map(([name, member]) => [
      name,
      name === 'fingerprint' && member === UNSEEN ? told[name] : withSeenFingerprints(member, told[name] ?? null),
    ]),
  ) as PlainObject;
}
