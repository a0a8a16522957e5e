import { parseAddress } from '../../client/http-transport.ts';
import { headerPrefixOf, requestOf } from '../../client/remote.ts';
import { shellWord } from '../../client/shell-word.ts';
import type { Call } from '../../contract/call.ts';
import { Fault } from '../../core/fault.ts';
import { FLAGS, type Line, readFlags } from '../flags/global-flags.ts';
import { chooseTarget } from '../flags/target.ts';
import { stripFromLines } from '../output/control-characters.ts';
import { createPrinter } from '../output/print-result.ts';
import { RESULT_VIEWS } from '../output/result-views.ts';
import { isTerminal, writeOut } from '../output/standard-output.ts';
import { isVaultNamed } from '../profiles/with-profile.ts';

/** Shows a request instead of sending it. Needs neither a vault nor an API key, and shows no key. */
export async function showRequest(call: Call, as: 'curl' | 'dry-run', line: Line): Promise<void> {
  const { headerPrefix, caFile } = readFlags(FLAGS.daemon, line);
  if (as === 'curl') {
    const text = curlCommand(call, { url: daemonUrl(line), headerPrefix, caFile });
    return writeOut(isTerminal() ? stripFromLines(text) : text);
  }
  const { dryRun } = await import('../derive/dry-run.ts');
  const print = createPrinter(line, RESULT_VIEWS.dryRun);
  return print(await dryRun(call, headerPrefix));
}

/** Returns the URL of the named daemon; undefined if a file or no vault is named. */
function daemonUrl(line: Line): string | undefined {
  try {
    return chooseTarget(line).url;
  } catch (error) {
    if (isVaultNamed(line) || !(error instanceof Fault)) throw error;
    return undefined;
  }
}

/** The target of the request; `$VAULT_URL` replaces a missing URL. */
export interface RequestTarget {
  readonly url: string | undefined;
  readonly headerPrefix: string | undefined;
  /** The file of `--ca-file`, which curl names `--cacert`. */
  readonly caFile?: string | undefined;
}

/**
 * Returns the equivalent curl command for a POSIX shell. It refers to the API key as `$VAULT_API_KEY`. The body is one
 * single-quoted word, byte for byte as sent, except that control characters become JSON escapes. Such characters can
 * occur only in the strings of the JSON. A body that is too long for an argument is a here-document.
 */
export function curlCommand(call: Call, target: RequestTarget): string {
  const prefix = headerPrefixOf(target.headerPrefix);
  const { method, path, bodyText } = requestOf(call, prefix);
  const [words, url] = addressWords(target, path);
  const lines = [
    ['curl', '-sS', ...(method === 'GET' ? [] : ['-X', method]), ...words, url].join(' '),
    `-H "${prefix.toUpperCase()}-API-KEY: $VAULT_API_KEY"`,
    ...(call.idempotencyKey === undefined
      ? []
      : [`-H ${shellWord(`${prefix.toUpperCase()}-IDEMPOTENCY-KEY: ${call.idempotencyKey}`)}`]),
    ...(call.mediaType === undefined ? [] : [`-H ${shellWord(`content-type: ${call.mediaType}`)}`]),
    ...(bodyText === undefined ? [] : [bodyWords(escapeControls(bodyText))]),
  ];
  return `${lines.join(' \\\n  ')}\n`;
}

/** The longest body of one argument. Linux allows 128 KiB, with the quotes and the rest of the word. */
const MAX_ARGUMENT = 100_000;

/** Returns the words for a body. A here-document ends it with a line end, which JSON allows. */
function bodyWords(json: string): string {
  if (Buffer.byteLength(json) <= MAX_ARGUMENT) return `--data-raw ${shellWord(json)}`;
  const lines = json.split('\n');
  let end = 'BODY';
  while (lines.includes(end)) end += '_';
  // An interactive shell would expand `!` in a here-document. In JSON, it occurs only in strings.
  return `--data-binary @- <<'${end}'\n${json.replaceAll('!', '\\u0021')}\n${end}`;
}

function addressWords({ url, caFile }: RequestTarget, path: string): readonly [words: readonly string[], url: string] {
  // Without this flag curl resolves `%2E%2E` to the parent folder.
  const asIs = path.includes('%2E') ? ['--path-as-is'] : [];
  if (url === undefined) return [asIs, `"$VAULT_URL"${shellWord(path)}`];
  const { secure, connection, base, hostHeader } = parseAddress(url);
  const whole = `${secure ? 'https' : 'http'}://${hostHeader}${base}${path}`;
  const socket = connection.socketPath === undefined ? [] : ['--unix-socket', shellWord(connection.socketPath)];
  const trusted = secure && caFile !== undefined ? ['--cacert', shellWord(caFile)] : [];
  return [[...asIs, ...(/[[\]{}]/.test(whole) ? ['--globoff'] : []), ...socket, ...trusted], shellWord(whole)];
}

/** Escapes control characters in JSON. Keeps line ends and tabs, which JSON allows and the quotes protect. */
function escapeControls(json: string): string {
  return json.replace(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    /[\t\n\r]/.test(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
