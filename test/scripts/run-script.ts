import { type ChildProcess, type ForkOptions, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { RESULT_VALIDATORS } from '../../src/core/result-validators.generated.js';
import { createVault } from '../../src/vault/vault.ts';
import { createNormaliser } from './normalise.ts';
import type { Script, StepOutput } from './script.ts';
import { splitWords } from './split-words.ts';

export const VAULT = fileURLToPath(new URL('../../dist/vault.cjs', import.meta.url));

/** The result of a process. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Returns the caller's environment without variables that change a vault's behaviour. */
export function cleanEnvironment(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:VAULT_|NO_COLOR$|NODE_OPTIONS$|NODE_EXTRA_CA_CERTS$)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...own };
}

/** A list of words, or a line that is split like one of a transcript: `tokens list --size 5`. */
export type Command = string | readonly string[];

export function wordsOf(command: Command): readonly string[] {
  return typeof command === 'string' ? splitWords(command, new Map()).words : command;
}

interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Runs `vault` in a folder with these variables and this standard input; resolves when it ends. */
export async function runVault(command: Command, options: RunOptions): Promise<Ran> {
  const words = wordsOf(command);
  const { stdout, stderr, exitCode } = await execa(process.execPath, [VAULT, ...words], {
    cwd: options.cwd,
    env: cleanEnvironment(options.env),
    extendEnv: false,
    input: options.stdin ?? '',
    reject: false,
    stripFinalNewline: false,
  });
  if (exitCode === 0) checkResult(words, stdout);
  return { stdout, stderr, exitCode: exitCode ?? -1 };
}

/** Creates the vault `NAME.db` with its key file, like `vault init --file NAME.db` but without a process. */
export async function initVault(
  cwd: string,
  name: string,
  tenantName = 'default',
): Promise<{ readonly tenant: string; readonly key: string }> {
  const file = path.join(cwd, `${name}.db`);
  const key = randomBytes(32);
  writeFileSync(`${file}.key`, key, { mode: 0o600, flag: 'wx' });
  const credential = { kind: 'key_file', key: new Uint8Array(key) } as const;
  const { vault, tenant, application } = await createVault({ file, credential, tenantName });
  await vault.close();
  return { tenant: tenant.id, key: application.key ?? '' };
}

/** Flags that print something other than the body of the reply. */
const OTHER_OUTPUT = /^(?:-q|--quiet|-o|--output|--field|--all|--curl|--dry-run|-h|--help)(?:=|$)/;

/** Throws when the output of a command does not match the result schema of its row. */
function checkResult(words: readonly string[], stdout: string): void {
  if (words.some((word) => OTHER_OUTPUT.test(word) && !words.includes('json')) || !stdout.startsWith('{')) return;
  const called = words
    .slice(0, 2)
    .join(' ')
    .replace(/^applications /, 'apps ');
  const rows: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS);
  const found = rows.filter(
    ([, { cli }]) => cli.command.join(' ') === called || (cli.command.length === 1 && words[0] === cli.command[0]),
  );
  if (found.length === 0) return;
  // Two operations may share a command.
  const isResult = found.some(([id]) => RESULT_VALIDATORS[id as OperationId]?.(parseJson(stdout)));
  if (!isResult) throw new Error(`not a result of ${found.map(([id]) => id)}: ${stdout}`);
}

/** A daemon in its own process. */
export interface Served {
  readonly child: ChildProcess;
  /** The contents of its ready file. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly url: string;
  /** Resolves to the exit code, or to -1 after a signal. */
  readonly ended: Promise<number>;
  /** Sends SIGTERM. Resolves like `ended`. */
  stop(): Promise<number>;
  /** Returns what it has printed on standard error. */
  told(): string;
}

export interface ServeOptions {
  /** The `dist/vault.cjs` of another version. */
  readonly bin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The name of the ready file. Daemons of one folder that start at the same time need different ones. */
  readonly readyName?: string;
}

