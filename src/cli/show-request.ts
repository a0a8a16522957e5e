import { parseAddress } from '../client/http-transport.ts';
import { headerPrefixOf, requestOf } from '../client/remote.ts';
import type { Call } from '../contract/call.ts';
import { Fault } from '../core/fault.ts';
import type { ExitCode } from './exit-codes.ts';
import { type Environment, FLAGS, flagValue, type GlobalFlags } from './global-flags.ts';
import { stripFromLines } from './output/control-characters.ts';
import { createPrinter } from './output/print-result.ts';
import { RESULT_VIEWS } from './output/result-views.ts';
import { isTerminal, writeOut } from './output/standard-output.ts';
import { chooseTarget } from './target.ts';

/** Shows a request in place of sending it. Needs no vault and no API key; neither is in what it shows. */
export async function showRequest(
  call: Call,
  as: 'curl' | 'dry-run',
  flags: GlobalFlags,
  env: Environment,
): Promise<ExitCode> {
  const headerPrefix = flagValue(flags.headerPrefix, env, FLAGS.daemon.headerPrefix);
  if (as === 'curl') {
    const text = curlCommand(call, { url: daemonUrl(flags, env), headerPrefix });
    await writeOut(isTerminal() ? stripFromLines(text) : text);
    return 0;
  }
  const { dryRun } = await import('./derive/dry-run.ts');
  const printer = createPrinter(flags, env, RESULT_VIEWS.dryRun);
  await printer.print(await dryRun(call, headerPrefix));
  return 0;
}

/** The daemon that is named; no URL when it is a file, or when there is no vault at all. */
function daemonUrl(flags: GlobalFlags, env: Environment): string | undefined {
  const isNamed = [flags.url, flags.file, env['VAULT_URL'], env['VAULT_FILE']].some(Boolean);
  try {
    const target = chooseTarget(flags, env);
    return target.kind === 'remote' ? target.url : undefined;
  } catch (error) {
    if (isNamed || !(error instanceof Fault)) throw error;
    return undefined;
  }
}

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
  const [words, url] = addressWords(target.url, path);
  const lines = [
    ['curl', '-sS', ...(method === 'GET' ? [] : ['-X', method]), ...words, url].join(' '),
    `-H "${prefix.toUpperCase()}-API-KEY: $VAULT_API_KEY"`,
    ...(call.idempotencyKey === undefined
      ? []
      : [`-H ${shellWord(`${prefix.toUpperCase()}-IDEMPOTENCY-KEY: ${call.idempotencyKey}`)}`]),
    ...(call.mediaType === undefined ? [] : [`-H ${shellWord(`content-type: ${call.mediaType}`)}`]),
    ...(bodyText === undefined ? [] : [`--data-raw ${shellWord(escapeControls(bodyText))}`]),
  ];
  return `${lines.join(' \\\n  ')}\n`;
}

function addressWords(url: string | undefined, path: string): readonly [words: readonly string[], url: string] {
  // Without it curl takes `%2E%2E` for the folder above.
  const asIs = path.includes('%2E') ? ['--path-as-is'] : [];
  if (url === undefined) return [asIs, `"$VAULT_URL"${shellWord(path)}`];
  const { secure, connection, base, hostHeader } = parseAddress(url);
  const whole = `${secure ? 'https' : 'http'}://${hostHeader}${base}${path}`;
  const socket = connection.socketPath === undefined ? [] : ['--unix-socket', shellWord(connection.socketPath)];
  return [[...asIs, ...(/[[\]{}]/.test(whole) ? ['--globoff'] : []), ...socket], shellWord(whole)];
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
