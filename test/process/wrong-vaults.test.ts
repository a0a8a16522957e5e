import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { runMain } from '../unit/run-main.ts';
import { makePlace } from './cli-fixture.ts';
import { MORE_WORDS } from './command-words.ts';
import { CERT, CERT_KEY } from './http-certificate.ts';

/** Commands that may create the file of `--file`, or that name no vault to open. */
const MAKERS: readonly string[] = ['exec', 'restore', 'init', 'profile add'];

/** Every command without an endpoint that opens a vault, and one operation of each kind. */
const COMMANDS: readonly string[] = [
  'tokens list',
  'tokens list --all',
  'tokens create',
  'usage',
  ...LOCAL_COMMANDS.map(({ words }) => words.join(' ')).filter((words) => !MAKERS.includes(words)),
];

const place = makePlace();
const servers: Server[] = [];
const urls = new Map<string, string>();

async function listen(server: Server): Promise<number> {
  server.on('error', () => undefined);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Creates a server that sends this text to every client. */
const saying = (text: string) =>
  createServer((socket) => {
    socket.on('error', () => undefined).on('data', () => undefined);
    socket.end(text);
  });

const answering = (status: number, type: string, body: string) =>
  createHttpServer((_request, response) => {
    response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body);
  });

beforeAll(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('VAULT_')) vi.stubEnv(name, undefined);
  vi.stubEnv('VAULT_CONFIG_DIR', place.inside('config'));
  writeFileSync(place.inside('api.key'), await place.init('v'), { mode: 0o600 });
  writeFileSync(place.inside('rows.ndjson'), '{"type":"token","data":1}\n');
  mkdirSync(place.inside('folder.db'));
  writeFileSync(place.inside('empty.db'), '', { mode: 0o600 });
  writeFileSync(place.inside('text.db'), 'this is no vault\n', { mode: 0o600 });
  const page = await listen(answering(200, 'text/html', '<h1>hello</h1>'));
  const secure = await listen(createHttpsServer({ key: CERT_KEY, cert: CERT }, (_request, response) => response.end()));
  urls.set('nobody', 'http://127.0.0.1:1');
  urls.set('ssh', `http://127.0.0.1:${await listen(saying('SSH-2.0-OpenSSH_9.6\r\n'))}`);
  urls.set('page', `http://127.0.0.1:${page}`);
  urls.set('json', `http://127.0.0.1:${await listen(answering(200, 'application/json', '{"data":[]}'))}`);
  urls.set('proxy', `http://127.0.0.1:${await listen(answering(426, 'text/plain', 'Upgrade Required'))}`);
  urls.set('certificate', `https://127.0.0.1:${secure}`);
  urls.set('no-tls', `https://127.0.0.1:${page}`);
  urls.set('no-host', 'http://no-such-host.invalid');
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of servers) server.close();
});

async function run(words: readonly string[]) {
  const ran = await runMain(...words.map((word) => word.replace('<folder>', place.cwd)));
  return { ...ran, stderr: ran.stderr.replaceAll(place.cwd, '<folder>') };
}

/** Returns the flags that a command defines. */
async function flagsOf(words: string): Promise<readonly (string | undefined)[]> {
  const row = LOCAL_COMMANDS.find((one) => one.words.join(' ') === words);
  if (row === undefined) return ['--file', '--url', '--key-file', '--api-key-file'];
  const command = new Command();
  await row.define(command);
  return command.options.map(({ long }) => long);
}

/** Runs every command that accepts `flag`, with the key flags that it accepts. */
async function runAll(flag: '--file' | '--url', value: string) {
  const ran: Record<string, { readonly exitCode: number; readonly stdout: string; readonly stderr: string }> = {};
  for (const words of COMMANDS) {
    const known = await flagsOf(words.replace(' --all', ''));
    if (!known.includes(flag)) continue;
    const keys = [
      ...(flag === '--file' && known.includes('--key-file') ? ['--key-file', '<folder>/v.db.key'] : []),
      ...(known.includes('--api-key-file') ? ['--api-key-file', '<folder>/api.key'] : []),
    ];
    ran[words] = await run([...words.split(' '), '--yes', flag, value, ...keys, ...(MORE_WORDS[words] ?? [])]);
  }
  return ran;
}

describe('a file that is not a vault', () => {
  it.each([
    ['none.db', 2, /there is no vault at .*none\.db\nhint: create a vault with `vault init/],
    ['folder.db', 2, /folder\.db is a directory\nhint: name the file of the vault/],
    ['empty.db', 9, /empty\.db is empty\nhint: name a file that `vault init` created/],
    ['text.db', 9, /text\.db is not a vault\nhint: name a file that `vault init` created/],
  ])('%s', { timeout: 60_000 }, async (name, exitCode, said) => {
    const ran = await runAll('--file', `<folder>/${name}`);
    expect(Object.keys(ran).length).toBeGreaterThan(20);
    const refused = { exitCode, stdout: '', stderr: expect.stringMatching(said) };
    for (const [words, result] of Object.entries(ran)) expect([words, result]).toEqual([words, refused]);
    // A missing file is left out, because `exec` would create it.
    if (name !== 'none.db') {
      // A missing key is reported only for a vault.
      expect(await run(['keys', 'list', '--file', `<folder>/${name}`])).toEqual(refused);
      expect(await run(['exec', '--file', `<folder>/${name}`, '--', 'x'])).toEqual({
        exitCode: 2,
        stdout: '',
        stderr: `vault: <folder>/${name} was not created by \`vault serve --dev\`\nhint: serve the vault without --dev, or name another file\n`,
      });
    }
  });
});

describe('a URL without a vault', () => {
  it.each([
    ['nobody', /cannot reach .*: ECONNREFUSED\nhint: start the daemon/, /nobody answers/],
    ['ssh', /HPE_\w+\nhint: check --url \(VAULT_URL\): the server at this address does not speak HTTP/, /HPE_/],
    ['page', /is not a vault.*\nhint: check --url \(VAULT_URL\): another program/, /another program answers/],
    ['json', /is not a vault.*\nhint: check --url \(VAULT_URL\): another program/, /another program answers/],
    ['proxy', /is not a vault \(status 426\)\nhint: check --url \(VAULT_URL\): another program/, /it answers 426/],
    [
      'certificate',
      /SELF_SIGNED\w+\nhint: to trust the certificate, name a PEM file with it: --ca-file \(VAULT_CA_FILE\)/,
      /SELF_SIGNED/,
    ],
    [
      'no-tls',
      /cannot reach .*: \w+\nhint: check --url \(VAULT_URL\): the server at this address does not use TLS; try http:/,
      /EPROTO|SSL/,
    ],
    [
      'no-host',
      /cannot reach .*: (?:ENOTFOUND|EAI_AGAIN)\nhint: check --url \(VAULT_URL\): the host name does not resolve/,
      /ENOTFOUND|EAI_AGAIN/,
    ],
  ])('%s', { timeout: 60_000 }, async (name, said, seen) => {
    const ran = await runAll('--url', urls.get(name) ?? '');
    expect(Object.keys(ran).length).toBeGreaterThan(10);
    for (const [words, result] of Object.entries(ran)) {
      const stderr = expect.stringMatching(words === 'wait' ? seen : said);
      expect([words, result]).toEqual([words, { exitCode: 8, stdout: '', stderr }]);
    }
  });
});
