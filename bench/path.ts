/**
 * Counts the functions of src that one warm request runs in a daemon, and their files, with V8's precise coverage. Prints
 * a line of JSON for a create and for a masked get:
 *
 *     node bench/path.ts
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_LIMITS } from '../src/contract/limits.ts';
import { startDaemon } from '../src/http/daemon.ts';
import { createVault } from '../src/vault/vault.ts';
import { requestBytes } from './load.ts';

const ROUNDS = 50;
const SOURCES = new URL('../src/', import.meta.url).href;
const CREATE = { method: 'POST', path: '/tokens', body: '{"type":"card_number","data":"4242424242424242"}' };

/** Sends a request and resolves to the body of the response. */
async function ask(socket: Socket, port: number, key: string, parts: { method: string; path: string; body?: string }) {
  const headers = { 'svc-api-key': key, ...(parts.body !== undefined && { 'content-type': 'application/json' }) };
  socket.write(requestBytes({ ...parts, headers }, `127.0.0.1:${port}`));
  const [bytes]: Buffer[] = await once(socket, 'data');
  return String(bytes).split('\r\n\r\n')[1] ?? '';
}

/** Resolves to the functions of src that `work` calls, and their files. */
async function pathOf(work: () => Promise<unknown>): Promise<{ readonly functions: number; readonly files: number }> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const called = result
    .filter(({ url }) => url.startsWith(SOURCES))
    .map(({ functions }) => functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0]?.count))
    .filter((functions) => functions.length > 0);
  return { functions: called.flat().length, files: called.length };
}

const folder = mkdtempSync(path.join(tmpdir(), 'vault-path-'));
const credential = { kind: 'key_file', key: new Uint8Array(32).fill(7) } as const;
const { vault, application } = await createVault({
  file: path.join(folder, 'vault.db'),
  credential,
  tenantName: 'path',
});
const client = { call: vault.dispatch, take: vault.take, close: vault.close };
const daemon = await startDaemon(client, {
  host: '127.0.0.1',
  port: 0,
  headerPrefix: 'SVC',
  limits: DEFAULT_LIMITS,
  ready: vault.ready,
  log: false,
  version: '0',
});
await vault.ready();
const port = daemon.port ?? 0;
const socket = connect(port, '127.0.0.1').setNoDelay();
const rules = [
  { description: '', priority: 1, container: '/', transform: 'mask', permissions: ['token:create', 'token:read'] },
];
const body = JSON.stringify({ name: 'path', type: 'private', rules });
const made = await ask(socket, port, application.key ?? '', { method: 'POST', path: '/applications', body });
const { key }: { readonly key: string } = JSON.parse(made);
const { id }: { readonly id: string } = JSON.parse(await ask(socket, port, key, CREATE));
const get = { method: 'GET', path: `/tokens/${id}` };
for (const [name, parts] of Object.entries({ create: CREATE, 'get-masked': get })) {
  for (let round = 0; round < ROUNDS; round += 1) await ask(socket, port, key, parts);
  const counted = await pathOf(() => ask(socket, port, key, parts));
  process.stdout.write(`${JSON.stringify({ case: name, ...counted })}\n`);
}
socket.destroy();
await daemon.stop();
await vault.close();
rmSync(folder, { recursive: true });
