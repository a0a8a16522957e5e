import { readFileSync } from 'node:fs';
import { generateApiKey } from '../../src/core/applications/api-key.ts';
import { systemRandom } from '../../src/vault/system-random.ts';
import { raw } from '../process/http-fixture.ts';
import type { Canaries } from './leakage-canaries.ts';
import type { Shows, Workspace } from './leakage-workspace.ts';

/** The tenant to use, and how to reach its vault. */
interface Target {
  readonly name: string;
  /** The flags that select the vault: its URL, or its file and key file. */
  readonly flags: readonly string[];
  readonly management: string;
}

interface Readers {
  readonly revealing: string;
  readonly masking: string;
}

const TOKEN_PERMISSIONS = ['token:create', 'token:read', 'token:update', 'token:delete'];
const MORE_THAN_A_BODY = 1_100_000;
const MERGE_PATCHED = 'patched';

/** Runs every operation on a target, with canaries in every text member, and provokes every error. */
export async function useOperations(workspace: Workspace, canaries: Canaries, target: Target): Promise<void> {
  const mark = (what: string) => `${target.name} ${what}`;
  const word = (what: string, end?: string) => canaries.word(mark(what), 'sealed', end);
  const secret = (what: string, end?: string) => canaries.word(mark(what), 'data', end);

  const run = (key: string, words: readonly string[], shows: Shows, body?: object | string, exit = 0) => {
    const stdin = typeof body === 'object' ? JSON.stringify(body) : body;
    const given = stdin === undefined ? [] : ['--body', '-'];
    return workspace.vault([...words, ...target.flags, '--api-key-file', key, ...given], { shows, stdin, exit });
  };

  /** Runs a command that writes a new API key to a file, and keeps the key as a canary. */
  async function newKey(
    what: string,
    words: readonly string[],
    body?: object,
  ): Promise<{ readonly key: string; readonly id: string }> {
    const key = workspace.given(`${target.name}-${what}.key`);
    const made = JSON.parse(await run(target.management, [...words, '--key-out', key], 'masked', body));
    canaries.keep(mark(`${what} key`), 'key', readFileSync(key, 'utf8').trim());
    return { key, id: String(made.id) };
  }

  async function applications(): Promise<Readers> {
    const rule = (transform: string) => ({
      description: word(`${transform} description`),
      priority: 1,
      container: `/${word(`${transform} container`)}/`,
      transform,
      permissions: ['token:read'],
    });
    const everything = { ...rule('reveal'), priority: 2, container: '/', permissions: TOKEN_PERMISSIONS };
    const body = { name: word('name'), type: 'private', can_create_expiring_applications: true };
    const revealing = await newKey('revealing', ['apps', 'create'], { ...body, rules: [rule('reveal'), everything] });
    const masking = await newKey('masking', ['apps', 'create'], {
      ...body,
      name: word('masking name'),
      permissions: TOKEN_PERMISSIONS,
    });
    const conditions = [{ attribute: 'container', operator: 'starts_with', value: `/${word('condition')}/` }];
    const expiring = {
      description: word('condition description'),
      priority: 1,
      transform: 'mask',
      permissions: ['token:read'],
      conditions,
    };
    const made = JSON.parse(
      await run(revealing.key, ['apps', 'create'], 'key', {
        name: word('expiring name'),
        type: 'expiring',
        rules: [expiring],
      }),
    );
    canaries.keep(mark('expiring key'), 'key', String(made.key));
    await run(target.management, ['apps', 'list'], 'masked');
    await run(target.management, ['apps', 'list', '-o', 'table'], 'masked');
    await run(target.management, ['apps', 'get', revealing.id], 'masked');
    await run(target.management, ['apps', 'whoami'], 'masked');
    await run(target.management, ['apps', 'update', masking.id], 'masked', {
      name: word('new name'),
      permissions: TOKEN_PERMISSIONS,
    });
    await newKey('regenerated', ['apps', 'regenerate', String(made.id), '--yes']);
    await run(target.management, ['apps', 'delete', String(made.id), '--yes'], 'nothing');
    return { revealing: revealing.key, masking: masking.key };
  }

  async function tokens({ revealing, masking }: Readers): Promise<void> {
    const id = canaries.word(mark('id'), 'clear');
    const search = word('search index');
    const metadata = { [word('metadata name')]: word('metadata value', '?~'), note: word('note') };
    const token = {
      id,
      type: 'token',
      data: { [secret('member')]: secret('value', '~?>'), deep: [{ text: secret('deep') }] },
      mask: { shown: word('mask'), end: '{{ data.deep[0].text | reveal_last: 4 }}' },
      containers: [`/${word('container')}/${word('inner container')}/`],
      metadata,
      search_indexes: [search, '{{ data.deep[0].text }}'],
      fingerprint_expression: `{{ data.deep[0].text }}${word('fingerprint expression')}`,
    };
    const card = {
      type: 'card',
      data: { number: canaries.card(mark('card')), expiration_month: 12, expiration_year: 2030, cvc: '123' },
    };
    const number = {
      type: 'social_security_number',
      data: canaries.digits(mark('number'), 9),
      deduplicate_token: true,
    };
    await run(revealing, ['tokens', 'create'], 'masked', token);
    await run(revealing, ['tokens', 'create'], 'masked', card);
    for (const reader of [revealing, masking]) await run(reader, ['tokens', 'create'], 'masked', number);
    const typed = ['tokens', 'list', '--metadata', `note=${metadata['note']}`];
    for (const [reader, shows] of [
      [revealing, 'revealed'],
      [masking, 'masked'],
    ] as const) {
      await run(reader, ['tokens', 'list'], shows);
      await run(reader, ['tokens', 'get', id], shows);
      await run(reader, [...typed, '-o', 'table'], shows);
    }
    const patched = `${id}-${MERGE_PATCHED}`;
    await run(revealing, ['tokens', 'create'], 'masked', { ...token, id: patched });
    await run(masking, ['tokens', 'patch', patched], 'masked', { metadata: { note: word('new note') } });
    await run(revealing, ['tokens', 'patch', patched], 'revealed', {
      data: { new: secret('new value') },
      mask: { shown: word('new mask') },
    });
    await run(revealing, ['tokens', 'create', '--dry-run'], 'revealed', token);
    await run(revealing, ['tokens', 'create', '--curl'], 'revealed', token);
    await run(revealing, ['tokens', 'delete', patched, '--yes'], 'nothing');
    await refused(revealing, masking, id, patched);
  }

  /** Sends invalid requests. The error messages are fixed texts, so they must contain no canary. */
  async function refused(revealing: string, masking: string, id: string, deleted: string): Promise<void> {
    const stranger = workspace.given(
      `${target.name}-stranger.key`,
      canaries.keep(mark('unknown key'), 'key', generateApiKey(systemRandom)),
    );
    const create = ['tokens', 'create'];
    const body = (data: unknown, more: object = {}) => ({ type: 'token', data, ...more });
    const cases: readonly (readonly [exit: number, key: string, words: readonly string[], body?: object | string])[] = [
      [4, stranger, ['tokens', 'get', id]],
      [5, target.management, ['tokens', 'get', id]],
      [5, masking, ['tenant', 'get']],
      [3, revealing, ['tokens', 'get', deleted]],
      [6, revealing, create, body(secret('conflict'), { id })],
      [7, revealing, create, `{"type":"token","data":"${secret('not JSON')}`],
      [7, revealing, create, body(secret('bad container'), { containers: [word('no container')] })],
      [7, revealing, create, body(secret('bad mask'), { mask: `{{ data | ${word('no filter')} }}` })],
      [7, revealing, create, body(secret('bad cast'), { mask: '{{ data | to_number }}' })],
      [7, revealing, create, body(secret('bad index'), { search_indexes: [`{{ data.${word('no end')}`] })],
      [7, revealing, create, body(secret('bad time'), { expires_at: word('no time') })],
      [7, revealing, create, { type: 'card_number', data: secret('no card') }],
      [7, revealing, create, { type: 'bank', data: { routing_number: secret('no routing'), account_number: '1' } }],
      [7, revealing, create, body(secret('too large') + ' '.repeat(MORE_THAN_A_BODY))],
      [7, target.management, ['apps', 'create'], { name: word('no type'), type: word('type') }],
      [
        7,
        target.management,
        ['tenant', 'update'],
        { name: word('bad setting'), settings: { deduplicate_tokens: word('setting') } },
      ],
    ];
    for (const [exit, key, words, given] of cases) await run(key, words, 'nothing', given, exit);
  }

  await tokens(await applications());
  await run(target.management, ['tenant', 'update'], 'masked', {
    name: word('tenant name'),
    settings: { deduplicate_tokens: 'false' },
  });
  await run(target.management, ['tenant', 'get'], 'masked');
  await run(target.management, ['usage'], 'nothing');
}

