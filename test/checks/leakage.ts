import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { type Canaries, createCanaries, encodings, type Needle, needlesOf } from './leakage-canaries.ts';
import { sendRefused, useLocalCommands, useOperations } from './leakage-commands.ts';
import type { Hit } from './leakage-scanner.ts';
import {
  describeHits,
  makeWorkspace,
  type Scanner,
  SHOWS,
  type Shows,
  startScanner,
  type Workspace,
} from './leakage-workspace.ts';
import { EVERYTHING, seededNumbers } from './perform.ts';
import { readColumn } from './tamper-file.ts';

const ROUNDS = { quick: 1, full: 3 } as const;
const MAX_CLEANING_MS = 10_000;
const PIECE = 24;
const EXPECTED_STATUSES = [400, 401, 403, 404, 405, 409, 413, 414, 415, 421, 429, 431];
const ENDS = ['', '-wal', '-shm', '-journal'];

const filesOf = (file: string) => ENDS.map((end) => file + end);

/** Searches the whole life of a vault for canaries. Rejects at the first one found. */
async function live(random: () => number, scanner: Scanner, quick: boolean): Promise<Figures> {
  using workspace = makeWorkspace();
  const canaries = createCanaries(random);
  const sums = { bytes: 0, files: 0, scans: 0 };
  const hold = async (where: string, paths: readonly string[], needles: readonly Needle[]) => {
    const { hits, bytes, files } = await scanner.scan(paths, needles);
    sums.bytes += bytes;
    sums.files += files;
    sums.scans += 1;
    if (hits.length > 0) throw new CheckFailure(`${where}: ${describeHits(hits)}`, { ...sums, hits: hits.length });
  };
  const inFile = () => needlesOf(canaries.all().filter(({ kind }) => kind !== 'clear'));
  await scanner.watch(workspace.marker);
  const keys = await makeVault(workspace, canaries);
  const logged = await workspace.serve(['--file', workspace.file, '--key-file', workspace.keyFile]);
  const opened = ['--file', workspace.file, '--key-file', workspace.keyFile];
  const targets = [
    { name: 'http', flags: ['--url', logged.url], management: keys.managementFile },
    { name: 'file', flags: opened, management: keys.managementFile },
  ];
  // A quick run uses one target, because both make the same calls.
  await Promise.all(targets.slice(quick ? 1 : 0).map((target) => useOperations(workspace, canaries, target)));
  const statuses = await sendRefused(logged.url, keys, canaries);
  const absent = EXPECTED_STATUSES.filter((status) => !statuses.has(status));
  if (absent.length > 0) throw new Error(`no request was answered ${absent.join(', ')}`);
  await hold('the vault in use', filesOf(workspace.file), inFile());
  await end(logged.child, 'SIGKILL');
  await hold('the vault of a daemon that was killed', filesOf(workspace.file), inFile());

  const silent = await workspace.serve([...opened, '--no-log']);
  const deleted = await deleteSealed(workspace, canaries, silent.url, keys, scanner);
  await end(silent.child, 'SIGTERM');
  await useLocalCommands(workspace, canaries);
  const dev = await workspace.serve(['--dev'], 'key');
  await end(dev.child, 'SIGTERM');

  await hold(
    'the vault, its copies, the temporary folder',
    [workspace.inside('vault'), workspace.inside('tmp')],
    inFile(),
  );
  const all = needlesOf(canaries.all());
  await hold('standard error', [workspace.written('stderr')], all);
  for (const shows of Object.keys(SHOWS) as Shows[]) {
    const allowed: readonly string[] = SHOWS[shows];
    await hold(
      `what may show ${shows}`,
      [workspace.written(shows)],
      all.filter(({ kind }) => !allowed.includes(kind)),
    );
  }
  return {
    canaries: canaries.all().length,
    ...sums,
    ...(await lookAtProcesses(workspace, scanner, all)),
    ...deleted,
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Creates the vault. Its first keys are written only to files. */
async function makeVault(workspace: Workspace, canaries: Canaries) {
  const managementFile = workspace.given('management.key');
  const name = canaries.word('first tenant');
  const opened = ['--file', workspace.file, '--key-file', workspace.keyFile];
  await workspace.vault(['init', ...opened, '--tenant', name, '--key-out', managementFile], { shows: 'masked' });
  const everythingFile = workspace.given('everything.key');
  const body = { ...EVERYTHING, name: canaries.word('first application') };
  await workspace.vault(
    ['apps', 'create', ...opened, '--api-key-file', managementFile, '--key-out', everythingFile, '--body', '-'],
    { shows: 'masked', stdin: JSON.stringify(body) },
  );
  const [management, everything] = [managementFile, everythingFile].map((path) => readFileSync(path, 'utf8').trim());
  canaries.keep('first management key', 'key', management ?? '');
  canaries.keep('first application key', 'key', everything ?? '');
  // The key bytes may appear only in the key file.
  canaries.keep('key file', 'key', readFileSync(workspace.keyFile));
  return { managementFile, everythingFile, management: management ?? '', everything: everything ?? '' };
}

/** Reads the sealed bytes of some tokens from a copy, in pieces, as SQLite may spread a value over pages. */
async function sealedPieces(copy: string, ids: readonly string[]): Promise<readonly Needle[]> {
  const of = `FROM token WHERE id IN (${ids.map(() => '?').join(', ')})`;
  const columns = await readColumn(copy, `SELECT presented ${of} UNION ALL SELECT full ${of}`, ...ids, ...ids);
  const sealed = columns.filter((bytes): bytes is Uint8Array => bytes instanceof Uint8Array);
  if (sealed.length < ids.length * 2) throw new Error('the copy does not have the tokens');
  return sealed.flatMap((bytes, column) =>
    Array.from({ length: Math.floor(bytes.length / PIECE) }, (_, piece): Needle => {
      const cut = bytes.subarray(piece * PIECE, (piece + 1) * PIECE);
      return { canary: `sealed value ${column}`, kind: 'sealed', encoding: `piece ${piece}`, bytes: cut };
    }),
  );
}

/** Deletes two tokens and patches a third. Waits until the daemon has wiped their old bytes from file and log. */
async function deleteSealed(
  workspace: Workspace,
  canaries: Canaries,
  url: string,
  keys: { readonly everythingFile: string },
  scanner: Scanner,
): Promise<Figures> {
  const flags = ['--url', url, '--api-key-file', keys.everythingFile];
  const ids = ['small', 'large', 'patched'].map((size) => canaries.word(`${size} deleted id`, 'clear'));
  for (const [index, id] of ids.entries()) {
    const data = canaries.word(`deleted data ${index}`, 'data').repeat(index === 1 ? 1_000 : 1);
    const stdin = JSON.stringify({ id, type: 'token', data, mask: '{{ data | last4 }}' });
    await workspace.vault(['tokens', 'create', ...flags, '--body', '-'], { shows: 'masked', stdin });
  }
  const copy = workspace.given('before-the-deletion');
  await workspace.vault(['backup', copy, '--file', workspace.file, '--key-file', workspace.keyFile]);
  const pieces = await sealedPieces(copy, ids);
  const files = filesOf(workspace.file);
  const before = (await scanner.scan(files, pieces)).hits.length;
  // A few pieces cross the edge of a page.
  if (before < pieces.length * 0.95)
    throw new Error(`only ${before} of ${pieces.length} sealed pieces are found before the deletion`);
  for (const id of ids.slice(0, 2)) await workspace.vault(['tokens', 'delete', id, ...flags, '--yes']);
  const [, , patched] = ids;
  // The patch also reseals the definition and details, because their context changes.
  const stdin = JSON.stringify({ data: canaries.word('patched data', 'data') });
  await workspace.vault(['tokens', 'patch', patched ?? '', ...flags, '--body', '-'], { shows: 'revealed', stdin });
  const started = performance.now();
  let hits: readonly Hit[] = [];
  do {
    await sleep(100);
    ({ hits } = await scanner.scan(files, pieces));
  } while (hits.length > 0 && performance.now() - started < MAX_CLEANING_MS);
  const figures = { sealed_pieces: pieces.length, cleaned_after_ms: Math.round(performance.now() - started) };
  if (hits.length > 0) throw new CheckFailure(`after a deletion: ${describeHits(hits)}`, figures);
  return figures;
}

/** Searches command lines and environments for canaries that this check did not put there itself. */
async function lookAtProcesses(workspace: Workspace, scanner: Scanner, needles: readonly Needle[]): Promise<Figures> {
  const processes = await scanner.seen();
  const leaked = processes.flatMap(({ pid, cmdline, environ }) => {
    const [shown, given] = [Buffer.from(cmdline), Buffer.from(environ)];
    const typed = Buffer.from((workspace.ran.get(pid) ?? []).join('\0'));
    const where = `/proc/${pid}`;
    return needles
      .filter(({ bytes }) => {
        const needle = Buffer.from(bytes);
        return given.includes(needle) || (shown.includes(needle) && !typed.includes(needle));
      })
      .map(({ canary, encoding }) => ({ where, canary, encoding }));
  });
  const figures = { commands: workspace.ran.size, processes: processes.length };
  if (leaked.length > 0) throw new CheckFailure(`processes: ${describeHits(leaked)}`, figures);
  // The scanner may miss a few short-lived processes on a busy machine.
  if (existsSync('/proc') && processes.length < workspace.ran.size / 2) throw new Error('too few processes were seen');
  return figures;
}

async function run({ seed, quick }: CheckOptions): Promise<Figures> {
  const random = seededNumbers(seed);
  using scanner = startScanner();
  const rounds = ROUNDS[quick ? 'quick' : 'full'];
  let figures: Figures = {};
  for (let round = 0; round < rounds; round++) figures = added(figures, await live(random, scanner, quick));
  return { rounds, ...figures, hits: 0 };
}

function added(left: Figures, right: Figures): Figures {
  return Object.fromEntries(
    Object.entries(right).map(([name, value]) => [name, Number(left[name] ?? 0) + Number(value)]),
  );
}

/** Plants each encoding of a canary in a new column of a copied vault. The scanner must find them all. */
async function control({ seed }: CheckOptions): Promise<void> {
  const canaries = createCanaries(seededNumbers(seed));
  const text = canaries.word('planted', 'data', '?~>ÿ');
  using workspace = makeWorkspace();
  using scanner = startScanner();
  await makeVault(workspace, canaries);
  const { default: Database } = await import('better-sqlite3');
  const found: string[] = [];
  const backup = workspace.inside('vault/backup');
  await workspace.vault(['backup', backup, '--file', workspace.file, '--key-file', workspace.keyFile]);
  for (const [encoding, bytes] of Object.entries(encodings(text))) {
    const copy = workspace.inside(`vault/planted-${encoding}`);
    copyFileSync(backup, copy);
    const database = new Database(copy);
    database.exec('ALTER TABLE tenant ADD COLUMN plain BLOB');
    database.prepare('UPDATE tenant SET plain = ?').run(bytes);
    database.close();
    const { hits } = await scanner.scan([copy], needlesOf(canaries.all()));
    if (hits.some((hit) => hit.canary === 'planted' && hit.encoding === encoding)) found.push(encoding);
  }
  if (found.length < Object.keys(encodings(text)).length) return;
  throw new CheckFailure(`found as ${found.join(', ')}`);
}

export const CHECK: Check = { number: 8, name: 'leakage', quick: true, runs: 'early', run, control };