/** Starts a daemon on a free port or the given socket; resolves when it is ready. */
export async function startServe(
  cwd: string,
  words: readonly string[],
  { bin = VAULT, env, readyName = 'ready.json' }: ServeOptions = {},
): Promise<Served> {
  const readyFile = path.join(cwd, readyName);
  const port = words.includes('--socket') ? [] : ['--port', '0'];
  const child = spawn(process.execPath, [bin, 'serve', ...port, '--ready-file', readyFile, ...words], {
    cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  const readReady = () => (existsSync(readyFile) ? JSON.parse(readFileSync(readyFile, 'utf8')) : undefined);
  let ready = readReady();
  // The file of a daemon that has not stopped yet may still be there.
  while (ready?.pid !== child.pid) {
    if (child.exitCode !== null) throw new Error(`vault serve ended with ${child.exitCode}: ${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    ready = readReady();
  }
  return {
    child,
    ready,
    url: String(ready.url),
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
    told: () => stderr,
  };
}

/**
 * Starts a process that runs one command at a time. It ends with this process. A command without `stdin` reads the
 * standard input of the process, or the `stdin` of an earlier command.
 */
export function startRunner(options: ForkOptions = {}): {
  readonly run: typeof runVault;
  isFree(): boolean;
  /** Ends the process at once: a command that still runs rejects. */
  kill(): void;
} {
  const file = fileURLToPath(new URL('run-commands.mjs', import.meta.url));
  const child = fork(file, { env: cleanEnvironment(), ...options });
  const ended: Promise<readonly unknown[]> = once(child, 'exit');
  child.unref();
  child.channel?.unref();
  let isBusy = false;
  return {
    async run(command, { cwd, env, stdin }) {
      isBusy = true;
      child.channel?.ref();
      const words = wordsOf(command);
      const replied = once(child, 'message');
      child.send({ words, cwd, env: cleanEnvironment(env), stdin });
      const ran = await Promise.race([replied.then(([message]) => message as Ran), ended]);
      child.channel?.unref();
      isBusy = false;
      if (!('stdout' in ran)) throw new Error(`${words.join(' ')} ended its process: ${ran.join(' ')}`);
      if (ran.exitCode === 0) checkResult(words, ran.stdout);
      return ran;
    },
    isFree: () => child.connected && !child.killed && !isBusy,
    kill: () => void child.kill('SIGKILL'),
  };
}

/** The processes of `runInShared`, which all test files of this worker use. */
const runners: ReturnType<typeof startRunner>[] = [];

/**
 * Runs a command like `runVault`, in a process that earlier commands used: most of a command's time is the start of
 * Node. Commands at the same time still have a process each, and so has a command with variables of Node, which reads
 * them when it starts.
 */
export const runInShared: typeof runVault = (command, options) => {
  if (Object.keys(options.env ?? {}).some((name) => name.startsWith('NODE_'))) return runVault(command, options);
  let runner = runners.find((one) => one.isFree());
  if (runner === undefined) {
    runner = startRunner();
    runners.push(runner);
  }
  return runner.run(command, { stdin: '', ...options });
};

/** Environment variables. */
type Variables = Readonly<Record<string, string>>;

interface ScriptVault {
  readonly tenant: string;
  readonly key: string;
  /** The variables that name the vault without a daemon. */
  readonly opening: Variables;
}

const inFile = async (cwd: string): Promise<ScriptVault> => ({
  ...(await initVault(cwd, 'vault', 'script')),
  opening: { VAULT_FILE: 'vault.db' },
});

async function inStore(cwd: string): Promise<ScriptVault> {
  const { initStore } = await import('../postgres/init-store.ts');
  const { tenant, key, url } = await initStore(cwd, 'vault', 'script');
  return { tenant, key, opening: { VAULT_STORE: url, VAULT_KEY_FILE: 'vault.db.key' } };
}

/** Running daemons on one vault. */
interface RunningDaemons {
  readonly urls: readonly string[];
  stop(): Promise<unknown>;
}

/** Starts daemons in this process, because starting a process for each takes longer than the commands. */
async function serveHere(cwd: string, opening: Variables, count = 1): Promise<RunningDaemons> {
  const [{ createDraw }, { startDaemons }, { openVaultAt, parseStore }] = await Promise.all([
    import('../checks/model-fuzz-bodies.ts'),
    import('../checks/start-daemons.ts'),
    import('../../src/vault/location.ts'),
  ]);
  const key = new Uint8Array(readFileSync(path.join(cwd, 'vault.db.key')));
  const place =
    opening['VAULT_STORE'] === undefined
      ? { file: path.join(cwd, 'vault.db') }
      : { store: parseStore(opening['VAULT_STORE'], false) };
  const open = () => openVaultAt(place, { credential: { kind: 'key_file', key } });
  const vaults = await Promise.all(Array.from({ length: count }, open));
  const { urls, stop } = await startDaemons(vaults, createDraw(0));
  return {
    urls,
    async stop() {
      await stop();
      await Promise.all(vaults.map((vault) => vault.close()));
    },
  };
}

interface Target {
  readonly create: (cwd: string) => Promise<ScriptVault>;
  readonly serve?: (cwd: string, opening: Variables) => Promise<RunningDaemons>;
}

/** The first two use a file, the others PostgreSQL. Two daemons take turns, one command each. */
const TARGETS = {
  direct: { create: inFile },
  daemon: { create: inFile, serve: serveHere },
  store: { create: inStore },
  'store daemon': { create: inStore, serve: serveHere },
  'two store daemons': { create: inStore, serve: (cwd, opening) => serveHere(cwd, opening, 2) },
} as const satisfies Readonly<Record<string, Target>>;

export type TargetName = keyof typeof TARGETS;

/**
 * Runs a script on a new vault; resolves to the normalised output of each step. With `ownProcesses`, each command is a
 * process.
 */
export async function runScript(
  script: Script,
  target: TargetName,
  ownProcesses = false,
): Promise<readonly StepOutput[]> {
  const cwd = mkdtempSync(path.join(tmpdir(), 'vault-script-'));
  for (const [name, content] of script.files) writeFileSync(path.join(cwd, name), content);
  const { create, serve }: Target = TARGETS[target];
  const { tenant, key, opening } = await create(cwd);
  const daemons = await serve?.(cwd, opening);
  const targets = daemons?.urls.map((url) => ({ VAULT_URL: url })) ?? [opening];
  try {
    return await runSteps(
      script,
      ownProcesses ? runVault : runInShared,
      cwd,
      { env: { VAULT_API_KEY: key }, targets, opening },
      new Map([
        ['TENANT', tenant],
        ['MANAGEMENT_KEY', key],
      ]),
    );
  } finally {
    await daemons?.stop();
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** The commands without an endpoint that work on a target, as operations do. */
const ON_TARGETS: readonly string[] = ['ui', 'seed apply', 'import', 'apps grant', 'apps revoke', 'apps edit'];

function isLocal(words: readonly string[]): boolean {
  const found = LOCAL_COMMANDS.find((row) => row.words.every((word, at) => words[at] === word));
  return found !== undefined && !ON_TARGETS.includes(found.words.join(' '));
}

/** Returns whether a command is one for the holder of the vault's key: without an API key, it works on the file. */
function isOfHolder([noun, verb]: readonly string[], { VAULT_API_KEY: key }: Variables): boolean {
  return noun === 'audit' && verb === 'list' && key === '';
}

interface StepVariables {
  /** The variables of all commands. Steps add to them. */
  readonly env: Record<string, string>;
  /** The variables that name the vault or a daemon. Steps use them in turn. */
  readonly targets: readonly Variables[];
  /** The variables of commands that need no daemon. */
  readonly opening: Variables;
}

async function runSteps(
  script: Script,
  run: typeof runVault,
  cwd: string,
  { env, targets, opening }: StepVariables,
  variables: Map<string, string>,
): Promise<readonly StepOutput[]> {
  const outputs: StepOutput[] = [];
  const { normalise } = createNormaliser(cwd);
  for (const [index, step] of script.steps.entries()) {
    const line = splitWords(step.command, variables);
    if (line.words[0] !== 'vault') throw new Error(`only vault can be run: ${step.command}`);
    const stdin = step.stdin
      .map((one) => `${one.replaceAll(/\$([A-Z_]+)/g, (whole, name: string) => variables.get(name) ?? whole)}\n`)
      .join('');
    const words = line.words.slice(1);
    // Commands without an endpoint work on the file, even when a daemon is named.
    const file = isOfHolder(words, line.env) ? { VAULT_URL: '', ...opening } : isLocal(words) ? opening : {};
    const target = targets[index % targets.length];
    const ran = await run(words, { cwd, env: { ...target, ...env, ...file, ...line.env }, stdin });
    if (step.capture !== undefined) {
      if (ran.exitCode !== 0) throw new Error(`${step.command} ended with ${ran.exitCode}: ${ran.stderr}`);
      variables.set(step.capture, ran.stdout.trimEnd());
      if (step.capture.startsWith('VAULT_')) env[step.capture] = ran.stdout.trimEnd();
    }
    const lines = (text: string) => (text === '' ? [] : normalise(text, variables).replace(/\n$/, '').split('\n'));
    outputs.push({ stdout: lines(ran.stdout), stderr: lines(ran.stderr), exitCode: ran.exitCode });
  }
  return outputs;
}
