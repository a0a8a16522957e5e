import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runVault } from '../scripts/run-script.ts';

const MIB = 1024 * 1024;
const RULE = 'container=/ transform=reveal permissions=token:create,token:read';

/** Tells at the end of a process what it needed. */
const PROBE = `import { writeFileSync } from 'node:fs';
import { getHeapSpaceStatistics } from 'node:v8';
process.on('exit', () => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  writeFileSync(process.env.NEEDED, JSON.stringify({ peak: process.resourceUsage().maxRSS * 1024, young }));
});
`;

let cwd = '';
let key = '';
const inside = (name: string) => path.join(cwd, name);

beforeEach(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), 'vault-memory-'));
  writeFileSync(inside('probe.mjs'), PROBE);
  const made = JSON.parse((await runVault(['init', '--file', 'empty.db'], { cwd })).stdout);
  const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--rule', RULE, '--field', 'key'];
  const env = { VAULT_FILE: 'empty.db', VAULT_API_KEY: made.application.key };
  key = (await runVault(words, { cwd, env })).stdout.trim();
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

/** What an import of so many rows needs, and the export of them. */
async function needs(rows: number) {
  const file = `${rows}.db`;
  for (const suffix of ['', '.key']) copyFileSync(inside(`empty.db${suffix}`), inside(file + suffix));
  const line = (n: number) =>
    `{"id":"row-${n}","type":"token","data":"${'x'.repeat(60)}","mask":"{{ data | last4 }}"}\n`;
  writeFileSync(inside('rows.ndjson'), Array.from({ length: rows }, (_, n) => line(n)).join(''));
  const run = async (words: readonly string[]) => {
    const env = {
      VAULT_FILE: file,
      VAULT_API_KEY: key,
      NODE_OPTIONS: `--import ${pathToFileURL(inside('probe.mjs')).href}`,
      NEEDED: inside('needed'),
    };
    expect(await runVault(words, { cwd, env })).toMatchObject({ exitCode: 0 });
    return JSON.parse(readFileSync(inside('needed'), 'utf8')) as { readonly peak: number; readonly young: number };
  };
  return {
    imported: await run(['import', 'rows.ndjson']),
    exported: await run(['export', '--plaintext', '--out', `${rows}.out`]),
  };
}

it('an import and an export need the same memory for few rows and for many', { timeout: 120_000 }, async () => {
  const few = await needs(500);
  const many = await needs(3_000);
  // `npm run bench -- memory` measures 100,000 rows.
  for (const what of ['imported', 'exported'] as const) expect(many[what].peak - few[what].peak).toBeLessThan(50 * MIB);
  // What grows is V8's young generation, unless it is held back; that of newer versions is let be.
  if (Number.parseInt(process.versions.v8, 10) > 12) return;
  expect(many.imported.young).toBeLessThanOrEqual(8 * MIB);
  expect(many.exported.young).toBeLessThanOrEqual(8 * MIB);
});
