import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { ROOT } from './build-output.js';

export const BIN = path.join(ROOT, 'bin/vault.js');

/** What a process needs to start at all. */
const INHERITED = new Set(['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR']);

/**
 * An environment of a few fixed variables, with `folder` for a home. With `own` it is this process's own, without the
 * vault's variables.
 */
export function bareEnvironment(folder, { own = false } = {}) {
  const inherits = (name) => (own ? !name.startsWith('VAULT_') : INHERITED.has(name));
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => inherits(name))),
    HOME: folder,
    USERPROFILE: folder,
    APPDATA: folder,
    LOCALAPPDATA: folder,
    XDG_CONFIG_HOME: folder,
    NO_COLOR: '1',
  };
}

/** A started command; `output` grows until it has ended. */
export function start(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text;
    });
  }
  return { child, output, ended: once(child, 'close') };
}

export async function run(args, env) {
  const { output, ended } = start(args, env);
  const [code] = await ended;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${output.stderr}`);
  return output.stdout;
}

const vault = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], env));

/** Of an application that makes tokens anywhere, and sees all of each. */
export const REVEAL_RULE = {
  description: 'all',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ['token:read', 'token:create'],
};

/** A vault with one token, and the environment in which a private application's key reads it. */
export async function makeVault(folder, name, bare) {
  const file = path.join(folder, `${name}.db`);
  const keyFile = path.join(folder, `${name}.key`);
  const { application } = await vault(['init', '--file', file, '--key-file', keyFile], bare);
  const direct = { ...bare, VAULT_FILE: file, VAULT_KEY_FILE: keyFile };
  const created = await vault(
    ['apps', 'create', '--name', 'reader', '--type', 'private', '--rule', JSON.stringify(REVEAL_RULE)],
    { ...direct, VAULT_API_KEY: application.key },
  );
  const env = { ...direct, VAULT_API_KEY: created.key };
  const token = await vault(['tokens', 'create', '--type', 'token', '--data', '"4242"'], env);
  return { file, keyFile, env, token: token.id };
}
