import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { ROOT } from './build-output.js';

export const BIN = path.join(ROOT, 'bin/vault.js');

/** The variables that a process needs to start. */
const INHERITED = ['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR'];
const LISTENING = /^vault: listening on (\S+)/m;

/** Returns an environment of a few fixed variables, with `folder` as the home directory. */
export function bareEnvironment(folder) {
  const inherited = INHERITED.filter((name) => name in process.env).map((name) => [name, process.env[name]]);
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME'].map((name) => [name, folder]);
  return { ...Object.fromEntries([...inherited, ...homes]), NO_COLOR: '1' };
}

/** Starts Node. Returns the child, its growing `output`, and `ended`, which resolves to its exit code and signal. */
function start(args, env, node = process.execPath) {
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text;
    });
  }
  return { child, output, ended: once(child, 'close') };
}

/** Runs Node until it ends and returns its standard output. Throws when the exit code is not 0. */
export async function run(args, env) {
  const { output, ended } = start(args, env);
  const [code, signal] = await ended;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${signal ?? code}: ${output.stderr}`);
  return output.stdout;
}

/** Runs a command and returns its JSON result. */
export const vault = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], env));

/**
 * Starts `vault serve` on a free port. Resolves to the daemon when it listens; rejects when it ends earlier. `end`
 * sends a signal to the daemon and resolves to its exit code or signal.
 */
export async function serve(args, env, { node, flags = [], bin = BIN } = {}) {
  const words = [...flags, bin, 'serve', '--port', '0', '--no-log', ...args];
  const { child, output, ended } = start(words, env, node);
  const end = async (signal = 'SIGTERM') => {
    child.kill(signal);
    const [code, by] = await ended;
    return by ?? code;
  };
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const [, found] = output.stderr.match(LISTENING) ?? [];
      if (found !== undefined) resolve(found);
    });
    ended.then(([code]) => reject(new Error(`serve ended with ${code}: ${output.stderr}`)), reject);
  });
  return { url, port: Number(new URL(url).port), pid: child.pid, end, stderr: () => output.stderr };
}

/**
 * Starts `vault ui`. Resolves to the link that it prints, and to `end`, which stops it and resolves to its exit code.
 */
export async function openUi(args, env) {
  const { child, output, ended } = start([BIN, 'ui', '--no-open', ...args], env);
  const end = async () => {
    child.kill('SIGTERM');
    return (await ended)[0];
  };
  const link = await new Promise((resolve, reject) => {
    child.stdout.on('data', () => output.stdout.endsWith('\n') && resolve(output.stdout.trim()));
    ended.then(([code]) => reject(new Error(`ui ended with ${code}: ${output.stderr}`)), reject);
  });
  return { link, end };
}
