import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { makeTemporaryFolder } from '../../src/cli/commands/dev/temporary-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let place = '';
let dead = 0;

beforeEach(() => {
  place = temporaryFolder(onTestFinished);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, place);
  dead = spawnSync(process.execPath, ['-e', '']).pid;
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const onLinux = process.platform === 'linux';
const OWN_MARK = onLinux ? `${hostname()}\n${readlinkSync('/proc/self/ns/pid')}` : hostname();

/** Creates a folder as a dead process leaves it. `mark` names the machine and, on Linux, the PID namespace. */
function leave(name: string, mark: string = OWN_MARK): string {
  const folder = path.join(place, name);
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(path.join(folder, 'vault.db'), 'x');
  if (mark !== '') writeFileSync(path.join(folder, 'machine'), mark);
  return folder;
}

it('removes the folders of dead processes, and nothing else', () => {
  const names = [`dev-${dead}-abcDEF`, `dev-${dead}-123456`, `doctor-${dead}-ghiJKL`, `backup-${dead}-mnoPQR`];
  const gone = names.map((name) => leave(`token-vault-${name}`));
  const kept = [
    leave(`token-vault-dev-${process.pid}-abcDEF`),
    leave(`token-vault-dev-${dead}-othrPC`, OWN_MARK.replace(hostname(), 'another machine')),
    leave(`token-vault-dev-${dead}-othrNS`, `${hostname()}\npid:[1]`),
    leave(`token-vault-dev-${dead}-noMark`, ''),
    leave(`token-vault-dev-${dead}-longer1`),
    leave(`my-token-vault-dev-${dead}-abcDEF`),
    leave(`token-vault-keys-${dead}-abcDEF`),
  ];
  // The mark of a container with the same host name that could not read /proc.
  if (onLinux) kept.push(leave(`token-vault-dev-${dead}-noSpce`, hostname()));
  if (process.platform !== 'win32') {
    const open = leave(`token-vault-dev-${dead}-opened`);
    chmodSync(open, 0o777);
    const link = path.join(place, `token-vault-dev-${dead}-linked`);
    symlinkSync(leave('elsewhere'), link);
    kept.push(open, link, path.join(place, 'elsewhere', 'vault.db'));
  }
  const made = makeTemporaryFolder('dev');
  expect(gone.filter(existsSync)).toEqual([]);
  expect(kept.filter((folder) => !existsSync(folder))).toEqual([]);
  expect(path.basename(made)).toMatch(new RegExp(`^token-vault-dev-${process.pid}-`));
  expect(readdirSync(made)).toEqual(['machine']);
  expect(readFileSync(path.join(made, 'machine'), 'utf8')).toBe(OWN_MARK);
  makeTemporaryFolder('backup');
  expect(existsSync(made)).toBe(true);
});

it('names a missing temporary folder', () => {
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, path.join(place, 'none'));
  expect(() => makeTemporaryFolder('dev')).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: expect.stringContaining(`${path.join(place, 'none')} cannot be written (ENOENT)`),
    }),
  );
});
