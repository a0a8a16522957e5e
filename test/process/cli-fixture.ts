import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import {
  type Command,
  cleanEnvironment,
  initVault,
  type Ran,
  runInShared,
  runVault,
  type Served,
  type ServeOptions,
  startServe,
  VAULT,
  wordsOf,
} from '../scripts/run-script.ts';
import { type AtEnd, temporaryFolder } from '../temporary-folder.ts';

export const VAULT_BIN = VAULT;
/** The text of a shell script that runs `vault`. */
export const RUN_VAULT = `exec '${process.execPath}' '${VAULT_BIN}' "$@"`;
/** The longest time that a command of `start` may take, in milliseconds. */
const LIMIT_MS = 20_000;

type RunHere = (command: Command, env?: Readonly<Record<string, string>>, stdin?: string) => Promise<Ran>;

/** A temporary folder with its own configuration folder, in which `vault` runs. */
export interface Place {
  readonly cwd: string;
  inside(name: string): string;
  /** Writes a shell script. */
  program(name: string, text: string): void;
  /** Runs a command in a process that other commands share. */
  vault: RunHere;
  /** Runs a command in its own process. */
  process: RunHere;
  /** Starts a command in its own process, without standard input. Kills it after the test. */
  start(command: Command, env?: Readonly<Record<string, string>>): ReturnType<typeof startCommand>;
  /** Runs a command on a terminal and types each answer when its question appears. */
  onTerminal(line: string, answers?: Answers, env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Starts a daemon, which stops after the test. */
  serve(words: readonly string[], options?: ServeOptions): Promise<Served>;
  /** Creates a vault `NAME.db` with its key file. Returns its management key. */
  init(name: string): Promise<string>;
  /** Creates a private application that reveals every token. Returns its key. */
  application(name: string, managementKey: string, permissions: string): Promise<string>;
}

/**
 * Creates a temporary folder. A folder created at the top of a test file is removed after all its tests; with
 * `onTestFinished`, after one test.
 */
export function makePlace(atEnd: AtEnd = afterAll): Place {
  const cwd = temporaryFolder(atEnd);
  const own = { VAULT_CONFIG_DIR: path.join(cwd, 'config') };
  const runBy =
    (run: typeof runVault): RunHere =>
    (command, env = {}, stdin = '') =>
      run(command, { cwd, env: { ...own, ...env }, stdin });
  const vault = runBy(runInShared);
  return {
    cwd,
    inside: (name) => path.join(cwd, name),
    program: (name, text) => writeFileSync(path.join(cwd, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 }),
    vault,
    process: runBy(runVault),
    start: (command, env) => startCommand(command, cwd, { ...own, ...env }),
    onTerminal: (line, answers, env) => startOnTerminal(line, { cwd, env: { ...own, ...env } }, answers),
    async serve(words, options) {
      const served = await startServe(cwd, words, options);
      onTestFinished(async () => void (await served.stop()));
      return served;
    },
    init: async (name) => (await initVault(cwd, name)).key,
    async application(name, managementKey, permissions) {
      const env = { VAULT_FILE: `${name}.db`, VAULT_API_KEY: managementKey };
      const rule = `container=/ transform=reveal permissions=${permissions}`;
      const made = await vault(`apps create --name a --type private --rule '${rule}' --field key`, env);
      return made.stdout.trim();
    },
  };
}

function startCommand(command: Command, cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [VAULT_BIN, ...wordsOf(command)], {
    cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return Object.assign(child, { ended: endOf(child, LIMIT_MS) });
}

/**
 * Sends a request with an API key: `GET /tokens`. A body is an object or JSON. Resolves to the response, with the body as
 * text and, if it is JSON, parsed.
 */
export async function send(url: string, line: string, apiKey: string, body?: object | string) {
  const [method = '', target = ''] = line.split(' ');
  const mediaType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await fetch(url + target, {
    method,
    headers: { 'svc-api-key': apiKey, ...(body !== undefined && { 'content-type': mediaType }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** Returns whether a program is installed. */
export function isThere(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** The output and end of a process. `exitCode` is -1 when it was killed after `limitMs`. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly milliseconds: number;
}

export function endOf(child: ChildProcess, limitMs: number): Promise<Ended> {
  const started = performance.now();
  let stdout = '';
  let stderr = '';
  let killed = false;
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => {
    killed = true;
    child.kill('SIGKILL');
  }, limitMs);
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ stdout, stderr, exitCode: killed ? -1 : (code ?? -1), milliseconds: performance.now() - started });
    });
  });
}

/** Whether this system has `script`, which runs a command on a new terminal. */
export const HAS_TERMINALS = ['linux', 'darwin'].includes(process.platform);

/** What to type when a question appears. */
type Answers = readonly (readonly [question: string | RegExp, answer: string])[];

/** Returns the pattern of a message and the masked question after it. What is typed between the two may be lost. */
export const askedAfter = (message: string) => new RegExp(`${message}[^]*toggle visibility`);

/** Runs a `vault` command, or another program, on a terminal and types each answer when its question appears. */
export function startOnTerminal(
  line: string,
  options: {
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly program?: string | undefined;
  },
  answers: Answers = [],
): Promise<Ended> {
  // Without exec a shell may handle Ctrl-C and set its own exit code.
  const command = `exec ${options.program ?? `'${process.execPath}' '${VAULT_BIN}'`} ${line}`;
  const words =
    process.platform === 'linux' ? ['-qec', command, '/dev/null'] : ['-q', '/dev/null', 'sh', '-c', command];
  const env = cleanEnvironment({ TERM: 'xterm-256color', ...options.env });
  const child = spawn('script', words, { cwd: options.cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const left = [...answers];
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString('utf8');
    const next = left[0];
    if (next === undefined || seen.search(next[0]) === -1) return;
    left.shift();
    seen = '';
    // The prompt reads keys only after it is drawn.
    setTimeout(() => child.stdin.write(next[1]), 100);
  });
  return endOf(child, 15_000);
}
