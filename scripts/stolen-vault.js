/** A vault with known content, as a thief gets it: the file and its log, without the key, of a daemon that was cut off. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const VAULT = fileURLToPath(new URL('../bin/vault.js', import.meta.url));
const MOST_START_MS = 30_000;
const execute = promisify(execFile);
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));

const RULE = { description: 'Reads all of Payroll-Rule', priority: 1, container: '/', transform: 'reveal' };
const PERMISSIONS = ['token:create', 'token:read', 'token:update', 'token:delete'];

/** In words for the page, and as the bodies that are sent. Every text that is sealed occurs once in `SECRETS`, too. */
export const CONTENT = [
  [
    'a card',
    {
      id: 'order-1-card',
      type: 'card',
      data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
    },
  ],
  [
    'the same card again',
    {
      id: 'order-2-card',
      type: 'card',
      data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
    },
  ],
  [
    'another card',
    {
      id: 'order-3-card',
      type: 'card',
      data: { number: '5555555555554444', expiration_month: 1, expiration_year: 2031 },
    },
  ],
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
    'a text of 3,000 characters with one of the same metadata',
    { id: 'diary-2', type: 'token', data: 'Zanzibar01 '.repeat(273), metadata: { patient: 'Vogelsang' } },
  ],
  [
    'a text that was changed once, and ends in 2099',
    { id: 'changed-1', type: 'token', data: 'Before-Change', expires_at: '2099-01-01T00:00:00Z' },
  ],
  ['a text that was deleted', { id: 'deleted-1', type: 'token', data: 'Gone-For-Good' }],
];
const CHANGED = 'After-Change';
const NAMES = { tenant: 'Kingfisher-Clinic', application: 'Payroll-Backend', reader: 'Payroll-Report' };

/** What must not be found: all that was sealed, by what it is. The keys are added when they are made. */
const SECRETS = {
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
  'names and rules': [...Object.values(NAMES), 'Payroll-Rule', 'token:create', 'reveal'],
};

/**
 * Makes the vault in a folder of its own, cuts its daemon off, and answers the copy with what must not be in it.
 * `remove` takes everything away.
 */
export async function stealVault() {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-stolen-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const file = path.join(folder, 'vault.db');
  const readyFile = path.join(folder, 'ready.json');
  let daemon;
  try {
    const words = ['init', '--file', file, '--tenant', NAMES.tenant, '-o', 'json'];
    const { stdout } = await execute(process.execPath, [VAULT, ...words], { env: environment });
    const management = JSON.parse(stdout).application.key;
    const serve = [VAULT, 'serve', '--file', file, '--port', '0', '--ready-file', readyFile];
    daemon = spawn(process.execPath, serve, { env: environment, stdio: 'ignore' });
    const due = performance.now() + MOST_START_MS;
    while (!existsSync(readyFile)) {
      if (daemon.exitCode !== null || performance.now() > due) throw new Error('the daemon did not start');
      await sleep(10);
    }
    const { url } = JSON.parse(readFileSync(readyFile, 'utf8'));
    const keys = await fill(url, management);
    // Before the log is emptied: a thief takes what is there.
    const gone = once(daemon, 'exit');
    daemon.kill('SIGKILL');
    await gone;
    const copy = path.join(folder, 'stolen');
    mkdirSync(copy);
    for (const end of ['', '-wal']) copyFileSync(file + end, path.join(copy, `vault.db${end}`));
    return { file: path.join(copy, 'vault.db'), secrets: secretsOf(keys, readFileSync(`${file}.key`)), remove };
  } catch (error) {
    daemon?.kill('SIGKILL');
    remove();
    throw error;
  }
}

async function fill(url, management) {
  const call = async (key, method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { 'svc-api-key': key, ...(body && { 'content-type': type }) };
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const make = (body) => call(management, 'POST', '/applications', body);
  const backend = await make({
    name: NAMES.application,
    type: 'private',
    rules: [{ ...RULE, permissions: PERMISSIONS }],
  });
  const reader = await make({ name: NAMES.reader, type: 'private', permissions: ['token:read'] });
  for (const [, body] of CONTENT) await call(backend.key, 'POST', '/tokens', body);
  await call(backend.key, 'PATCH', '/tokens/changed-1', { data: CHANGED });
  await call(backend.key, 'DELETE', '/tokens/deleted-1');
  return [management, backend.key, reader.key];
}

function secretsOf(keys, keyFile) {
  const kinds = Object.entries({ ...SECRETS, 'API keys': keys });
  return [
    ...kinds.map(([kind, texts]) => ({ kind, values: texts.map((text) => Buffer.from(text)) })),
    { kind: 'the key file', values: [keyFile] },
  ];
}
