import { join } from 'node:path';
import { Fault } from '../../src/core/fault.ts';
import { openVaultAt } from '../../src/vault/location.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { ask, startDaemon } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { LAUNDERINGS, launder } from './launder.ts';
import { builtText, withPatch } from './patched-product.ts';
import { seededNumbers } from './perform.ts';
import { ROLLBACKS } from './put-back.ts';
import { TAMPER_EDITS } from './tamper-edits.ts';
import { ABSURD_COSTS, setSlotCost, tamperFile } from './tamper-file.ts';
import { FILE_TABLES } from './tamper-file-table.ts';
import { FILE_LOCATIONS, type TamperLocations } from './tamper-locations.ts';
import { applicationsIn, type Replies, readEverything, type Verdict } from './tamper-reads.ts';
import { type TamperCase, type Tampered, tamperOnce } from './tamper-run.ts';
import { type TamperTables, tableEdits } from './tamper-table.ts';
import { makeTamperVault, type TamperVault } from './tamper-vault.ts';
import { makeVaultFile, withVault } from './vault-file.ts';

/** Copies what is written and keeps it from expiring. */
const TRIGGER = `CREATE TABLE loot (full BLOB);
  CREATE TRIGGER spy AFTER INSERT ON token BEGIN
    INSERT INTO loot VALUES (new.full);
    UPDATE token SET expires_at = NULL WHERE token = new.token;
  END`;

/** How many creates run at a time. Several start the writer thread, which then writes all tokens. */
const WRITERS = { main_thread: 1, writer_thread: 12 } as const;

const GUARD = builtText('this.#isAltered)throw');

/** Adds a trigger to the file of a running daemon, and creates tokens. Counts the rows that it copied. */
async function plantTrigger(writers: number, bin?: string) {
  using folder = makeFolder();
  const vault = await makeVaultFile(folder.path);
  await using daemon = await startDaemon({ file: vault.file, readyFile: join(folder.path, 'ready.json'), bin });
  const call = async (path: string, body?: object) => (await ask(daemon.url, vault.everything, path, body)).status;
  const create = (id: string) => call('/tokens', { id, type: 'token', data: id, expires_at: '2099-01-01T00:00:00Z' });
  const createAll = (name: string) =>
    Promise.all(Array.from({ length: writers }, (_, at) => create(`${name}-token-${at}`)));
  for (const name of ['first', 'second']) {
    const made = await createAll(name);
    if (made.some((status) => status !== 201)) throw new Error(`before the attack: ${made}`);
  }
  await tamperFile(vault.file, (connection) => void connection.exec(TRIGGER));
  const creates = await createAll('after');
  const [read, ready] = [await call('/tokens/first-token-0'), await call('/readyz')];
  let copied = -1;
  await tamperFile(vault.file, (connection) => {
    copied = Number(connection.prepare('SELECT count(*) FROM loot').pluck().get());
  });
  return { copied, creates: new Set(creates), read, ready };
}

/** Rejects with a `CheckFailure` if a running daemon runs a trigger, or if a daemon without the guard does not. */
async function plantTriggers(): Promise<Readonly<Record<string, number>>> {
  let refused = 0;
  await withPatch([GUARD, 'false)throw'], async (bin) => {
    for (const [name, writers] of Object.entries(WRITERS)) {
      const { copied, creates, read, ready } = await plantTrigger(writers);
      const found = `${name}: ${copied} rows copied, creates ${[...creates]}, read ${read}, /readyz ${ready}`;
      if (copied !== 0 || [...creates].some((status) => status !== 500) || read !== 500 || ready !== 503) {
        throw new CheckFailure(`a trigger planted in an open file, ${found}`);
      }
      refused += writers;
      const { copied: stolen } = await plantTrigger(writers, bin);
      if (stolen !== writers) throw new Error(`without the guard the trigger copies ${stolen} of ${writers} rows`);
    }
  });
  return { refused_after_trigger: refused };
}

const PASSPHRASE_SLOT = 1;
/** The longest time to refuse an absurd cost, in milliseconds. A derivation at the lowest cost takes about as long. */
const MAX_REFUSAL_MS = 500;
const MAX_GROWTH_BYTES = 128 * 1024 * 1024;
/** A quick run runs the command line for one of every `CLI_EVERY` edits. */
const CLI_EVERY = 8;

