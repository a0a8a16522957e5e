import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from './build-output.js';

/** What a process needs to start at all. */
const INHERITED = new Set(['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR']);
const BIN = path.join(ROOT, 'bin/vault.js');
const LISTENING = /^vault: listening on (\S+)/m;

/** A started command; `output` grows until it has ended. */
function start(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text;
    });
  }
  return { child, output, ended: once(child, 'close') };
}

async function run(args, env) {
  const { output, ended } = start(args, env);
  const [code] = await ended;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${output.stderr}`);
  return output.stdout;
}

const vault = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], env));

/** Resolves to the daemon's address as soon as it says that it listens. */
async function serve(file, env) {
  const { child, output, ended } = start([BIN, 'serve', '--file', file, '--port', '0'], env);
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const found = output.stderr.match(LISTENING)?.[1];
      if (found !== undefined) resolve(found);
    });
    ended.then(([code]) => reject(new Error(`serve ended with ${code}: ${output.stderr}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url, stop };
}

async function timed(action) {
  const started = performance.now();
  const result = await action();
  return { ms: performance.now() - started, result };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const round = (value, digits) => Number(value.toFixed(digits));

/** A vault with one token, and the environment in which a private application's key reads it. */
async function makeVault(folder, name, bare) {
  const file = path.join(folder, `${name}.db`);
  const keyFile = path.join(folder, `${name}.key`);
  const { application } = await vault(['init', '--file', file, '--key-file', keyFile], bare);
  const direct = { ...bare, VAULT_FILE: file, VAULT_KEY_FILE: keyFile };
  const rule = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:read', 'token:create'],
  };
  const created = await vault(
    ['apps', 'create', '--name', 'bench', '--type', 'private', '--rule', JSON.stringify(rule)],
    {
      ...direct,
      VAULT_API_KEY: application.key,
    },
  );
  const env = { ...direct, VAULT_API_KEY: created.key };
  const token = await vault(['tokens', 'create', '--type', 'token', '--data', '"4242"'], env);
  return { file, keyFile, env, token: token.id };
}

/**
 * How long commands take from nothing, as ratios to a bare `node -e 0` of the same rounds: cli.md, "Speed". The cases take
 * turns, so that what else the machine does falls on all of them.
 */
export async function startup({ rounds, ownEnvironment }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'vault-bench-'));
  const inherits = (name) => (ownEnvironment ? !name.startsWith('VAULT_') : INHERITED.has(name));
  const bare = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => inherits(name))),
    HOME: folder,
    USERPROFILE: folder,
    APPDATA: folder,
    LOCALAPPDATA: folder,
    XDG_CONFIG_HOME: folder,
    NO_COLOR: '1',
  };
  let daemon;
  try {
    const { file, env, token, keyFile } = await makeVault(folder, 'read', bare);
    const other = await makeVault(folder, 'serve', bare);
    daemon = await serve(file, env);
    const remote = { ...bare, VAULT_URL: daemon.url, VAULT_API_KEY: env.VAULT_API_KEY };
    const get = [BIN, 'tokens', 'get', token];

    const cases = [
      { case: 'node -e 0', run: () => timed(() => run(['-e', '0'], bare)) },
      { case: 'vault --version', target: 1.35, run: () => timed(() => run([BIN, '--version'], bare)) },
      { case: 'vault --help', target: 1.35, run: () => timed(() => run([BIN, '--help'], bare)) },
      { case: 'vault tokens get (http)', target: 1.8, run: () => timed(() => run(get, remote)) },
      { case: 'vault tokens get (file)', target: 1.9, run: () => timed(() => run(get, env)) },
      {
        case: 'vault serve (ready)',
        target: 4,
        run: async () => {
          const measured = await timed(() => serve(other.file, { ...bare, VAULT_KEY_FILE: other.keyFile }));
          await measured.result.stop();
          return measured;
        },
      },
    ];
    const expected = await run(get, { ...env, VAULT_KEY_FILE: keyFile });
    if ((await run(get, remote)) !== expected) throw new Error('the two doors answer differently');

    const times = cases.map(() => []);
    for (let turn = -1; turn < rounds; turn++) {
      for (let step = 0; step < cases.length; step++) {
        const index = (step + turn + cases.length) % cases.length;
        const { ms } = await cases[index].run();
        if (turn >= 0) times[index].push(ms); // the first turn fills the caches
      }
    }
    const base = median(times[0]);
    const rows = cases.map(({ case: name, target }, index) => {
      const middle = median(times[index]);
      const ratio = middle / base;
      return {
        case: name,
        median_ms: round(middle, 1),
        min_ms: round(Math.min(...times[index]), 1),
        ratio: round(ratio, 2),
        target: target ?? null,
        reached: target === undefined ? null : ratio <= target,
      };
    });
    return { title: `Start-up, ${rounds} rounds, Node ${process.versions.node}`, rows };
  } finally {
    await daemon?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
