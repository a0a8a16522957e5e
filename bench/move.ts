import { stat } from 'node:fs/promises';
import path from 'node:path';
import { line } from './figures.ts';
import { openCopy } from './growth.ts';
import { runForPeak } from './memory.ts';
import { sizeLines, withPostgres } from './postgres-server.ts';
import { withFolder } from './vault.ts';

const SCHEMA = 'moved';

/**
 * Measures `vault move` of `tokens` cards from a file to PostgreSQL and back: the rate, the peak memory of the command,
 * and the bytes of the target for a token. The command compares the rows of both places. `cache` is a folder that keeps
 * the file for the next run.
 */
export async function move({ tokens, cache }: { readonly tokens: number; readonly cache?: string | undefined }) {
  const rows = await withFolder(
    (place, environment) =>
      withPostgres(async (server) => {
        const { file, size } = await openCopy(tokens, { cache: cache ?? place, place, environment });
        const [store, back] = [server.url(SCHEMA), path.join(place, 'back.db')];
        const moveFrom = async (name: string, from: string, to: string) => {
          const started = performance.now();
          const words = ['move', '--from', from, '--to', to, '--key-file', `${file}.key`, '--output', 'json'];
          const { stdout, mb } = await runForPeak(words, environment, place);
          const seconds = (performance.now() - started) / 1000;
          const { tokens: moved }: { readonly tokens: number } = JSON.parse(stdout);
          if (moved !== tokens) throw new Error(`moved ${moved} of ${tokens} tokens`);
          return line('move', name, { per_second: tokens / seconds, seconds, mb, tokens });
        };
        const there = await moveFrom('file-to-store', file, store);
        const sizes = await server.sizes(SCHEMA, tokens);
        const home = await moveFrom('store-to-file', store, back);
        const [inFile, inCopy] = [Math.round(size / tokens), Math.round((await stat(back)).size / tokens)];
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
