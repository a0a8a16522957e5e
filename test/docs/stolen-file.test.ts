import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PAGE = new URL('../../docs/stolen-file.md', import.meta.url);
const SCRIPT = fileURLToPath(new URL('../../scripts/stolen-file.ts', import.meta.url));
const MAX_MS = 60_000;

// `node scripts/stolen-file.ts` writes the page; it fails when it finds anything that is sealed.
it(
  'docs/stolen-file.md shows what a stolen file reveals',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, '--print']);
    expect(stdout).toBe(readFileSync(PAGE, 'utf8'));
  },
  MAX_MS,
);
