import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runScript } from './run-script.ts';
import { parseScript, withOutputs } from './script.ts';

const FOLDER = new URL('.', import.meta.url);

/** Transcripts about files: key files and profiles that name `vault.db`, a full disk, backups. */
const ON_FILES = [
  'exit-codes',
  'local-backup',
  'local-key-command',
  'local-move',
  'local-profiles',
  'local-secret-files',
  'suggestions',
];

const NAMES = readdirSync(FOLDER).filter(
  (name) => name.endsWith('.txt') && !ON_FILES.includes(name.slice(0, -'.txt'.length)),
);

it.each(NAMES)('%s prints the same on PostgreSQL', { timeout: 120_000 }, async (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const script = parseScript(text);
  expect(withOutputs(script, await runScript(script, 'store'))).toBe(text);
});
