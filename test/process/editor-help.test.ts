import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

// Asks the compiler's language server what an editor shows over the words of a program.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT = `import { createClient, type Token } from 'token-vault/client';
const client = createClient({ url: '', apiKey: '' });
const made = await client.createApplication({ body: { name: 'a', type: 'public', permissions: ['token:create'] } });
const remade = await client.regenerateApplicationKey({ params: { id: made.id } });
const key: string = remade.key;
const token: Token = await client.createToken({ body: { type: 'token', data: 1, containers: ['/a/'] } });
console.log(key, token.fingerprint, token.expires_at, made.rules[0]?.transform);
export const undescribed = 1;
`;

type Message = { readonly id?: number; readonly method?: string; readonly result?: unknown };

let server: ChildProcess;
let file: string;
let next = 0;
const waiting = new Map<number | undefined, (message: Message) => void>();
const folders: (() => void)[] = [];

function send(message: object): void {
  const text = JSON.stringify({ jsonrpc: '2.0', ...message });
  server.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function ask(method: string, params: object): Promise<Message> {
  return new Promise((resolve) => {
    next += 1;
    waiting.set(next, resolve);
    send({ id: next, method, params });
  });
}

function receive(): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    for (;;) {
      const head = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(held.toString('latin1'));
      const end = (head?.[0].length ?? 0) + Number(head?.[1]);
      if (head === null || held.length < end) return;
      const message: Message = JSON.parse(held.subarray(head[0].length, end).toString('utf8'));
      held = held.subarray(end);
      // Answer the server's own requests (configuration, capabilities) with null.
      if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: null });
      else waiting.get(message.id)?.(message);
    }
  };
}

/** Returns what an editor shows over the last word of `words`, where they first occur. */
async function hover(words: string): Promise<string> {
  const before = TEXT.slice(0, TEXT.indexOf(words) + words.length - 1).split('\n');
  const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
  const { result } = await ask('textDocument/hover', { textDocument: { uri: file }, position });
  return JSON.stringify(result);
}

beforeAll(async () => {
  const folder = temporaryFolder((remove) => folders.push(remove));
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(ROOT, path.join(folder, 'node_modules/token-vault'), 'junction');
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: [] };
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  writeFileSync(path.join(folder, 'use.ts'), TEXT);
  file = pathToFileURL(path.join(folder, 'use.ts')).href;
  server = spawn(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '--lsp', '--stdio'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  server.stdout?.on('data', receive());
  const capabilities = { textDocument: { hover: { contentFormat: ['plaintext'] } } };
  await ask('initialize', { processId: null, rootUri: pathToFileURL(folder).href, capabilities });
  send({ method: 'initialized', params: {} });
  const document = { uri: file, languageId: 'typescript', version: 1, text: TEXT };
  send({ method: 'textDocument/didOpen', params: { textDocument: document } });
});

afterAll(() => {
  server.kill();
  for (const remove of folders) remove();
});

it.each([
  ['client.createApplication', 'Create an application: `POST /applications`, permission `application:create`.'],
  ['permissions', 'permissions on every token'],
  ['remade.key', 'ApplicationWithKey.key: string'],
  ['remade.key', 'shown only once'],
  ['containers', 'The containers of the token'],
  ['token.fingerprint', 'equal for tokens of one tenant'],
  ['.transform', 'How the rule shows `data`'],
  ['made.rules', 'readonly AccessRule[]'],
])('over `%s` an editor shows: %s', async (words, text) => {
  expect(await hover(words)).toContain(text);
});

it('over a word without a description an editor shows only its type', async () => {
  expect(await hover('undescribed')).toContain('"value":"const undescribed: 1"');
});
