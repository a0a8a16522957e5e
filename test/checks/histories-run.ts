import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import type { KeyHolderOptions } from '../../src/vault/key-holder.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { seededRandom, steppingClock } from '../fixed-world.ts';
import { ATTACKS, doneAgain, undone } from './histories-attacks.ts';
import { ACTIONS, actionsOn, type CallingTenant, prune, type Target } from './histories-calls.ts';
import type { HistoryLocation, HistoryLocations } from './histories-location.ts';
import type { VaultRows } from './histories-rows.ts';
import { createShadow, type Judgement } from './histories-shadow.ts';
import { createDraw, type Draw } from './model-fuzz-bodies.ts';

const MIN_STEPS = 8;
const MORE_STEPS = 18;
/** The share of attacks among the steps, up to the maximum number of attacks of a history. */
const ATTACK_RATE = 0.15;
const MAX_ATTACKS: readonly number[] = [0, 1, 1, 2, 3];
const seedOf = (seed: number, step: number) => Math.imul(seed, 0x9e3779b1) + Math.imul(step, 0x85ebca6b);

/**
 * Compares doctor with the oracle.
 *
 * - `found`, `sound`: both agree.
 * - `missed`: doctor accepts a vault without an honest history.
 * - `false`: doctor reports a vault that nobody has altered.
 * - `beyond`: doctor accepts it, as SECURITY.md documents.
 * - `unclear`: the entries end within those of one call.
 * - `strict`: doctor reports an altered vault for which there is an honest history.
 */
export type Verdict = 'found' | 'sound' | 'missed' | 'false' | 'beyond' | 'unclear' | 'strict';

export interface HistoryResult {
  readonly verdicts: readonly Verdict[];
  readonly untampered: number;
  readonly attacks: readonly string[];
  /** The first miss or false alarm: its reason, and the steps before it. */
  readonly wrong?: { readonly is: Verdict; readonly why: string; readonly steps: readonly string[] };
  readonly length: number;
}

/** Whether a verdict fails the check, and ends its history. */
const isWrong = (is: Verdict): boolean => is === 'missed' || is === 'false';

function acceptedAs(oracle: Judgement, now: VaultRows): Verdict {
  if (oracle.is !== 'broken') return oracle.is;
  return isBeyondPromise(oracle, now) ? 'beyond' : 'missed';
}

interface HistoryOptions {
  readonly seed: number;
  /** The possible numbers of attacks. Default: from none to three. */
  readonly maxAttacks?: readonly number[] | undefined;
  /** The numbers of steps to leave out. The choices of the others stay the same. */
  readonly skipped?: ReadonlySet<number>;
}

/** Runs a random history up to its first miss or false alarm. Accepts all tenants at the end. */
export async function runHistory(locations: HistoryLocations, options: HistoryOptions): Promise<HistoryResult> {
  const location = await locations.create();
  try {
    return await runIn(location, locations, options);
  } finally {
    await location.close();
  }
}

