import { requestPath } from '../../../client/request-path.ts';
import { commandWords, OPERATIONS, type Operation, type OperationId } from '../../../contract/operations.ts';
import { session } from '../session.ts';

type Value = string | number | boolean | readonly string[] | Readonly<Record<string, string>> | undefined;

/** A call without a body, for which the page shows equivalent commands. */
export interface ShownCall {
  readonly operation: OperationId;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Value>>;
}

/** Returns the command line that makes the same call. */
export function commandOf({ operation, params = {}, query = {} }: ShownCall): string {
  const row: Operation = OPERATIONS[operation];
  const { sharing, flags: names = {} } = row.cli;
  const command = Object.hasOwn(query, sharing?.flag ?? '') ? row.cli.command : commandWords(row);
  const flags = Object.entries(query).flatMap(([name, value]) =>
    each(value).map((text) => `--${(names[name] ?? name).replaceAll('_', '-')} ${shellWord(text)}`),
  );
  const ids = Object.values(params).map(shellWord);
  const isLikeFlag = ids.some((id) => id.startsWith('-'));
  return ['vault', ...command, ...(isLikeFlag ? [...flags, '--', ...ids] : [...ids, ...flags])].join(' ');
}

/** Returns the curl command that makes the same call. It takes the API key from a shell variable. */
export function curlOf({ operation, params = {}, query = {} }: ShownCall): string {
  const { method, path } = OPERATIONS[operation];
  const { value } = session;
  const prefix = value.kind === 'open' ? value.about.header_prefix : 'SVC';
  const pairs = Object.entries(query).flatMap(([name, given]) =>
    isRecord(given)
      ? Object.entries(given).map(([key, text]) => [`${name}.${key}`, text] as const)
      : each(given).map((text) => [name, text] as const),
  );
  const address = shellWord(requestPath(path, params, pairs, encodeURIComponent));
  const verb = method === 'GET' ? '' : ` -X ${method}`;
  return `curl -sS${verb} "$VAULT_URL"${address} \\\n  -H "${prefix.toUpperCase()}-API-KEY: $VAULT_API_KEY"`;
}

/** Returns the TypeScript code that makes the same call. */
export function typescriptOf({ operation, params, query }: ShownCall): string {
  const request = JSON.stringify({ params, query }, undefined, 2).replace(/^( *)"(\w+)":/gm, '$1$2:');
  return `import { createClient } from 'token-vault/client';

const vault = createClient({
  url: process.env.VAULT_URL,
  apiKey: process.env.VAULT_API_KEY,
});
const result = await vault.${operation}(${request === '{}' ? '' : request});`;
}

function each(value: Value): readonly string[] {
  if (value === undefined || value === '') return [];
  if (Array.isArray(value)) return value;
  if (isRecord(value)) return Object.entries(value).map((pair) => pair.join('='));
  return [String(value)];
}

function isRecord(value: Value): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Quotes a word for a POSIX shell, if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
