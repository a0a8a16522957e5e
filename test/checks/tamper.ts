import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { openVault } from '../../src/vault/vault.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { LAUNDERINGS, launder } from './launder.ts';
import { createCaller, seededNumbers } from './perform.ts';
import { type ActingKeys, keepRows, putBack, ROLLBACKS } from './put-back.ts';
import { TAMPER_COLUMNS } from './tamper-columns.ts';
import { TAMPER_EDITS } from './tamper-edits.ts';
import { tamperFile } from './tamper-file.ts';
import { ABSURD_COSTS, copyFrom, FOREIGN_EDITS, setSlotCost } from './tamper-foreign.ts';
import { applicationsIn, type Replies, readEverything } from './tamper-reads.ts';
import { type TamperCase, type Tampered, tamperOnce } from './tamper-run.ts';
import { makeTamperVault, type TamperVault } from './tamper-vault.ts';

const MIN_EDITS = 40;
const PASSPHRASE_SLOT = 1;
/** The longest time to refuse an absurd cost, in milliseconds. A derivation at the lowest cost takes about as long. */
const MAX_REFUSAL_MS = 500;
const MAX_GROWTH_BYTES = 128 * 1024 * 1024;
/** A quick run makes one of every `SAMPLE` edits, and runs the command line for one of every `CLI_EVERY` of these. */
const SAMPLE = 3;
const CLI_EVERY = 8;

const asSql = ([name, sql]: readonly [string, string]): TamperCase => ({
  name,
  alter: (file) =>
    tamperFile(file, (connection) => {
      connection.exec('PRAGMA foreign_keys = OFF');
      connection.exec(sql);
    }),
});

const ownEdits: readonly TamperCase[] = [
  ...Object.entries(TAMPER_EDITS).map(([name, [sql, , , finding]]) => ({ ...asSql([name, sql]), finding })),
  ...Object.entries(TAMPER_COLUMNS).map(asSql),
  ...Object.entries(ABSURD_COSTS).map(([name, cost]) => ({
    name: `a slot that asks for ${name}`,
    alter: (file: string) => tamperFile(file, (connection) => setSlotCost(connection, PASSPHRASE_SLOT, cost)),
  })),
];

const foreignEdits = (other: string): readonly TamperCase[] =>
  Object.entries(FOREIGN_EDITS).map(([name, sql]) => ({
    name,
    alter: (file) =>
      tamperFile(file, (connection) => {
        connection.exec('PRAGMA foreign_keys = OFF');
        copyFrom(connection, other, sql);
      }),
  }));