async function runIn(
  location: HistoryLocation,
  locations: HistoryLocations,
  { seed, maxAttacks = MAX_ATTACKS, skipped = new Set() }: HistoryOptions,
): Promise<HistoryResult> {
  const clock = steppingClock(locations.start);
  const random = seededRandom(`history ${seed}`);
  const tenants: CallingTenant[] = [
    { id: locations.tenantId, management: locations.management, applications: [], tokens: [] },
  ];
  let rows = await location.read();
  const shadow = createShadow(rows);
  const copies = [rows];
  const verdicts: Verdict[] = [];
  const attacks: string[] = [];
  const steps: string[] = [];
  let wrong: HistoryResult['wrong'];
  let untampered = 0;
  /** The ids of all tenants. The log may have one whose row is gone. */
  const seen = new Set<string>();
  let vault: Vault | undefined;
  let target: Target | undefined;
  let undo: { readonly before: VaultRows; readonly after: VaultRows } | undefined;

  /** Runs a call of the product, and records its effects. Failures are allowed only after an attack. */
  async function call(name: string, work: () => Promise<unknown>): Promise<void> {
    steps.push(name);
    let result: unknown;
    try {
      result = await work();
    } catch (error) {
      if (attacks.length === 0) throw new Error(`${name} failed: ${String(error)}`, { cause: error });
    }
    const after = await location.read();
    if (shadow.observe(rows, after, numberOf(rows, result)) && attacks.length === 0) {
      throw new Error(`${name} changed records without an entry`);
    }
    rows = after;
    for (const { columns } of tenantsOf(rows)) seen.add(uuidOf(columns['id']));
  }

  async function open(): Promise<void> {
    await call('open', async () => {
      vault = await location.open({ clock, overRandom: () => random, auditStrict: true, reportError: () => undefined });
    });
  }

  async function close(): Promise<void> {
    const closing = vault;
    vault = undefined;
    if (closing !== undefined) await call('close', closing.close);
  }

  async function act(draw: Draw): Promise<void> {
    clock.advance(draw.below(40_000));
    if (vault === undefined) await open();
    if (vault === undefined) return;
    const caller = { location, vault, clock, tenants, target };
    const [name, action] = draw.weighted(target !== undefined && draw.chance(0.4) ? actionsOn(target) : ACTIONS);
    const [first] = rows.audit;
    if (first !== undefined && draw.chance(0.04)) {
      const before = Number(draw.one(rows.audit).columns['at']) + draw.below(2);
      await call('prune', () => prune(caller, before));
      return;
    }
    await call(name, () => action(caller, draw));
  }

  async function attack(draw: Draw): Promise<void> {
    const [name, change] = draw.weighted(ATTACKS);
    const altered = change(rows, copies, draw);
    if (altered === undefined) return;
    const before = rows;
    await location.write(altered);
    rows = await location.read();
    undo = { before, after: rows };
    target = targetOf(before, rows);
    attacks.push(name);
    steps.push(`! ${name}`);
  }

  async function judge(): Promise<void> {
    const oracle = shadow.judge(rows);
    const times = { wall: clock.now, running: clock.now };
    const [finding] = await checkVaultFile({ ...location.holder, times }).then(
      ({ findings }) => findings.map(({ table, id, what }) => [table, id, what].filter(Boolean).join(' ')),
      (error: unknown) => [String(error)],
    );
    if (attacks.length === 0) untampered += 1;
    const isSound = oracle.is === 'sound';
    const is =
      finding === undefined ? acceptedAs(oracle, rows) : attacks.length === 0 ? 'false' : isSound ? 'strict' : 'found';
    verdicts.push(is);
    if (!isWrong(is)) return;
    const differences = [...oracle.changes, ...oracle.records].map(({ key, is }) => `${key} ${is}`);
    const why = finding ?? oracle.entry ?? differences.join(', ');
    wrong = { is, why, steps: [...steps] };
  }

  const start = createDraw(seedOf(seed, 0));
  const length = MIN_STEPS + start.below(MORE_STEPS);
  const limit = start.one(maxAttacks);
  for (let step = 0; step < length && wrong === undefined; step += 1) {
    const draw = createDraw(seedOf(seed, step + 1));
    if (skipped.has(step)) continue;
    if (step > 3 && attacks.length < limit && draw.chance(ATTACK_RATE)) await attack(draw);
    else if (undo !== undefined && draw.chance(0.4)) {
      const { before, after } = undo;
      const isDoneAgain = draw.chance(0.5);
      await location.write(isDoneAgain ? doneAgain(rows, before, after) : undone(rows, before, after, draw));
      rows = await location.read();
      steps.push(isDoneAgain ? '! again' : '! undone');
      if (!isDoneAgain) undo = undefined;
    } else await act(draw);
    if (draw.chance(0.3)) copies.push(rows);
    if (draw.chance(0.07)) await close();
    if (draw.chance(steps.at(-1)?.startsWith('!') ? 0.4 : 0.05)) await judge();
  }
  await close();
  if (wrong === undefined) await judge();
  if (wrong === undefined && attacks.length > 0) {
    const holder = { ...location.holder, clock };
    const times = { wall: clock.now, running: clock.now };
    const why = await acceptAll(holder, times, seen);
    if (why !== undefined) wrong = { is: 'false', why, steps: [...steps, 'accept'] };
  }
  return { verdicts, untampered, attacks, length, ...(wrong && { wrong }) };
}

