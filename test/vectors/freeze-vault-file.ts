/**
 * Freezes a vault file of the current format with its keys and replies, as `vault-files/format-N.vault` and `.jsonl`.
 * Run it once for each format; it replaces an existing file only with `--replace`.
 *
 *   npm run build && node test/vectors/freeze-vault-file.ts [--replace]
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OperationId } from '../../src/contract/operations.ts';

const VAULT = fileURLToPath(new URL('../../dist/vault.cjs', import.meta.url));
const FILES = fileURLToPath(new URL('./vault-files/', import.meta.url));
const PASSPHRASE = 'a frozen passphrase: Zoë';
const LABEL = 'frozen ✓';
/** The offset of `user_version` in the file format of SQLite, §1.3. */
const USER_VERSION_AT = 60;
const execute = promisify(execFile);
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));
const folder = mkdtempSync(path.join(tmpdir(), 'vault-freeze-'));
const file = path.join(folder, 'vault.db');

async function vault(words: readonly string[], apiKey = ''): Promise<string> {
  const env = { ...environment, VAULT_FILE: file, VAULT_API_KEY: apiKey, VAULT_CONFIG_DIR: folder };
  const { stdout } = await execute(process.execPath, [VAULT, ...words], { env });
  return stdout;
}

const json = async (words: readonly string[], apiKey?: string) => JSON.parse(await vault(words, apiKey));
const flags = (members: Readonly<Record<string, string>>) =>
  Object.entries(members).flatMap(([name, value]) => [`--${name}`, value]);

/** Tokens of every type, with number lexemes, unusual text, and own masks, indexes and containers. */
const TOKENS = [
  { type: 'card', data: '{"number":"4242424242424242","expiration_month":12,"expiration_year":2099,"cvc":"123"}' },
  { type: 'bank', data: '{"routing_number":"021000021","account_number":"1234567890"}' },
  { type: 'card_number', data: '"5555555555554444"', id: '{{ data | alias_card }}' },
  { type: 'us_bank_account_number', data: '"000123456789"', container: '/ledger/2024/' },
  { type: 'us_bank_routing_number', data: '"011401533"' },
  { type: 'social_security_number', data: '"123-45-6789"', 'deduplicate-token': 'true' },
  { type: 'employer_id_number', data: '"12-3456789"' },
  { type: 'token', id: 'numbers', data: '[9007199254740993,1.10,-0,1e400,"\\ud800",{"__proto__":1,"b":2,"a":3}]' },
  {
    type: 'token',
    id: 'text',
    data: '"Zoë ✓ 漢字 🃏"',
    mask: '"{{ data | reveal_last: 2 }}"',
    metadata: 'customer=Zoë',
  },
  { type: 'token', id: 'long', data: JSON.stringify('long '.repeat(500)), 'search-index': '{{ data | truncate: 9 }}' },
  { type: 'token', id: 'expires', data: 'true', 'expires-at': '12/31/9998 11:59:59 PM -05:00' },
  { type: 'token', id: 'patched', data: '{"a":1,"b":{"c":2}}', metadata: 'old=1' },
  { type: 'token', id: 'deleted', data: '"gone"' },
];

/** The API keys of three applications, and the ids of the tokens. */
interface Filled {
  readonly management: string;
  readonly revealing: string;
  readonly masking: string;
  readonly ids: readonly string[];
}

/** A request, as words of a command line and as a call. */
interface Question {
  readonly apiKey: string;
  readonly words: readonly string[];
  readonly operation: OperationId;
  readonly params: Readonly<Record<string, string>>;
  readonly query?: readonly (readonly [string, string])[];
}

async function fill(): Promise<Filled> {
  const { application } = await json(['init', '--tenant', 'Frozen ✓']);
  const management = application.key;
  const rule = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';
  const revealing = await json(
    ['apps', 'create', '--name', 'révealing', '--type', 'private', '--rule', rule],
    management,
  );
  const permission = ['--permission', 'token:read', '--permission', 'token:create'];
  const masking = await json(['apps', 'create', '--name', 'masking', '--type', 'private', ...permission], management);
  const ids: string[] = [];
  for (const token of TOKENS) ids.push((await json(['tokens', 'create', ...flags(token)], revealing.key)).id);
  await vault(
    ['tokens', 'patch', 'patched', '--data', '{"b":{"c":null,"d":[3]}}', '--metadata', 'new=2'],
    revealing.key,
  );
  await vault(['tokens', 'delete', 'deleted', '--yes'], revealing.key);
  const passphraseFile = path.join(folder, 'passphrase');
  writeFileSync(passphraseFile, PASSPHRASE, { mode: 0o600 });
  await vault(['keys', 'add', '--new-passphrase-file', passphraseFile, '--label', LABEL]);
  await vault(['keys', 'rotate', '--yes']);
  // Seal one more row under the second key, after the rotation.
  ids.push((await json(['tokens', 'create', '--type', 'token', '--data', '"after"'], masking.key)).id);
  return { management, revealing: revealing.key, masking: masking.key, ids: ids.filter((id) => id !== 'deleted') };
}

/** Returns the requests. Their two forms must return the same bytes. */
function questions({ management, revealing, masking, ids }: Filled): readonly Question[] {
  const get = (apiKey: string) =>
    ids.map((id): Question => ({ apiKey, words: ['tokens', 'get', id], operation: 'getToken', params: { id } }));
  const ask = (
    apiKey: string,
    words: readonly string[],
    operation: OperationId,
    query: NonNullable<Question['query']> = [],
  ): Question => ({ apiKey, words, operation, params: {}, query });
  return [
    ...get(revealing),
    ...get(masking),
    ask(masking, ['tokens', 'list', '--size', '100'], 'listTokens', [['size', '100']]),
    ask(revealing, ['tokens', 'list', '--metadata', 'customer=zoË'], 'listTokens', [['metadata.customer', 'zoË']]),
    ask(management, ['apps', 'list'], 'listApplications'),
    ask(management, ['tenant', 'get'], 'getTenant'),
  ];
}

try {
  const filled = await fill();
  const answers: object[] = [];
  for (const question of questions(filled)) {
    const bodyText = (await vault(question.words, question.apiKey)).trimEnd();
    answers.push({ query: [], ...question, bodyText });
  }
  const format = readFileSync(file).readUInt32BE(USER_VERSION_AT);
  const to = path.join(FILES, `format-${format}`);
  if (existsSync(`${to}.vault`) && !process.argv.includes('--replace')) {
    throw new Error(`format ${format} is frozen already; pass --replace to write it again`);
  }
  const keyFile = readFileSync(`${file}.key`).toString('hex');
  copyFileSync(file, `${to}.vault`);
  const lines = [{ format, key_file: keyFile, passphrase: PASSPHRASE, label: LABEL }, ...answers].map((line) =>
    JSON.stringify(line),
  );
  writeFileSync(`${to}.jsonl`, `${lines.join('\n')}\n`);
  process.stdout.write(`frozen: format ${format}, ${answers.length} answers\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