interface TamperSubject {
  readonly locations: TamperLocations;
  readonly minEdits: number;
  /** A quick run makes one of every `sample` edits. */
  readonly sample: number;
  /** Whether a full run runs the command line for each edit, or as seldom as a quick run. */
  readonly isCliRare?: boolean;
  readonly tables: TamperTables;
  /** Further edits, with the findings that doctor must report. */
  readonly edits?: readonly TamperCase[];
  /** SQL after which a file seems to have made more commits. */
  readonly countOn?: string;
  further?(vault: TamperVault): Promise<Readonly<Record<string, number>>>;
}

const CUT_TAIL = 'DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit)';

const asSql = ([name, sql]: readonly [string, string]): TamperCase => ({
  name,
  alter: (file) => FILE_LOCATIONS.alter(file, sql),
});

const ownEdits: readonly TamperCase[] = [
  ...Object.entries(TAMPER_EDITS).map(([name, [sql, , , finding]]) => ({ ...asSql([name, sql]), finding })),
  ...Object.entries(ABSURD_COSTS).map(([name, cost]) => ({
    name: `a slot that asks for ${name}`,
    alter: (file: string) => tamperFile(file, (connection) => setSlotCost(connection, PASSPHRASE_SLOT, cost)),
  })),
];

const FILE_SUBJECT: TamperSubject = {
  locations: FILE_LOCATIONS,
  minEdits: 40,
  sample: 5,
  tables: FILE_TABLES,
  edits: ownEdits,
  countOn: 'UPDATE counter SET count = count + 100 WHERE tenant = 0',
  further: async (vault) => ({ ...(await refuseCosts(vault)), ...(await plantTriggers()) }),
};

const at = ({ locations, credential }: TamperVault, name: string, anchor?: string) => ({
  ...locations.at(name),
  credential,
  anchor,
});

/** Returns the replies of the sound vault. Reads a copy, because reads add entries to the audit. */
async function soundReplies(vault: TamperVault, applications: readonly string[], name = vault.name): Promise<Replies> {
  const { locations } = vault;
  const copy = locations.nameIn(vault.folder, 'sound');
  await locations.copy(name, copy);
  return withVault(at(vault, copy), (_, opened) => readEverything(opened, vault, applications));
}

const act = (vault: TamperVault, name: string, change: (typeof ROLLBACKS)[string][0]) =>
  withVault(at(vault, name), (perform) => change(perform, vault));

