import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FAULTS } from '../../src/contract/faults.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { ENVIRONMENT, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { assertStrace, type Ended, failCall, recordCalls, type SystemCall, type Traced } from './io-faults-strace.ts';
import { builtText, withPatch } from './patched-product.ts';
import { inParallel, seededNumbers } from './perform.ts';
import { makeVaultFile, type OpenOptions, readTokens, type VaultFile, withVault } from './vault-file.ts';

const COMMITS = builtText('{this.#statements.commit().run()}');

const COMMANDS = {
  commit: ['tokens', 'create', '--type', 'token', '--id', 'fresh', '--data', '{"new":1}', '--field', 'id'],
  rotation: ['keys', 'rotate', '--indexes', '--master', '--yes'],
  snapshot_load: ['dev', 'snapshot', 'load', 'before', '--yes'],
} as const;
type CommandName = keyof typeof COMMANDS;

const SAMPLE = 8;
const WIDTH = 2;
const EXITS: ReadonlySet<number> = new Set(Object.values(FAULTS).map(({ exit }) => exit));

const TOKENS = 6;

/** A vault with the snapshot `before`. Tokens were changed, removed and added after it. */
type IoFaultVault = Awaited<ReturnType<typeof makeIoFaultVault>>;

async function makeIoFaultVault(folder: string) {
  const vault = await makeVaultFile(folder);
  const { file, everything } = vault;
  const body = (id: string) => ({ id, type: 'token', data: { of: id }, metadata: { of: id } });
  await withVault(vault, async (perform) => {
    for (let n = 0; n < TOKENS; n += 1) await perform(everything, 'createToken', { body: body(`token-${n}`) });
  });
  // The file that `vault serve --dev` creates.
  writeFileSync(`${file}.dev.json`, '{}');
  const save = [VAULT_BIN, 'dev', 'snapshot', 'save', 'before', '--file', file];
  await promisify(execFile)(process.execPath, save, { env: ENVIRONMENT });
  await withVault(vault, async (perform) => {
    await perform(everything, 'updateToken', { id: 'token-0', body: { data: { of: 'after' } } });
    await perform(everything, 'deleteToken', { id: 'token-1' });
    await perform(everything, 'createToken', { body: body('token-late') });
  });
  return { ...vault, folder, files: readdirSync(folder), tokens: await tokensOf(vault) };
}

/** Returns all tokens with their contents as one text. Rejects when the vault does not open. */
async function tokensOf({ everything, ...vault }: OpenOptions & Pick<VaultFile, 'everything'>): Promise<string> {
  const tokens = await withVault(vault, (perform) => readTokens(perform, everything));
  return JSON.stringify([...tokens].map(([id, { data, metadata }]) => [id, data, metadata]).sort());
}

interface Place {
  readonly file: string;
  readonly traced: Traced;
}

function place(vault: IoFaultVault, name: CommandName, folder: string, bin: string): Place {
  rmSync(folder, { recursive: true, force: true });
  cpSync(vault.folder, folder, { recursive: true });
  const file = join(folder, 'vault.db');
  const beside = ['', '-wal', '-shm', '.key', '.snapshots', '.snapshots/before.db'].map((end) => file + end);
  const command = [process.execPath, bin, ...COMMANDS[name], '--file', file];
  return { file, traced: { command, paths: [folder, ...beside], apiKey: vault.everything, log: `${folder}.strace` } };
}

/** Returns what is wrong afterwards: the command must have done everything, or nothing, and reported why. */
async function judge(vault: IoFaultVault, { file }: Place, after: string, { exit, stderr }: Ended) {
  const defined = EXITS.has(exit) && stderr.startsWith('vault: ') && !stderr.includes('unexpected error');
  if (exit !== 0 && !defined) return `ends with ${exit}: ${stderr.slice(0, 300)}`;
  const { credential, everything } = vault;
  const found = await tokensOf({ file, credential, everything }).catch((error: unknown) => String(error));
  if (found !== after && (exit === 0 || found !== vault.tokens)) return `ends with ${exit} and leaves ${found}`;
  const { ok, findings } = await checkVaultFile({ file, credential });
  if (!ok) return `leaves what doctor finds: ${JSON.stringify(findings).slice(0, 300)}`;
  const left = readdirSync(join(file, '..')).filter((name) => !vault.files.includes(name));
  return left.length === 0 ? undefined : `leaves files behind: ${left.join(', ')}`;
}

interface Options extends CheckOptions {
  readonly names: readonly CommandName[];
  readonly bin?: string;
  readonly only?: string;
}

async function failCalls({ seed, quick, names, bin = VAULT_BIN, only }: Options) {
  assertStrace();
  const random = seededNumbers(seed);
  using memory = makeMemoryFolder();
  const counts = { faults: 0, not_reached: 0, done: 0, refused: 0, wrong: 0 };
  const calls: Record<string, number> = {};
  let first: string | undefined;
  mkdirSync(join(memory.path, 'vault'));
  const vault = await makeIoFaultVault(join(memory.path, 'vault'));
  for (const name of names) {
    const whole = place(vault, name, join(memory.path, 'whole'), bin);
    const all = (await recordCalls(whole.traced)).filter((call) => only === undefined || call.name === only);
    const { credential, everything } = vault;
    const after = await tokensOf({ file: whole.file, credential, everything });
    const chosen = quick ? sample(all, random) : all;
    calls[`${name}_calls`] = all.length;
    const free = Array.from({ length: WIDTH }, (_, lane) => join(memory.path, `lane-${lane}`));
    await inParallel(chosen.length, WIDTH, async (index) => {
      const [call, folder] = [chosen[index], free.pop()];
      if (call === undefined || folder === undefined) throw new Error('unreachable: a folder for each worker');
      const run = place(vault, name, folder, bin);
      const ended = await failCall(run.traced, call);
      const flaw = await judge(vault, run, after, ended);
      counts.faults += 1;
      if (!ended.hit) counts.not_reached += 1;
      counts[ended.exit === 0 ? 'done' : 'refused'] += 1;
      if (flaw !== undefined) counts.wrong += 1;
      if (flaw !== undefined) first ??= `${name}, ${call.name} number ${call.nth} fails: ${flaw}`;
      free.push(folder);
    });
  }
  const figures = { ...calls, ...counts };
  if (first !== undefined) throw new CheckFailure(first, figures);
  // Some calls depend on timing, so a few faults may not occur.
  if (counts.not_reached > counts.faults / 20) throw new CheckFailure('the faults are not reached', figures);
  return figures;
}

/** Returns `SAMPLE` of the calls, of as many kinds as possible. */
function sample(all: readonly SystemCall[], random: () => number): readonly SystemCall[] {
  const shuffled = all.map((call) => ({ call, at: random() })).sort((a, b) => a.at - b.at);
  const kinds = new Map(shuffled.map(({ call }) => [call.name, call]));
  const writes = shuffled.filter(({ call }) => /^(pwrite64|fsync|fdatasync|ftruncate)$/.test(call.name));
  return [...new Set([...writes.slice(0, SAMPLE / 2).map(({ call }) => call), ...kinds.values()])].slice(0, SAMPLE);
}

export const CHECK: Check = {
  number: 20,
  name: 'failing calls',
  quick: true,
  runs: 'early',
  run: (options) => failCalls({ ...options, names: ['commit', 'rotation', 'snapshot_load'] }),
  /** Runs a product that reports a failed commit as successful. */
  control: (options) =>
    withPatch([COMMITS, '{try{this.#statements.commit().run()}catch{}}'], (bin) =>
      failCalls({ ...options, quick: false, names: ['commit'], only: 'fsync', bin }),
    ),
};
