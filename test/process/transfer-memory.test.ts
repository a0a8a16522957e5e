import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const MIB = 1024 * 1024;

/** Writes the peak memory of a process in bytes when it exits. */
const PROBE = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.NEEDED, String(process.resourceUsage().maxRSS * 1024)));
`;

const { inside, init, application, process: run } = makePlace();
let key = '';

beforeAll(async () => {
  writeFileSync(inside('probe.mjs'), PROBE);
  key = await application('empty', await init('empty'), 'token:create,token:read');
});

/** Returns the peak memory of an import of this many rows, and of their export. */
async function needs(rows: number) {
  const file = `${rows}.db`;
  for (const suffix of ['', '.key']) copyFileSync(inside(`empty.db${suffix}`), inside(file + suffix));
  const line = (n: number) =>
    `{"id":"row-${n}","type":"token","data":"${'x'.repeat(60)}","mask":"{{ data | last4 }}"}\n`;
  writeFileSync(inside('rows.ndjson'), Array.from({ length: rows }, (_, n) => line(n)).join(''));
  const measure = async (line: string) => {
    const env = {
      VAULT_FILE: file,
      VAULT_API_KEY: key,
      NODE_OPTIONS: `--import ${pathToFileURL(inside('probe.mjs')).href}`,
      NEEDED: inside('needed'),
    };
    expect(await run(line, env)).toMatchObject({ exitCode: 0 });
    return Number(readFileSync(inside('needed'), 'utf8'));
  };
  return {
    imported: await measure('import rows.ndjson'),
    exported: await measure(`export --plaintext --out ${rows}.out`),
  };
}

it('an import and an export need the same memory for few rows and for many', { timeout: 120_000 }, async () => {
  const few = await needs(500);
  const many = await needs(3_000);
  // `npm run bench -- memory` measures 100,000 rows.
  for (const what of ['imported', 'exported'] as const) expect(many[what] - few[what]).toBeLessThan(50 * MIB);
});
