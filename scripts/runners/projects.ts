import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../build-output.ts';
import type { Environment } from '../run-vault.ts';
import { docBlocks } from './doc-blocks.ts';
import { environment, execute } from './execute.ts';

const SOURCES = path.join(ROOT, 'test/runners');

/** The files of test/runners/ by the names of their copies. */
export type Files = Readonly<Record<string, string>>;

/** Copies the files of test/runners/ into a folder, some of them a second time under the names of `files`. */
export function fill(folder: string, files: Files = {}): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(SOURCES)) {
    if (/\.[cm]js$/.test(name)) copyFileSync(path.join(SOURCES, name), path.join(folder, name));
  }
  for (const [name, source] of Object.entries(files)) {
    copyFileSync(path.join(SOURCES, source), path.join(folder, name));
  }
}

/** Returns the functions that make a project for each package manager, in folders of `work`. */
export function projectsIn(work: string) {
  const tarball = path.join(work, 'token-vault.tgz');
  const npm = path.join(work, 'npm');
  const { install } = docBlocks();

  /** Installs the package by the line of docs/testing.md, with the tarball for its name. */
  async function add(manager: string, folder: string, manifest: string, env: Environment = {}): Promise<string> {
    fill(folder);
    writeFileSync(path.join(folder, 'package.json'), manifest);
    const line = install[manager]?.replace(/token-vault\b/, `token-vault@file:${tarball}`);
    if (line === undefined) throw new Error(`docs/testing.md installs nothing with ${manager}`);
    await execute(line, { cwd: folder, env: environment([path.join(npm, 'node_modules/.bin')], env) });
    return folder;
  }

  return {
    /** The folder of the npm project, in which the test runners and the other package managers are. */
    npm,
    async pack() {
      const output = await execute(`npm pack --silent --ignore-scripts --pack-destination "${work}"`, {
        cwd: ROOT,
        env: environment([]),
      });
      copyFileSync(path.join(work, output.trim().split('\n').at(-1) ?? ''), tarball);
    },
    makeNpm() {
      const manifest = readFileSync(path.join(SOURCES, 'package.json'), 'utf8');
      return add('npm', npm, manifest, { npm_config_audit: 'false', npm_config_fund: 'false' });
    },
    makePnpm: () => add('pnpm', path.join(work, 'pnpm'), '{ "private": true }', { CI: '1' }),
    async makeYarn() {
      const folder = path.join(work, 'yarn');
      mkdirSync(folder);
      // Without a lock file of its own, Yarn looks for a project in the folders above.
      writeFileSync(path.join(folder, 'yarn.lock'), '');
      const registry = await execute('npm config get registry', { cwd: npm, env: environment([]) });
      return add('yarn', folder, '{ "private": true }', {
        YARN_ENABLE_TELEMETRY: '0',
        YARN_GLOBAL_FOLDER: path.join(work, 'yarn-global'),
        YARN_NPM_REGISTRY_SERVER: registry.trim(),
      });
    },
  };
}