/** Returns cases that restore older rows of a kind, or all, which only an anchor reveals. */
async function rollbacks(
  { countOn }: TamperSubject,
  vault: TamperVault,
  sound: Replies,
  applications: readonly string[],
): Promise<TamperCase[]> {
  const { locations, folder } = vault;
  const cases: TamperCase[] = [];
  const entries = Object.entries(ROLLBACKS);
  for (const [name, [change, tables, , finding]] of entries) {
    const changed = locations.nameIn(folder, `changed${cases.length}`);
    await locations.copy(vault.name, changed);
    const kept = await locations.keep(changed);
    await act(vault, changed, change);
    const now = await soundReplies(vault, applications, changed);
    const alter = async (altered: string) => {
      await locations.copy(changed, altered);
      await locations.putBack(altered, kept, tables);
    };
    cases.push({ name: `${name}, put back`, alter, finding, now, before: sound });
  }
  const [[, [change]] = ['', [async () => undefined]]] = entries;
  const anchor = join(folder, 'anchor');
  const anchored = locations.nameIn(folder, 'anchored');
  await locations.copy(vault.name, anchored);
  const kept = await locations.keep(anchored);
  await act(vault, anchored, change);
  await withVault(at(vault, anchored, anchor), (_, opened) => readEverything(opened, vault, []));
  cases.push({ name: 'the whole vault put back', alter: async () => undefined, anchor });
  cases.push({
    name: 'entries of reads cut from the audit’s tail',
    anchor,
    alter: async (altered) => {
      await locations.copy(anchored, altered);
      await locations.alter(altered, CUT_TAIL);
    },
  });
  if (countOn === undefined) return cases;
  cases.push({
    name: 'the audit’s last entry and its change undone, the commits counted on',
    anchor,
    alter: async (altered) => {
      await locations.copy(anchored, altered);
      await locations.putBack(altered, kept);
      await locations.alter(altered, countOn);
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
    await FILE_LOCATIONS.copy(vault.name, file);
    await tamperFile(file, (connection) => setSlotCost(connection, PASSPHRASE_SLOT, cost));
    const started = performance.now();
    const refused = await openVaultAt({ file }, { credential: vault.passphrase }).catch((error: unknown) => error);
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

async function launderings(vault: TamperVault): Promise<readonly Tampered[]> {
  const results: Tampered[] = [];
  for (const [name, laundering] of Object.entries(LAUNDERINGS)) {
    const laundered = vault.locations.nameIn(vault.folder, 'laundered');
    await vault.locations.copy(vault.name, laundered);
    const found = await launder({ ...vault, name: laundered }, laundering);
    const wrong = found.map((what) => `${name}, put back before ordinary calls: ${what}`);
    results.push({ name, caught: 'read', verdicts: new Set(['error']), reads: laundering.calls.length, wrong });
  }
  return results;
}

interface TamperOptions extends CheckOptions {
  readonly subject: TamperSubject;
  readonly edits?: readonly TamperCase[];
}

/** Alters copies of a vault. Resolves to the figures. Rejects with a `CheckFailure`. */
export async function tamper({ seed, quick, subject, edits }: TamperOptions): Promise<Record<string, number | string>> {
  const { locations } = subject;
  using vault = await makeTamperVault(seed, locations);
  using other = await makeTamperVault(seed + 1, locations);
  const results: Tampered[] = [];
  const applications = applicationsIn(await soundReplies(vault, []));
  const sound = await soundReplies(vault, applications);
  const cases = edits ?? [
    ...(subject.edits ?? []),
    ...(await tableEdits(subject.tables, vault, other)),
    ...(await rollbacks(subject, vault, sound, applications)),
    { name: 'another vault’s file', alter: (name: string) => locations.copy(other.name, name) },
  ];
  const sample = quick && edits === undefined ? Math.floor(seededNumbers(seed)() * subject.sample) : undefined;
  const chosen = cases.filter((_, index) => sample === undefined || index % subject.sample === sample);
  for (const [index, each] of chosen.entries()) {
    const cli = index % CLI_EVERY === 0 || !(quick || subject.isCliRare);
    results.push(await tamperOnce(vault, sound, applications, each, { cli }));
  }
  const further = edits === undefined ? await subject.further?.(vault) : {};
  const laundered = edits === undefined ? await launderings(vault) : [];
  results.push(...laundered);
  const figures = { ...figuresOf(results), ...further };
  const [wrong] = results.flatMap((result) => result.wrong);
  if (wrong !== undefined) throw new CheckFailure(results.flatMap((r) => r.wrong).join('\n'), figures);
  if (edits === undefined && results.length < subject.minEdits) throw new CheckFailure('too few edits', figures);
  return figures;
}

function figuresOf(results: readonly Tampered[]): Record<string, number | string> {
  const by = (caught: Tampered['caught']) =>
    results.filter((result) => result.caught === caught).map(({ name }) => name);
  const shown = (verdict: Verdict) => results.filter(({ verdicts }) => verdicts.has(verdict)).length;
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
    open: by('open').join('; '),
    read: by('read').join('; '),
    doctor: by('doctor').join('; '),
  };
}

/** Raises a counter of activity. Nobody can detect this, because these counters are not sealed. */
const control = (options: CheckOptions) =>
  tamper({
    ...options,
    subject: FILE_SUBJECT,
    edits: [asSql(['a counter of activity raised', 'UPDATE counter SET count = count + 5 WHERE month > 0'])],
  });

export const CHECK: Check = {
  number: 5,
  name: 'tamper',
  quick: true,
  run: (options) => tamper({ ...options, subject: FILE_SUBJECT }),
  control,
};
