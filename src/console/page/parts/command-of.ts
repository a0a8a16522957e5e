import { requestPath } from '../../../client/request-path.ts';
import { shellWord } from '../../../client/shell-word.ts';
import { commandWords, OPERATIONS, type Operation, type OperationId } from '../../../contract/operations.ts';
import type { Permission } from '../../../contract/permissions.ts';
import type { About, HeldIdentity } from '../../about.ts';
import { holdersOf, identitiesInUse } from '../session.ts';

type Value = string | number | boolean | readonly string[] | Readonly<Record<string, string>> | undefined;

/** A call for which the page shows equivalent commands. */
export interface ShownCall {
  readonly operation: OperationId;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Value>>;
  /** The members of the body, or `FILE` for a body in a file. */
  readonly body?: Readonly<Record<string, string>> | 'FILE';
  /** Further flags of the command line. */
  readonly more?: string;
}

/** A command line that is no single call. It needs a permission, a daemon without a key, or the vault's file. */
export interface ShownCommand {
  readonly text: string;
  readonly needs: Permission | 'daemon' | 'file';
  /** The words after the flags. */
  readonly last?: string;
}

/** A text to copy, or the reason why there is none. */
type Copied = { readonly text: string; readonly note?: string | undefined } | { readonly reason: string };

const TEMPORARY = 'This vault is temporary: it ends with its daemon, and no command can name its file.';
const OTHER_FILE = 'FILE is the vault file on the machine of the daemon.';
const NO_DAEMON = 'This console opened the vault itself. A request needs a daemon: start `vault serve`.';

/** Returns the forms of a call or command, by name. */
export function formsOf(shown: ShownCall | ShownCommand, about: About): Readonly<Record<string, Copied>> {
  const command = commandOf(shown, about);
  return 'text' in shown
    ? { command }
    : { command, curl: curlOf(shown, about), TypeScript: typescriptOf(shown, about) };
}

/** Returns the command line that runs as it is in any folder, if the vault can be named. */
function commandOf(shown: ShownCall | ShownCommand, about: About): Copied {
  if (!('text' in shown)) {
    const row: Operation = OPERATIONS[shown.operation];
    const key = keyOf(row);
    return { text: withKey(callText(shown, [daemonWords(about), key?.flag ?? '']), key), note: noteOf(key) };
  }
  const { text, needs, last } = shown;
  if (needs === 'file') {
    const { temporary, file } = about.commands;
    if (temporary) return { reason: TEMPORARY };
    return file === undefined ? { text: `${text} --file FILE`, note: OTHER_FILE } : { text: `${text} ${file}` };
  }
  if (needs === 'daemon') return { text: `${text} ${daemonWords(about)}` };
  const key = keyOf({ permission: needs });
  return { text: withKey(joined(text, daemonWords(about), key?.flag, last), key), note: noteOf(key) };
}

const joined = (...words: readonly (string | undefined)[]): string => words.filter(Boolean).join(' ');

function daemonWords({ commands, url, header_prefix: prefix }: About): string {
  return commands.vault ?? joined('--url', shellWord(url), prefix === 'SVC' ? '' : `--header-prefix ${prefix}`);
}

/** Returns the key with which the console makes a call that needs the permission. */
function keyOf({ permission }: Pick<Operation, 'permission'>): HeldIdentity | undefined {
  return permission === undefined ? identitiesInUse()[0] : holdersOf(permission)[0];
}

const variableOf = (key: HeldIdentity | undefined): string => key?.variable ?? 'VAULT_API_KEY';

function withKey(line: string, key: HeldIdentity | undefined): string {
  const { variable } = key ?? {};
  return variable === undefined ? line : `VAULT_API_KEY="$${variable}" ${line}`;
}

/** Returns what a person must set before the command runs. */
function noteOf(key: HeldIdentity | undefined): string | undefined {
  if (key?.flag !== undefined) return undefined;
  return `${variableOf(key)} holds the key${key === undefined ? '' : ` of ${key.name ?? key.source}`}.`;
}