/** Runs the commands without an endpoint on the file: keys, copies, doctor, tenants and profiles. */
export async function useLocalCommands(workspace: Workspace, canaries: Canaries): Promise<void> {
  const { file, keyFile } = workspace;
  const opened = ['--file', file, '--key-file', keyFile];
  const passphrase = workspace.given('passphrase', canaries.word('passphrase', 'key', ' with space'));
  const wrong = workspace.given('wrong-passphrase', canaries.word('wrong passphrase', 'key'));
  const strange = workspace.given('wrong.key', Buffer.from(canaries.word('wrong key file', 'key').padEnd(32, '\0')));
  await workspace.vault(['keys', 'add', ...opened, '--new-passphrase-file', passphrase]);
  await workspace.vault(['keys', 'add', ...opened, '--new-key-file', workspace.given('second.key')]);
  await workspace.vault(['keys', 'list', '--file', file, '--passphrase-file', passphrase]);
  await workspace.vault(['keys', 'list', '--tenants', ...opened]);
  await workspace.vault(['doctor', '--file', file, '--passphrase-file', wrong], { exit: 10 });
  await workspace.vault(['doctor', '--file', file, '--key-file', strange], { exit: 10 });
  await workspace.vault(['keys', 'rotate', ...opened, '--indexes', '--yes']);
  await workspace.vault(['keys', 'remove', ...opened, '--slot', '2', '--yes']);
  const printed = workspace.given('printed.key', canaries.word('key of a command', 'key').padEnd(32, '\0'));
  await workspace.vault(['keys', 'add', ...opened, '--new-key-command', `cat ${printed}`]);
  await workspace.vault(['keys', 'list', '--file', file, '--key-command', `cat ${printed}`]);
  await workspace.vault(['doctor', '--file', file, '--key-command', `cat ${passphrase}`], { exit: 10 });
  const tenant = JSON.parse(
    await workspace.vault(['tenant', 'create', ...opened, '--name', canaries.word('second tenant'), '-o', 'json'], {
      shows: 'key',
    }),
  );
  canaries.keep('second management key', 'key', String(tenant.application.key));
  await workspace.vault(['tenant', 'list', ...opened], { shows: 'masked' });
  const issued = workspace.given('issued.key');
  await workspace.vault(['tenant', 'issue-key', ...opened, '--tenant', String(tenant.tenant.id), '--key-out', issued]);
  canaries.keep('issued key', 'key', readFileSync(issued, 'utf8').trim());
  const backup = workspace.inside('vault/backup');
  await workspace.vault(['backup', backup, ...opened]);
  await workspace.vault(['restore', backup, '--file', workspace.inside('vault/restored.db'), '--key-file', keyFile]);
  await workspace.vault(['doctor', ...opened]);
  const kept = canaries.keep('profile key', 'key', generateApiKey(systemRandom));
  await workspace.vault(['profile', 'add', 'leak', '--file', file, '--key-file', keyFile, '--api-key', '-'], {
    stdin: kept,
  });
  await workspace.vault(['profile', 'list']);
  await workspace.vault(['profile', 'use', 'leak']);
  await workspace.vault(['tokens', 'list', '--profile', 'leak'], { exit: 4 });
  await workspace.vault(['profile', 'remove', 'leak', '--yes']);
}

