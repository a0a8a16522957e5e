/**
 * Tests the product on other Node releases, which it installs from npm outside the checkout. Runs the transcripts, the
 * tests of what a release can change, commands that once aborted, and a daemon under load with a small heap and forced
 * garbage collection. On the first release, measures the coverage. Exits with 1 when a command fails or a signal ends it.
 *
 *   node scripts/check-runtimes.ts [VERSION …]      the major versions to test; default: 22 and 26
 *   node scripts/check-runtimes.ts --bin FILE       run only the commands and the load, with this Node and another `vault`
 */
import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from './build-output.ts';
import { parseFlags } from './parse-flags.ts';
import { BIN, bareEnvironment, serve } from './run-vault.ts';
import type { Setting } from './runners/execute.ts';

const RUNS = 20;
const LOAD_SECONDS = 10;
const CALLERS = 8;
const TRANSCRIPTS = 'test/scripts/scripts.test.ts';
/** Tests of parsing, numbers and native modules, which the coverage runs, too. */
const COVERING = ['test/contract', 'test/vectors', 'test/unit/keyring-'];
/** Tests of numbers, native modules, streams, timers and files. */
const TESTS = [
  TRANSCRIPTS,
  ...['backup', 'cli-', 'dev-', 'json-', 'open-vault', 'snapshots', 'store-', 'timers', 'vault-', 'written-'].map(
    (name) => `test/unit/${name}`,
  ),
];

/**
 * Node's flags for a heap of 48 MB and, with `COLLECT`, garbage collection every 20 ms: native finalizers run under
 * load.
 */
const SMALL_HEAP = ['--max-old-space-size=48', '--max-semi-space-size=1', '--expose-gc', '--import'];
const COLLECT = 'data:text/javascript,setInterval(globalThis.gc, 20).unref()';

/**
 * Runs a command and returns its standard output. Throws an error with its output when a signal ends it or its exit code
 * is not 0.
 */
function run(command: string, args: readonly string[], options: SpawnSyncOptions = {}): string {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) {
    const output = [stdout, stderr].filter(Boolean).join('\n');
    throw new Error(`${path.basename(command)} ${args.join(' ')}: ${signal ?? status}\n${output}`);
  }
  return stdout;
}

/** Checks that `run` throws for a command that aborts. Throws if it does not. */
function control(node: string): void {
  try {
    run(node, ['-e', 'process.abort()'], { stdio: 'ignore' });
  } catch (error) {
    if (/SIGABRT|13\d/.test(String(error))) return;
    throw error;
  }
  throw new Error('the control did not fail: `run` did not detect a command that aborts');
}

/** Functions that return the arguments of a command that once aborted. `n` makes file names unique. */
const COMMANDS: Readonly<Record<string, (n: number) => readonly string[]>> = {
  doctor: () => ['doctor'],
  backup: (n) => ['backup', `backup-${n}.db`],
  'keys rotate': () => ['keys', 'rotate', '--yes'],
};

function runCommands(node: string, bin: string, setting: Setting): void {
  for (const [name, words] of Object.entries(COMMANDS)) {
    for (let n = 0; n < RUNS; n += 1) run(node, [bin, ...words(n)], setting);
    process.stdout.write(`   ${name}: ${RUNS} runs\n`);
  }
}

/**
 * Creates and reads cards until `performance.now()` reaches `until`. Resolves to the number of requests. Rejects when a
 * create does not return 201 or a read does not return 200.
 */
async function call(url: string, apiKey: string, until: number): Promise<number> {
  const headers = { 'svc-api-key': apiKey, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'card', data: { number: '4242424242424242' } });
  let answered = 0;
  for (; performance.now() < until; answered += 2) {
    const created = await fetch(`${url}/tokens`, { method: 'POST', headers, body });
    const { id }: { readonly id: string } = JSON.parse(await created.text());
    const read = await fetch(`${url}/tokens/${id}`, { headers });
    await read.arrayBuffer();
    if (created.status !== 201 || read.status !== 200) throw new Error(`${created.status}, ${read.status}`);
  }
  return answered;
}

async function runDaemon(node: string, bin: string, { cwd, env }: Setting): Promise<void> {
  const readyFile = path.join(cwd, 'ready.json');
  const flags = [...SMALL_HEAP, COLLECT];
  const daemon = await serve(['--dev', '--ready-file', readyFile], env, { node, flags, bin });
  try {
    run(node, [bin, 'wait', '--ready-file', readyFile], { cwd, env });
    const { private_key }: { readonly private_key: string } = JSON.parse(readFileSync(readyFile, 'utf8'));
    const until = performance.now() + LOAD_SECONDS * 1000;
    const answered = await Promise.all(Array.from({ length: CALLERS }, () => call(daemon.url, private_key, until)));
    process.stdout.write(`   daemon: ${answered.reduce((sum, n) => sum + n)} requests\n`);
    const how = await Promise.race([daemon.end(), sleep(20_000, 'did not stop')]);
    if (how !== 0) throw new Error(`the daemon ended with ${how}: ${daemon.stderr()}`);
  } finally {
    daemon.end('SIGKILL');
  }
}

async function checkRuntime(node: string, bin: string): Promise<void> {
  const cwd = mkdtempSync(path.join(tmpdir(), 'vault-runtime-'));
  const file = path.join(cwd, 'vault.db');
  const place = { cwd, env: { ...bareEnvironment(cwd), VAULT_FILE: file } };
  try {
    control(node);
    run(node, [bin, 'init', '--file', file], place);
    runCommands(node, bin, place);
    await runDaemon(node, bin, place);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function runTests(node: string, isFirst: boolean): void {
  const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env['PATH']}` };
  const show = (args: readonly string[]) => {
    const output = run(node, args, { cwd: ROOT, env });
    process.stdout.write(`${output.match(/.*(?:Tests |Duration|% {2}src\/[^:]+: ).*/g)?.join('\n')}\n`);
  };
  if (isFirst) show(['scripts/coverage.ts']);
  show(['node_modules/vitest/vitest.mjs', 'run', '--reporter=dot', ...TESTS, ...(isFirst ? [] : COVERING)]);
}

const usage = 'node scripts/check-runtimes.ts [--bin FILE | VERSION …]';
const { values, positionals } = parseFlags('check-runtimes', usage, {
  allowPositionals: true,
  options: { bin: { type: 'string' } },
});
if (values.bin !== undefined) {
  await checkRuntime(process.execPath, path.resolve(values.bin));
} else {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-nodes-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const [index, major] of (positionals.length > 0 ? positionals : ['22', '26']).entries()) {
    const prefix = path.join(folder, major);
    const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
    run('npm', ['install', '--silent', '--prefix', prefix, `node-${platform}@${major}`], {
      shell: process.platform === 'win32',
    });
    const node = path.join(prefix, 'node_modules', `node-${platform}`, 'bin', 'node');
    process.stdout.write(`== Node ${run(node, ['--version'])}`);
    runTests(node, index === 0);
    await checkRuntime(node, BIN);
  }
}
