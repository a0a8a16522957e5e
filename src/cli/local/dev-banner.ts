import type { JsonObject } from '../../contract/json.ts';
import { printIds } from '../seed/seed-output.ts';
import type { DevKeys } from './dev-vault.ts';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };

/** What `vault serve --dev` prints: where it is, its keys, what a seed made, and a line to paste into a shell. */
export function devBanner(url: string, keys: DevKeys, headerPrefix: string, seed?: JsonObject): string {
  const rows = Object.entries({ url, ...keys }).map(([name, value]) => `${name.padEnd(16)}${value}`);
  const seeded = seed === undefined ? '' : `\n${printIds('dotenv', seed)}`;
  return `${rows.join('\n')}\n${seeded}\nTokenize a card:\n\n${curlLine(url, keys.private_key, headerPrefix)}\n`;
}

/** The URL comes after the options: a Unix socket is one. */
function curlLine(url: string, key: string, headerPrefix: string): string {
  const body = JSON.stringify({ type: 'card', data: CARD });
  const where = url.startsWith('unix:')
    ? `--unix-socket '${url.slice('unix:'.length)}' http://localhost/tokens`
    : `${url}/tokens`;
  return `curl -s ${where} -H '${headerPrefix}-API-KEY: ${key}' -H 'content-type: application/json' -d '${body}'`;
}
