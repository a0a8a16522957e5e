/** Creates a vault with known content and copies its file and log without the key, as a thief would get them. */
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bareEnvironment, type ServedVault, serve, vault } from './run-vault.ts';

const RULE = { description: 'Reads all of Payroll-Rule', priority: 1, container: '/', transform: 'reveal' };
const PERMISSIONS = ['token:create', 'token:read', 'token:update', 'token:delete'];
const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 };
const OTHER_CARD = { number: '5555555555554444', expiration_month: 1, expiration_year: 2031 };

/** The tokens, each with its description for docs/stolen-file.md. `SECRETS` lists their sealed texts. */
export const CONTENT: readonly (readonly [
  what: string,
  token: { readonly id: string; readonly [member: string]: unknown },
])[] = [
  ['a card', { id: 'order-1-card', type: 'card', data: CARD }],
  ['the same card again', { id: 'order-2-card', type: 'card', data: CARD }],
  ['another card', { id: 'order-3-card', type: 'card', data: OTHER_CARD }],
  ['a social security number', { id: 'person-1', type: 'social_security_number', data: '123-45-6789' }],
  [
    'a bank account',
    { id: 'person-1-bank', type: 'bank', data: { routing_number: '021000021', account_number: '900123456789' } },
  ],
  [
    'a text of 30 characters in a container three levels deep, with metadata',
    {
      id: 'diary-1',
      type: 'token',
      data: 'Met Ms Oldenburgh at the dock.',
      containers: ['/hospital/oncology/ward7/'],
      metadata: { patient: 'Vogelsang', unit: 'Kestrel-Ward' },
      mask: 'Diary-Masked',
    },
  ],
  [
    'a text of 3,000 characters that shares one metadata value',
    { id: 'diary-2', type: 'token', data: 'Zanzibar01 '.repeat(273), metadata: { patient: 'Vogelsang' } },
  ],
  [
    'a text that was changed once and expires in 2099',
    { id: 'changed-1', type: 'token', data: 'Before-Change', expires_at: '2099-01-01T00:00:00Z' },
  ],
  ['a deleted text', { id: 'deleted-1', type: 'token', data: 'Gone-For-Good' }],
];
const CHANGED = 'After-Change';
const RETRY = 'Retry-Key';
const NAMES = { tenant: 'Kingfisher-Clinic', application: 'Payroll-Backend', reader: 'Payroll-Report' };

/** The sealed texts by kind. `secretsOf` adds the API keys. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'card numbers': ['4242424242424242', '5555555555554444'],
  'other data': [
    '123-45-6789',
    '021000021',
    '900123456789',
    'Oldenburgh',
    'Zanzibar01',
    'Before-Change',
    CHANGED,
    'Gone-For-Good',
  ],
  'masked forms and masks': ['XXXXXXXXXXXX4242', 'XXX-XX-6789', 'Diary-Masked', 'reveal_last'],
  'metadata, names and values': ['patient', 'Vogelsang', 'vogelsang', 'Kestrel-Ward', 'kestrel-ward'],
  containers: ['/hospital/', 'oncology', 'ward7', '/pci/high/', '/pii/high/', '/bank/high/', '/general/high/'],
  'idempotency keys': [RETRY],
  'names and rules': [...Object.values(NAMES), 'Payroll-Rule', 'token:create', 'reveal'],
};

/** The values of one kind that the vault must not contain in clear. */
export interface Secrets {
  readonly kind: string;
  readonly values: readonly Buffer[];
}

/**
 * Creates the vault in a temporary folder and kills its daemon, so that the log is not emptied. Resolves to the stolen
 * file, the secrets that it must not contain, and `remove`, which deletes the folder.
 */
export async function stealVault() {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-stolen-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const file = path.join(folder, 'vault.db');
  const env = { ...bareEnvironment(folder), VAULT_FILE: file };
  let daemon: ServedVault | undefined;
  try {
    const { application }: { readonly application: { readonly key: string } } = await vault(
      ['init', '--tenant', NAMES.tenant],
      env,
    );
    daemon = await serve([], env);
    const keys = await fill(daemon.url, application.key);
    await daemon.end('SIGKILL');
    const copy = path.join(folder, 'stolen');
    mkdirSync(copy);
    for (const end of ['', '-wal']) copyFileSync(file + end, path.join(copy, `vault.db${end}`));
    return { file: path.join(copy, 'vault.db'), secrets: secretsOf(keys, readFileSync(`${file}.key`)), remove };
  } catch (error) {
    await daemon?.end('SIGKILL');
    remove();
    throw error;
  }
}

async function fill(url: string, management: string): Promise<readonly string[]> {
  const call = async (key: string, method: string, path: string, body?: object) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    // DELETE ignores this header.
    const headers = {
      'svc-api-key': key,
      'svc-idempotency-key': `${RETRY}-${randomUUID()}`,
      ...(body && { 'content-type': type }),
    };
    const response = await fetch(url + path, { method, headers, body: body ? JSON.stringify(body) : null });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const make = (body: object): Promise<{ readonly key: string }> =>
    call(management, 'POST', '/applications', { ...body, type: 'private' });
  const backend = await make({ name: NAMES.application, rules: [{ ...RULE, permissions: PERMISSIONS }] });
  const reader = await make({ name: NAMES.reader, permissions: ['token:read'] });
  for (const [, body] of CONTENT) await call(backend.key, 'POST', '/tokens', body);
  await call(backend.key, 'PATCH', '/tokens/changed-1', { data: CHANGED });
  await call(backend.key, 'DELETE', '/tokens/deleted-1');
  return [management, backend.key, reader.key];
}

function secretsOf(keys: readonly string[], keyFile: Buffer): readonly Secrets[] {
  const kinds = Object.entries({ ...SECRETS, 'API keys': keys });
  return [
    ...kinds.map(([kind, texts]) => ({ kind, values: texts.map((text) => Buffer.from(text)) })),
    { kind: 'the key file', values: [keyFile] },
  ];
}