async function withVault<T>(vault: TamperVault, file: string, use: (opened: Vault) => Promise<T>, anchor?: string) {
  const opened = await openVault({ file, credential: vault.credential, anchor });
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** Returns the replies of the sound vault. Reads a copy, because reads add entries to the audit. */
async function soundReplies(vault: TamperVault, applications: readonly string[], file = vault.file): Promise<Replies> {
  const copy = join(vault.folder, 'sound.db');
  copyFileSync(file, copy);
  return withVault(vault, copy, (opened) => readEverything(opened, vault, applications));
}

const act = (vault: TamperVault, file: string, change: (typeof ROLLBACKS)[string][0], anchor?: string) =>
  withVault(
    vault,
    file,
    (opened) =>
      change(
        createCaller(() => directClient(opened)),
        keysOf(vault),
      ),
    anchor,
  );

const keysOf = ({ apiKey, management }: TamperVault): ActingKeys => ({ apiKey, management });

/**
 * Returns cases that restore older rows: one kind of row at a time, and all rows at once, which only an anchor reveals.
 */
async function rollbacks(vault: TamperVault, sound: Replies, applications: readonly string[]): Promise<TamperCase[]> {
  const cases: TamperCase[] = [];
  for (const [name, [change, tables, , finding]] of Object.entries(ROLLBACKS)) {
    const file = join(vault.folder, `changed-${cases.length}.db`);
    copyFileSync(vault.file, file);
    const kept = await keepRows(file);
    await act(vault, file, change);
    const now = await soundReplies(vault, applications, file);
    const alter = async (altered: string) => {
      copyFileSync(file, altered);
      await putBack(altered, kept, tables);
    };
    cases.push({ name: `${name}, put back`, alter, finding, now, before: sound });
  }
  const [[, [change]] = ['', [async () => undefined]]] = Object.entries(ROLLBACKS);
  const anchor = join(vault.folder, 'anchor');
  const anchored = join(vault.folder, 'anchored.db');
  copyFileSync(vault.file, anchored);
  await act(vault, anchored, change);
  await withVault(vault, anchored, (opened) => readEverything(opened, vault, []), anchor);
  cases.push({ name: 'the whole vault put back', alter: async () => undefined, anchor });
  cases.push({
    name: 'entries of reads cut from the audit’s tail',
    anchor,
    alter: async (altered) => {
      copyFileSync(anchored, altered);
      await tamperFile(altered, (connection) =>
        connection.exec('DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit)'),
      );
    },
  });
  cases.push({
    name: 'the audit’s last entry and its change undone, the commits counted on',
    anchor,
    alter: async (altered) => {
      const kept = await keepRows(altered);
      copyFileSync(anchored, altered);
      await putBack(altered, kept);
      await tamperFile(altered, (connection) =>
        connection.exec('UPDATE counter SET count = count + 100 WHERE tenant = 0'),
      );
    },
  });
  return cases;
}

/** Opens slots with absurd costs. The vault must refuse them at once, before it derives a key. */
async function refuseCosts(vault: TamperVault): Promise<{ readonly slowest_ms: number; readonly growth_mib: number }> {
  let slowest_ms = 0;
  const before = process.memoryUsage.rss();
  for (const [name, cost] of Object.entries(ABSURD_COSTS)) {
    const file = join(vault.folder, 'costs.db');
    copyFileSync(vault.file, file);
    await tamperFile(file, (connection) => setSlotCost(connection, PASSPHRASE_SLOT, cost));
    const started = performance.now();
    const refused = await openVault({ file, credential: vault.passphrase }).catch((error: unknown) => error);
    slowest_ms = Math.max(slowest_ms, performance.now() - started);
    if (!(refused instanceof Fault) || refused.code !== 'damaged') {
      throw new CheckFailure(`a slot that asks for ${name} is not refused: ${String(refused)}`);
    }
  }
  const growth = process.memoryUsage.rss() - before;
  const figures = { slowest_ms: Math.round(slowest_ms), growth_mib: Math.round(growth / 2 ** 20) };
  if (slowest_ms > MAX_REFUSAL_MS || growth > MAX_GROWTH_BYTES) {
    throw new CheckFailure('an absurd derivation is refused late, or not before memory was taken', figures);
  }
  return figures;
}

/** Restores older rows. Ordinary calls must not make them look valid. */
async function launderings(vault: TamperVault): Promise<readonly Tampered[]> {
  const results: Tampered[] = [];
  for (const [name, laundering] of Object.entries(LAUNDERINGS)) {
    const file = join(vault.folder, 'laundered.db');
    copyFileSync(vault.file, file);
    const { apiKey, management, credential } = vault;
    const found = await launder({ file, apiKey, management, credential }, laundering);
    const wrong = found.map((what) => `${name}, put back before ordinary calls: ${what}`);
    results.push({ name, caught: 'read', verdicts: new Set(['error']), reads: laundering.calls.length, wrong });
  }
  return results;
}

interface TamperOptions extends CheckOptions {
  /** Replaces the edits of this check. */
  readonly edits?: readonly TamperCase[];
}

async function tamper({ seed, quick, edits }: TamperOptions): Promise<Record<string, number | string>> {
  const vault = await makeTamperVault(seed);
  const other = await makeTamperVault(seed + 1);
  const results: Tampered[] = [];
  try {
    const applications = applicationsIn(await soundReplies(vault, []));
    const sound = await soundReplies(vault, applications);
    const cases = edits ?? [
      ...ownEdits,
      ...foreignEdits(other.file),
      ...(await rollbacks(vault, sound, applications)),
      { name: 'another vault’s file', alter: async (file: string) => copyFileSync(other.file, file) },
    ];
    const sample = quick && edits === undefined ? Math.floor(seededNumbers(seed)() * SAMPLE) : undefined;
    const chosen = cases.filter((_, index) => sample === undefined || index % SAMPLE === sample);
    for (const [index, each] of chosen.entries()) {
      const cli = !quick || index % CLI_EVERY === 0;
      results.push(await tamperOnce(vault, sound, applications, each, { cli }));
    }
    const costs = edits === undefined ? await refuseCosts(vault) : {};
    const laundered = edits === undefined ? await launderings(vault) : [];
    results.push(...laundered);
    const figures = { ...figuresOf(results), ...costs };
    const [wrong] = results.flatMap((result) => result.wrong);
    if (wrong !== undefined) throw new CheckFailure(results.flatMap((r) => r.wrong).join('\n'), figures);
    if (edits === undefined && results.length < MIN_EDITS) throw new CheckFailure('too few edits', figures);
    return figures;
  } finally {
    vault.remove();
    other.remove();
  }
}

/** Counts the edits, and lists them by the step that detected them first. */
function figuresOf(results: readonly Tampered[]): Record<string, number | string> {
  const by = (caught: Tampered['caught']) => results.filter((result) => result.caught === caught);
  const names = (caught: Tampered['caught']) =>
    by(caught)
      .map(({ name }) => name)
      .join('; ');
  const shown = (verdict: string) =>
    results.filter(({ verdicts }) => [...verdicts].some((one) => one === verdict)).length;
  return {
    edits: results.length,
    reads: results.reduce((sum, { reads }) => sum + reads, 0),
    wrong: results.reduce((sum, { wrong }) => sum + wrong.length, 0),
    caught_by_open: by('open').length,
    caught_by_read: by('read').length,
    caught_by_doctor: by('doctor').length,
    caught_by_nobody: by(undefined).length,
    older_rows_shown: shown('older'),
    counters_differ: shown('counters'),
    less_shown: shown('less'),
    open: names('open'),
    read: names('read'),
    doctor: names('doctor'),
  };
}

/** Raises a counter of activity. Nobody can detect this, because these counters are not sealed. */
const control = (options: CheckOptions) =>
  tamper({
    ...options,
    edits: [asSql(['a counter of activity raised', 'UPDATE counter SET count = count + 5 WHERE month > 0'])],
  });

export const CHECK: Check = { number: 5, name: 'tamper', quick: true, run: tamper, control };