const uuidOf = (text: unknown) =>
  String(text)
    .replace(/^\\x|-/g, '')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const tenantsOf = ({ records }: VaultRows) => [...records.values()].filter(({ table }) => table === 'tenant');

function numberOf(rows: VaultRows, id: unknown): string | undefined {
  const found = tenantsOf(rows).find(({ columns }) => typeof id === 'string' && uuidOf(columns['id']) === id);
  return found && String(found.columns['tenant']);
}

function targetOf(before: VaultRows, after: VaultRows): Target | undefined {
  for (const { key, text, columns } of after.records.values()) {
    const [kind = ''] = key.split(' ');
    if (before.records.get(key)?.text === text || !['tenant', 'token', 'application'].includes(kind)) continue;
    const owner = tenantsOf(after).find((row) => row.columns['tenant'] === columns['tenant']);
    const id = kind === 'token' ? String(columns['id']) : uuidOf(columns['id']);
    return { kind, tenantId: uuidOf(owner?.columns['id']), id };
  }
  return undefined;
}

/** Leaves out one step after the other, as long as the history ends in the same way. Resolves to what is left. */
export async function shorten(
  locations: HistoryLocations,
  options: HistoryOptions,
  whole: HistoryResult,
): Promise<HistoryResult> {
  let shortest = whole;
  let skipped = new Set<number>();
  for (let step = whole.length - 1; step >= 0; step -= 1) {
    const fewer = new Set([...skipped, step]);
    const result = await runHistory(locations, { ...options, skipped: fewer }).catch(() => undefined);
    if (result?.wrong?.is !== whole.wrong?.is) continue;
    skipped = fewer;
    shortest = result ?? shortest;
  }
  return shortest;
}

/** Returns whether SECURITY.md documents that doctor accepts the damage without an anchor and archives. */
function isBeyondPromise({ isUnwitnessed, changes, records }: Judgement, now: VaultRows): boolean {
  // The deletion of a tenant forgets what contradicted its tokens.
  const isForgotten = ({ key }: { readonly key: string }) => {
    const [kind = '', tenant] = key.split(' ');
    return ['token', 'tombstone'].includes(kind) && !now.records.has(`tenant ${tenant}`);
  };
  // An entry that no later one names can vanish, as the end of the audit can.
  return isUnwitnessed === true || (records.length === 0 && changes.length > 0 && changes.every(isForgotten));
}

/** The codes of errors for damage that no acceptance mends: of the log, the header or the tables. */
const DAMAGE = ['integrity_failure', 'damaged', 'store_missing'];

const codeOf = (error: unknown) => String((error as { readonly code?: unknown }).code);

/** Accepts a tenant if it differs. Resolves to the code of the error, `accepted` or `match`. */
async function acceptOne(holder: KeyHolderOptions, id: string): Promise<string> {
  const admin = await openVaultAdmin(holder);
  try {
    await (await admin.compareTenant(id)).accept();
    return 'accepted';
  } catch (error) {
    return codeOf(error) === 'conflict' ? 'match' : codeOf(error);
  } finally {
    await admin.close();
  }
}

/** Accepts every tenant that differs. Resolves to a sentence about the first one that then differs or is closed. */
async function acceptAll(
  holder: KeyHolderOptions,
  times: Times,
  ids: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const id of ids) {
    const is = await acceptOne(holder, id).catch(codeOf);
    if (DAMAGE.includes(is)) return undefined;
    if (!['accepted', 'match', 'not_found'].includes(is)) return `tenant ${id} cannot be accepted: ${is}`;
    if (is !== 'accepted') continue;
    const again = await acceptOne(holder, id).catch(codeOf);
    if (!['match', 'not_found'].includes(again)) return `tenant ${id} after its acceptance: ${again}`;
  }
  const { notices } = await checkVaultFile({ ...holder, times });
  return notices.find((notice) => /^every call of tenant/.test(notice));
}
