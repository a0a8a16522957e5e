import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { transform } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { cleanEnvironment } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { VAULT_BIN } from './cli-fixture.ts';

/** Runs `vault --version` in a process that pretends to run on this version of Node. */
function runOn(version: string) {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, VAULT_BIN, '--version'];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

it.each(['14.21.3', '22.22.1', '23.11.0', '24.14.9', '25.9.0'])('Node %s is too old', (version) => {
  const { status, stdout, stderr } = runOn(version);
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: `vault: needs Node.js ${manifest.engines.node}, found ${version}; npx token-vault in the checkout works\n`,
  });
});

it.each(['22.22.2', '24.15.0', '26.0.0'])('Node %s is new enough', (version) => {
  expect(runOn(version)).toMatchObject({ status: 0, stdout: `vault ${manifest.version}\n`, stderr: '' });
});

it('uses syntax that Node 14 reads', async () => {
  const text = readFileSync(VAULT_BIN, 'utf8');
  const [old, current] = await Promise.all(['node14', 'esnext'].map((target) => transform(text, { target })));
  expect(old?.code).toBe(current?.code);
});

const JITLESS = 'has no WebAssembly (--jitless)';
const NO_TEXT = 'compiles no code from text (--disallow-code-generation-from-strings)';

it.each([
  ['init', JITLESS],
  ['serve --dev --port 0', JITLESS],
  ['exec -- true', JITLESS],
  ['init', NO_TEXT],
  ['exec -- true', NO_TEXT],
  ['ui --url http://127.0.0.1:1', NO_TEXT],
])('vault %s names an engine that %s, and leaves no file', (words, lack) => {
  const cwd = temporaryFolder(onTestFinished);
  const flag = lack.replace(/.*\(|\)/g, '');
  const env = cleanEnvironment({ NODE_OPTIONS: flag });
  const { status, stderr } = spawnSync(process.execPath, [VAULT_BIN, ...words.split(' ')], {
    cwd,
    env,
    encoding: 'utf8',
  });
  expect({ status, stderr, files: readdirSync(cwd) }).toEqual({
    status: 2,
    stderr: `vault: this Node.js ${lack}, which the vault needs\nhint: remove ${flag} from NODE_OPTIONS\n`,
    files: [],
  });
});
