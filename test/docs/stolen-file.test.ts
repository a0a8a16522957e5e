import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PAGE = new URL('../../docs/stolen-file.md', import.meta.url);
const SCRIPT = fileURLToPath(new URL('../../scripts/stolen-file.js', import.meta.url));
const MAX_MS = 60_000;

// `node scripts/stolen-file.js` writes the page instead; it fails when anything that is sealed is found.
it(
  'the page says what a stolen file tells today',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, '--print']);
    expect(stdout).toBe(readFileSync(PAGE, 'utf8'));
  },
  MAX_MS,
);