interface Refused {
  readonly status: number;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
/** More failed authentications than the daemon allows a peer in a second. */
const FAILURES = 40;
const OVER_ONE_MEBIBYTE = 1_100_000;

async function send(url: string, { method = 'GET', path = '/tokens', headers = {}, body = '' }: Refused) {
  const { host, port } = new URL(url);
  const all = { host, 'content-length': Buffer.byteLength(body), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const { responses } = await raw(Number(port), `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  return responses[0]?.status;
}

/** Sends refused requests, with canaries in all but trace ids. Resolves to the statuses. */
export async function sendRefused(
  url: string,
  { management, everything }: { readonly management: string; readonly everything: string },
  canaries: Canaries,
): Promise<ReadonlySet<number>> {
  const word = (what: string) => canaries.word(`request ${what}`, 'data');
  const key = { 'svc-api-key': everything };
  const post = { method: 'POST', headers: { ...key, ...JSON_BODY } } as const;
  const token = (members: object) => JSON.stringify({ type: 'token', ...members });
  const cases: readonly Refused[] = [
    { ...post, status: 400, body: `{"type":"token","data":"${word('cut')}` },
    { ...post, status: 400, body: token({ data: word('value'), [word('member')]: word('of a member') }) },
    { ...post, status: 400, body: token({ data: word('masked'), mask: `{% ${word('tag')} %}` }) },
    { status: 400, path: `/tokens?${word('parameter')}=${word('of a parameter')}`, headers: key },
    { status: 400, path: `/tokens?size=${word('size')}`, headers: key },
    { status: 401, headers: { 'svc-api-key': word('key'), cookie: word('cookie') } },
    { status: 401, headers: { authorization: `Bearer ${word('bearer')}` } },
    { status: 403, path: `/tokens/${word('id')}`, headers: { 'svc-api-key': management } },
    { status: 404, path: `/tokens/${word('unknown id')}`, headers: key },
    { status: 404, path: `/${word('route')}/${word('below')}?${word('route query')}`, headers: key },
    { status: 405, method: 'DELETE', path: `/tokens?${word('method query')}`, headers: key },
    { ...post, status: 409, body: token({ id: 'request-taken', data: word('taken') }) },
    { ...post, status: 413, body: `"${word('large')}${' '.repeat(OVER_ONE_MEBIBYTE)}"` },
    { status: 414, path: `/tokens?metadata.a=${word('long').repeat(500)}`, headers: key },
    { ...post, status: 415, headers: { ...key, 'content-type': `text/${word('type')}` }, body: word('typed body') },
    { status: 421, headers: { ...key, host: `${word('host')}.test` } },
    { status: 431, headers: { ...key, 'x-long': word('header').repeat(1_000) } },
  ];
  const seen = new Set<number>();
  await send(url, { ...post, status: 201, body: '{"id":"request-taken","type":"token","data":1}' });
  for (const refused of cases) {
    const status = await send(url, refused);
    if (status === undefined || status !== refused.status)
      throw new Error(`a request was answered ${status}, not ${refused.status}`);
    seen.add(status);
  }
  const { host, port } = new URL(url);
  const half = `POST /tokens HTTP/1.1\r\nHost: ${host}\r\nContent-Length: `;
  for (const text of [
    `GET /${word('raw')} ${word('protocol')}\r\n${word('raw header')}\r\n\r\n`,
    `${half}x${word('length')}\r\n\r\n${word('raw body')}`,
    `${half}100\r\n\r\n${word('half a body')}`,
  ]) {
    await raw(Number(port), text, { halfClose: true, untilClosed: true });
  }
  const guesses = Array.from({ length: FAILURES }, () =>
    send(url, { status: 429, headers: { 'svc-api-key': word('guess') } }),
  );
  for (const status of await Promise.all(guesses)) if (status !== undefined) seen.add(status);
  return seen;
}
