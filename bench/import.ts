import path from 'node:path';
import { type CaseResult, line, median } from './figures.ts';
import { openRawCopy } from './raw-sqlite.ts';
import { importCards, makeBenchVault, withFolder } from './vault.ts';

/**
 * Measures `vault import` on the file, including the start of Node, as a ratio to inserting the same rows into raw
 * SQLite.
 */
export async function importing({ rounds, tokens }: Record<'rounds' | 'tokens', number>): Promise<CaseResult> {
  const measured: { readonly seconds: number; readonly raw: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await withFolder(async (folder, environment) => {
      const vault = await makeBenchVault(folder, environment);
      const raw = openRawCopy(vault.file, path.join(folder, 'raw.db'));
      try {
        const seconds = await importCards(vault, tokens);
        const inserted = raw.catchUp();
        if (inserted.tokens !== tokens) throw new Error(`imported ${inserted.tokens} of ${tokens} tokens`);
        measured.push({ seconds, raw: inserted.seconds });
      } finally {
        raw.close();
      }
    });
  }
  const row = line('import', 'import-to-raw-sqlite', {
    ratio: median(measured.map(({ seconds, raw }) => raw / seconds)),
    target: 0.35,
    per_second: median(measured.map(({ seconds }) => tokens / seconds)),
    raw_per_second: median(measured.map(({ raw }) => tokens / raw)),
    tokens,
    durability: 'FULL',
    audit: 'reveal',
  });
  return { title: `vault import of ${tokens} tokens, ${rounds} rounds; Node ${process.versions.node}`, rows: [row] };
}
