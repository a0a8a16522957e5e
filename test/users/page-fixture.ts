import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFailed, onTestFinished } from 'vitest';
import { type Ended, endOf, makePlace, type Place, RUN_VAULT } from '../process/cli-fixture.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';

export const POSIX = process.platform !== 'win32';

/** Returns the text of a page of docs/. */
export const pageOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');

/**
 * Returns the code blocks in a language of a section of a page, by its heading. Without one, those of the whole page.
 */
export function blocksOf(name: string, heading: string | undefined, language: string): readonly string[] {
  const [section = ''] =
    heading === undefined ? [`\n${pageOf(name)}`] : pageOf(name).split(`\n## ${heading}\n`).slice(1);
  const text = heading === undefined ? section : (section.split('\n## ')[0] ?? '');
  return [...text.matchAll(/```(\w+)\n(.*?)```/gs)].flatMap(([, found, code]) =>
    found === language && code ? [code] : [],
  );
}

/** Writes shell scripts into a folder of a place: their texts, by name. */
export function writePrograms(place: Place, folder: string, programs: Readonly<Record<string, string>>): void {
  mkdirSync(place.inside(folder), { recursive: true });
  for (const [name, text] of Object.entries(programs)) {
    const whole = text.startsWith('#!') ? text : `#!/bin/sh\n${text}\n`;
    writeFileSync(place.inside(`${folder}/${name}`), whole, { mode: 0o755 });
  }
}

/** Creates a vault with 30 tokens, and programs as the page names them. `ssh HOST COMMAND` runs the command here. */
export async function machine() {
  const place = makePlace(onTestFinished);
  const key = await place.application('vault', await place.init('vault'), 'token:create,token:read');
  const env = { VAULT_FILE: 'vault.db', VAULT_API_KEY: key };
  const rows = Array.from(
    { length: 30 },
    (_, n) => `${JSON.stringify({ id: `row-${n}`, type: 'token', data: 'x'.repeat(900) })}\n`,
  );
  writeFileSync(place.inside('rows'), rows.join(''));
  expect(await place.vault('import rows', env)).toMatchObject({ exitCode: 0 });
  for (const name of ['tmp', 'backups', 'host']) mkdirSync(place.inside(name));
  writePrograms(place, 'bin', {
    vault: RUN_VAULT,
    ssh: 'cd host && exec sh -c "$2"',
    'restore-drill.sh': blocksOf('backup.md', 'Restore drill', 'sh')[0] ?? '',
  });
  return { place, env };
}

/**
 * Runs a script of a page in the folder of the place. Ends it after `limit` milliseconds. A test that fails prints its
 * commands and errors.
 */
export async function shell(
  place: Place,
  code: string,
  more: Readonly<Record<string, string>> = {},
  limit = 110_000,
): Promise<Ended> {
  const env = cleanEnvironment({
    PATH: [place.inside('bin'), process.env['PATH'] ?? ''].join(path.delimiter),
    TMPDIR: place.inside('tmp'),
    VAULT_CONFIG_DIR: place.inside('config'),
    ...more,
  });
  const ended = await endOf(spawn('bash', ['-euo', 'pipefail', '-c', code], { cwd: place.cwd, env }), limit);
  onTestFailed(() => void process.stderr.write(`${code}\nexit code ${ended.exitCode}\n${ended.stderr}`));
  return ended;
}

/**
 * Makes a project with npm's own folder for global packages. Its npm trusts the certificates of a proxy in front of the
 * registry, which `cleanEnvironment` leaves out.
 */
export function npmPlace(): Place & { readonly npm: Readonly<Record<string, string>> } {
  const place = makePlace(onTestFinished);
  for (const name of ['bin', 'tmp']) mkdirSync(place.inside(name));
  const prefix = place.inside('global');
  return {
    ...place,
    npm: {
      PATH: [path.join(prefix, 'bin'), path.dirname(process.execPath), process.env['PATH'] ?? ''].join(path.delimiter),
      npm_config_prefix: prefix,
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] ?? '',
    },
  };
}
