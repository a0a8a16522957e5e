import { parseAddress } from '../../client/http-transport.ts';
import { headerPrefixOf, requestOf } from '../../client/remote.ts';
import type { Call } from '../../contract/call.ts';

/** Where the request would go; without a URL to `$VAULT_URL`. */
export interface RequestTarget {
  readonly url: string | undefined;
  readonly headerPrefix: string | undefined;
}

/**
 * The curl command that makes the same call, for a POSIX shell. The API key is never in it: the shell takes it from
 * `$VAULT_API_KEY`. The body is one word in single quotes, byte for byte what would be sent but for control characters, which
 * become JSON escapes: they can only stand in its strings.
 */
export function curlCommand(call: Call, target: RequestTarget): string {
  const prefix = headerPrefixOf(target.headerPrefix);
  const { method, path, bodyText } = requestOf(call, prefix);
  const { words, url } = addressWords(target.url, path);
  const lines = [
    ['curl', '-sS', ...(method === 'GET' ? [] : ['-X', method]), ...words, url].join(' '),
    `-H "${prefix.toUpperCase()}-API-KEY: $VAULT_API_KEY"`,
    ...(call.mediaType === undefined ? [] : [`-H ${shellWord(`content-type: ${call.mediaType}`)}`]),
    ...(bodyText === undefined ? [] : [`--data-raw ${shellWord(escapeControls(bodyText))}`]),
  ];
  return `${lines.join(' \\\n  ')}\n`;
}

function addressWords(
  url: string | undefined,
  path: string,
): { readonly words: readonly string[]; readonly url: string } {
  // Without it curl takes `%2E%2E` for the folder above.
  const asIs = path.includes('%2E') ? ['--path-as-is'] : [];
  if (url === undefined) return { words: asIs, url: `"$VAULT_URL"${shellWord(path)}` };
  const { secure, connection, base, hostHeader } = parseAddress(url);
  const whole = `${secure ? 'https' : 'http'}://${hostHeader}${base}${path}`;
  const socket = connection.socketPath === undefined ? [] : ['--unix-socket', shellWord(connection.socketPath)];
  return { words: [...asIs, ...(/[[\]{}]/.test(whole) ? ['--globoff'] : []), ...socket], url: shellWord(whole) };
}

/** One word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Line ends and tabs stay: JSON may have them between its values, and a shell takes them in quotes. */
function escapeControls(json: string): string {
  return json.replace(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    /[\t\n\r]/.test(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
