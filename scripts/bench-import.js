import path from 'node:path';
import { line, median } from './bench-figures.js';
import { openRawCopy } from './bench-raw-sqlite.js';
import { importCards, makeBenchVault, withFolder } from './bench-vault.js';

/** `vault import` on the file, the start of Node included, as a ratio to the same rows put straight into SQLite. */
export async function importing({ rounds, tokens, ownEnvironment, inMemory }) {
  const ratios = [];
  const rates = [];
  const rawRates = [];
  for (let round = 0; round < rounds; round += 1) {
    await withFolder({ ownEnvironment, parent: inMemory }, async (folder, environment) => {
      const vault = await makeBenchVault(folder, environment);
      const raw = openRawCopy(vault.file, path.join(folder, 'raw.db'));
      try {
        const seconds = await importCards(vault, tokens);
        const inserted = raw.catchUp();
        if (inserted.tokens !== tokens) throw new Error(`${inserted.tokens} of ${tokens} tokens were imported`);
        ratios.push(inserted.seconds / seconds);
        rates.push(tokens / seconds);
        rawRates.push(tokens / inserted.seconds);
      } finally {
        raw.close();
      }
    });
  }
  const durability = inMemory === undefined ? 'FULL' : 'FULL, in memory';
  const row = line('import', 'import-to-raw-sqlite', {
    ratio: median(ratios),
    target: 0.35,
    per_second: median(rates),
    raw_per_second: median(rawRates),
    tokens,
    durability,
    audit: 'reveal',
  });
  const title = `vault import of ${tokens} tokens, ${rounds} rounds; Node ${process.versions.node}`;
  return { title, rows: [row] };
}
