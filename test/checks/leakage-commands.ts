import { readFileSync } from 'node:fs';
import { generateApiKey } from '../../src/core/applications/api-key.ts';
import { systemRandom } from '../../src/vault/system-random.ts';
import type { Canaries } from './leakage-canaries.ts';
import type { Shows, Workspace } from './leakage-workspace.ts';

/** The tenant to use, and how to reach its vault. */
export interface Target {
  readonly name: string;
  /** The flags that select the vault: its URL, or its file and key file. */
  readonly flags: readonly string[];
  /** A file with the API key of the management application. */
  readonly management: string;
}

/** Files with the API keys of two applications that read tokens. */
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
