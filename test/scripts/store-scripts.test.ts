import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runScript, type TargetName } from './run-script.ts';
import { parseScript, withOutputs } from './script.ts';

const FOLDER = new URL('.', import.meta.url);

/** Transcripts about files: key files and profiles that name `vault.db`, a full disk, backups. */
const ON_FILES = [
  'exit-codes',
  'local-backup',
  'local-env',
  'local-init',
  'local-key-command',
  'local-move',
  'local-profiles',
  'local-secret-files',
  'local-snapshots',
  'suggestions',
];

const NAMES = readdirSync(FOLDER).filter(
  (name) => name.endsWith('.txt') && !ON_FILES.includes(name.slice(0, -'.txt'.length)),
);

/** Whether transcripts with daemons must also print the same with `--store`. CI tests this on Debian's PostgreSQL. */
const RUNS_BOTH = process.env['VAULT_TEST_POSTGRES'] !== undefined;

/** Returns the target whose daemons must print the transcript; undefined without one. */
function daemonTargetOf(name: string): TargetName | undefined {
  // These commands need no daemon.
  if (name.startsWith('local-')) return undefined;
  // A daemon lists the log entries of another daemon's reads only some milliseconds later.
  return ['explain.txt', 'logs.txt'].includes(name) ? 'store daemon' : 'two store daemons';
}

it.each(NAMES)('%s prints the same on PostgreSQL', { timeout: 120_000 }, async (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const script = parseScript(text);
  const run = async (target: TargetName) => expect(withOutputs(script, await runScript(script, target))).toBe(text);
  const daemons = daemonTargetOf(name);
  await Promise.all([daemons && run(daemons), (daemons === undefined || RUNS_BOTH) && run('store')]);
});
