import { stat } from 'node:fs/promises';
import path from 'node:path';
import { line } from './figures.js';
import { openCopy } from './growth.js';
import { runForPeak } from './memory.js';
import { sizeLines, withPostgres } from './postgres-server.js';
import { withFolder } from './vault.js';

const SCHEMA = 'moved';

/**
 * Measures `vault move` of `tokens` cards from a file to PostgreSQL and back: the rate, the peak memory of the command,
 * and the bytes of the target for a token. The command compares the rows of both places. `cache` is a folder that keeps
 * the file for the next run.
 */
export async function move({ tokens, cache }) {
  const rows = await withFolder(
    (place, environment) =>
      withPostgres(async (server) => {
        const { env, size } = await openCopy(tokens, { cache: cache ?? place, place, environment });
        const file = env.VAULT_FILE;
        const [store, back] = [server.url(SCHEMA), path.join(place, 'back.db')];
        const moveFrom = async (name, from, to) => {
          const started = performance.now();
          const words = ['move', '--from', from, '--to', to, '--key-file', `${file}.key`, '--output', 'json'];
          const { stdout, mb } = await runForPeak(words, environment, place);
          const seconds = (performance.now() - started) / 1000;
          const moved = JSON.parse(stdout).tokens;
          if (moved !== tokens) throw new Error(`moved ${moved} of ${tokens} tokens`);
          return line('move', name, { per_second: tokens / seconds, seconds, mb, tokens });
        };
        const there = await moveFrom('file-to-store', file, store);
        const sizes = await server.sizes(SCHEMA, tokens);
        const home = await moveFrom('store-to-file', store, back);
        const [inFile, inCopy] = [size / tokens, (await stat(back)).size / tokens].map(Math.round);
        const inStore = Math.round(sizes.reduce((sum, each) => sum + each.rows + each.indexes, 0));
        return [
          { ...there, bytes: inStore, source_bytes: inFile },
          { ...home, bytes: inCopy, source_bytes: inStore },
          ...sizeLines('move', sizes),
        ];
      }),
    cache,
  );
  return { title: `vault move of ${tokens} tokens there and back; Node ${process.versions.node}`, rows };
}