/** Returns the words of the command for a call, without the vault and the key. */
function callText({ operation, params = {}, query = {}, body = {}, more }: ShownCall, target: readonly string[]) {
  const row: Operation = OPERATIONS[operation];
  const { sharing, flags: names = {}, arguments: inOrder = [] } = row.cli;
  const command = Object.hasOwn(query, sharing?.flag ?? '') ? row.cli.command : commandWords(row);
  const members = body === 'FILE' ? {} : body;
  const isArgument = (name: string) => inOrder.some((each) => each === name);
  const flagOf = (name: string) => `--${(names[name] ?? name).replaceAll('_', '-')}`;
  const flags = Object.entries({ ...query, ...members }).flatMap(([name, value]) => {
    if (isArgument(name)) return [];
    return value === true ? [flagOf(name)] : each(value).map((text) => `${flagOf(name)} ${shellWord(text)}`);
  });
  const given = Object.entries({ ...params, ...members }).filter(([name]) => name in params || isArgument(name));
  const ids = given.map(([, id]) => shellWord(id));
  const words = [...flags, body === 'FILE' ? '--body @FILE' : '', more, ...target];
  const isLikeFlag = given.some(([, id]) => id.startsWith('-'));
  return joined('vault', ...command, ...(isLikeFlag ? [...words, '--', ...ids] : [...ids, ...words]));
}

/** Returns the curl command that makes the same call. */
function curlOf({ operation, params = {}, query = {}, body }: ShownCall, about: About): Copied {
  const { method, path, ...row }: Operation = OPERATIONS[operation];
  const { url, header_prefix: prefix } = about;
  const [, socket] = /^unix:(.*)/.exec(url) ?? [];
  if (socket === undefined && !/^https?:/.test(url)) return { reason: NO_DAEMON };
  const pairs = Object.entries(query).flatMap(([name, given]) =>
    isRecord(given)
      ? Object.entries(given).map(([key, text]) => [`${name}.${key}`, text] as const)
      : each(given).map((text) => [name, text] as const),
  );
  const base = socket === undefined ? url.replace(/\/+$/, '') : 'localhost';
  const address = shellWord(base + requestPath(path, params, pairs, encodeURIComponent));
  const key = keyOf(row);
  const file = key?.flag?.replace('--api-key-file ', '');
  const secret = file === undefined ? `$${variableOf(key)}` : `$(cat ${file})`;
  const sent = body === 'FILE' ? '@FILE' : shellWord(JSON.stringify(body));
  const text = [
    joined('curl -sS', socket && `--unix-socket ${shellWord(socket)}`, method === 'GET' ? '' : `-X ${method}`, address),
    `-H "${prefix.toUpperCase()}-API-KEY: ${secret}"`,
    ...(body === undefined ? [] : [`-H 'content-type: ${row.mediaType ?? 'application/json'}'`, `-d ${sent}`]),
  ].join(' \\\n  ');
  return { text, note: noteOf(key) };
}

/** Returns the TypeScript code that makes the same call. */
function typescriptOf({ operation, params, query, body }: ShownCall, about: About): Copied {
  const { url, header_prefix: headerPrefix } = about;
  if (!/^https?:/.test(url)) return { reason: NO_DAEMON };
  const row: Operation = OPERATIONS[operation];
  const key = keyOf(row);
  const file = key?.flag?.replace(/^--api-key-file '?|'$/g, '');
  const apiKey = file === undefined ? `process.env.${variableOf(key)}` : `readFileSync(${quoted(file)}, 'utf8').trim()`;
  const sent = body === 'FILE' ? `body: JSON.parse(readFileSync('FILE', 'utf8'))` : undefined;
  const request = JSON.stringify({ params, query, ...(sent === undefined && { body }) }, undefined, 2)
    .replace(/^( *)"(\w+)":/gm, '$1$2:')
    .replace(/\n?}$/, sent === undefined ? '$&' : `${params || query ? ',' : ''}\n  ${sent},\n}`);
  const reads = file !== undefined || sent !== undefined ? `import { readFileSync } from 'node:fs';\n` : '';
  const prefix = headerPrefix === 'SVC' ? '' : `\n  headerPrefix: ${quoted(headerPrefix)},`;
  const text = `${reads}import { createClient } from 'token-vault/client';

const vault = createClient({
  url: ${quoted(url)},
  apiKey: ${apiKey},${prefix}
});
const result = await vault.${operation}(${request === '{}' ? '' : request});`;
  return { text, note: noteOf(key) };
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

function each(value: Value): readonly string[] {
  if (value === undefined || value === '') return [];
  if (Array.isArray(value)) return value;
  if (isRecord(value)) return Object.entries(value).map((pair) => pair.join('='));
  return [String(value)];
}

function isRecord(value: Value): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && !Array.isArray(value);
}
