import { shellWord } from '../../../client/shell-word.ts';
import type { DevKeys } from '../../../contract/dev-paths.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Format } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { printIds } from '../seed/seed-output.ts';
import type { Ready } from '../serve/ready-file.ts';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };

/** Resolves to the output of `vault serve --dev`: a banner for people, or the ready file in another format. */
export async function devText(format: Format, ready: Ready, keys: DevKeys, headerPrefix: string): Promise<string> {
  if (format === 'table') return devBanner(ready, keys, headerPrefix);
  const { renderResult } = await import('../../output/render-result.ts');
  const showing = { format, field: undefined, quiet: false, colour: false };
  return (await renderResult(stringifyJson({ ...ready } as Printable), RESULT_VIEWS.serveDev, showing)).text;
}

/** Returns the URL, the keys, the console's link, the ids of seeded records, and a command to paste into a shell. */
function devBanner({ url, seed, ui }: Pick<Ready, 'url' | 'seed' | 'ui'>, keys: DevKeys, headerPrefix: string): string {
  const rows = Object.entries({ url, ...keys, ...(ui !== undefined && { ui }) }).map(
    ([name, value]) => `${name.padEnd(16)}${value}`,
  );
  const seeded = seed === undefined ? '' : `\n${printIds('dotenv', seed)}`;
  return `${rows.join('\n')}\n${seeded}\nTokenize a card:\n\n${curlLine(url, keys.private_key, headerPrefix)}\n`;
}

/** Returns a `curl` command that tokenizes a card. A Unix socket is an option, and its URL names no port. */
function curlLine(url: string, key: string, headerPrefix: string): string {
  const body = JSON.stringify({ type: 'card', data: CARD });
  const where = url.startsWith('unix:')
    ? `--unix-socket ${shellWord(url.slice('unix:'.length))} http://localhost/tokens`
    : `${url}/tokens`;
  return `curl -s ${where} -H '${headerPrefix}-API-KEY: ${key}' -H 'content-type: application/json' -d '${body}'`;
}
