import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { initVault, runVault } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const MIB = 1024 * 1024;
const RULE = 'container=/ transform=reveal permissions=token:create,token:read';

/** Writes the peak memory of a process in bytes when it exits. */
const PROBE = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.NEEDED, String(process.resourceUsage().maxRSS * 1024)));
`;

let cwd = '';
let key = '';
const inside = (name: string) => path.join(cwd, name);

beforeEach(async () => {
  cwd = temporaryFolder(onTestFinished);
  writeFileSync(inside('probe.mjs'), PROBE);
  const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--rule', RULE, '--field', 'key'];
  const env = { VAULT_FILE: 'empty.db', VAULT_API_KEY: (await initVault(cwd, 'empty')).key };
  key = (await runVault(words, { cwd, env })).stdout.trim();
});

/** Returns the peak memory of an import of this many rows, and of their export. */
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
    return Number(readFileSync(inside('needed'), 'utf8'));
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
  for (const what of ['imported', 'exported'] as const) expect(many[what] - few[what]).toBeLessThan(50 * MIB);
});
