import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../../scripts/build-output.ts';
import { createClient, type VaultClient, VaultError } from '../../src/client/create-client.ts';
import { openVault } from '../../src/library/open-vault.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { makePlace } from './cli-fixture.ts';

const execute = promisify(execFile);

/**
 * A project with the package as npm installs it: dependencies are in the folder beside it, and dist/ lacks the command.
 */
const place = makePlace();
beforeAll(() => {
  const installed = place.inside('node_modules/token-vault');
  for (const name of ['package.json', 'dist/library', 'dist/client', 'dist/shared']) {
    cpSync(path.join(ROOT, name), path.join(installed, name), { recursive: true });
  }
  for (const name of Object.keys(manifest.dependencies)) {
    symlinkSync(path.join(ROOT, 'node_modules', name), place.inside(`node_modules/${name}`), 'junction');
  }
});

async function run(name: string, text: string): Promise<string> {
  mkdirSync(path.dirname(place.inside(name)), { recursive: true });
  writeFileSync(place.inside(name), text);
  const options = { cwd: path.dirname(place.inside(name)), env: cleanEnvironment() };
  const { stdout, stderr } = await execute(process.execPath, [place.inside(name)], options);
  expect(stderr).toBe('');
  return stdout;
}

describe('openVault of the installed package', () => {
  it('runs the recipe of the documentation, twice', async () => {
    const page = readFileSync(path.join(ROOT, 'docs/library.md'), 'utf8');
    const recipe = /```js\n(.*?)```/s.exec(page)?.[1] ?? '';
    for (let round = 0; round < 2; round += 1) {
      expect(await run('recipe/program.mjs', recipe)).toBe('4242424242424242\ntoken_not_found 404\n');
    }
    // Commands can open the file that the library created.
    const env = { VAULT_FILE: 'recipe/vault.db', VAULT_API_KEY_FILE: 'recipe/backend.key' };
    const listed = await place.vault('tokens list --field pagination.total_items', env);
    expect(listed).toMatchObject({ exitCode: 0, stdout: '2\n' });
  });

  it('can be required', async () => {
    const text = `const { openVault } = require('token-vault');
      const { VaultError } = require('token-vault/client');
      void (async () => {
        const vault = await openVault({ file: 'v.db', createIfMissing: true });
        const client = vault.client({ apiKey: vault.created.management_key });
        console.log((await client.getTenant()).name);
        await client.listTokens().catch((error) => console.log(error instanceof VaultError, error.code));
        await vault.close();
      })();`;
    expect(await run('required/a.cjs', text)).toBe('default\ntrue permission_missing\n');
  });

  it('creates the vault once when several processes open it at the same time', { timeout: 60_000 }, async () => {
    const text = (number: number) => `import { openVault } from 'token-vault';
      const vault = await openVault({ file: 'v.db', createIfMissing: true });
      console.log(vault.created === undefined ? 'opened' : 'made');
      await vault.close(); // ${number}`;
    const ran = await Promise.all([0, 1, 2, 3].map((number) => run(`at-once/${number}.mjs`, text(number))));
    expect(ran.sort()).toEqual(['made\n', 'opened\n', 'opened\n', 'opened\n']);
  });

  it.each(['process.exit(0)', ''])('a program may end without close: %j', { timeout: 60_000 }, async (end) => {
    const name = end === '' ? 'unclosed' : 'exits';
    const text = `import { openVault } from 'token-vault';
      const vault = await openVault({ file: 'v.db', createIfMissing: true });
      const management = vault.client({ apiKey: vault.created.management_key });
      const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions: ['token:create', 'token:read'] };
      const { key } = await management.createApplication({ body: { name: 'p', type: 'private', rules: [rule] } });
      const client = vault.client({ apiKey: key });
      await client.createToken({ body: { id: 'one', type: 'token', data: 1 } });
      console.log(vault.created.management_key);
      await client.getToken({ params: { id: 'one' } });
      ${end}`;
    const env = { VAULT_FILE: `${name}/v.db`, VAULT_API_KEY: (await run(`${name}/a.mjs`, text)).trim() };
    const listed = await place.vault('audit list --entity one --all --field operation', env);
    expect(listed).toMatchObject({ exitCode: 0, stdout: 'getToken\ncreateToken\n' });
  });
});

/** Resolves to the result of a call, or to all members of its error. */
async function outcomeOf(result: Promise<unknown>) {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { message, code, status, title, detail, errors, retryAfter, traceId } = error;
    return { message, code, status, title, detail, errors, retryAfter, traceId };
  }
}

const CALLS: Readonly<Record<string, (client: VaultClient) => Promise<unknown>>> = {
  'a token': (client) => client.getToken({ params: { id: 'Ünï @1' } }),
  'a token, masked': (client) => client.getToken({ params: { id: 'card' }, query: { transform: 'mask' } }),
  'a list by several filters': (client) =>
    client.listTokens({ query: { type: ['card', 'token'], metadata: { 'a.b': 'ü&=' }, size: 1 } }),
  'a page by cursor': (client) => client.listTokensByCursor({ query: { container: ['/pci/', '/general/'] } }),
  'a search': (client) => client.searchTokens({ body: { query: 'type:card OR metadata.none:x' } }),
  'a template': (client) => client.detokenize({ body: { card: '{{ card | json: "$.number" }}', n: [1, null] } }),
  'a create that is sent again': (client) =>
    client.createToken({ body: { type: 'token', data: 'x' }, idempotencyKey: 'same' }),
  'a missing token': (client) => client.getToken({ params: { id: 'none' }, traceId: 'trace-1' }),
  'a wrong body': (client) =>
    client.createToken({ body: { type: 'card', data: { number: '1' }, metadata: { a: 1 } as never }, traceId: 't' }),
  'a taken id': (client) => client.createToken({ body: { id: 'card', type: 'token', data: 1 }, traceId: 't' }),
  'a wrong query': (client) => client.listTokens({ query: { size: 1000, sise: 1 } as never, traceId: 't' }),
  'a missing permission': (client) => client.getTenant({ traceId: 't' }),
};

describe('beside a daemon on the same file', () => {
  it('gives the results and errors of the HTTP client, and sees its changes at once', async () => {
    const management = await place.init('served');
    const permissions = 'token:create,token:read,token:search,token:use,token:delete';
    const apiKey = await place.application('served', management, permissions);
    const daemon = await place.serve(['--file', 'served.db']);
    await using vault = await openVault({ file: place.inside('served.db') });
    const remote = createClient({ url: daemon.url, apiKey });
    const local = vault.client({ apiKey });
    await remote.createToken({ body: { id: 'Ünï @1', type: 'token', data: [1, '4'], metadata: { 'a.b': 'Ü&=' } } });
    await local.createToken({ body: { id: 'card', type: 'card', data: { number: '4242424242424242' } } });
    await remote.createToken({ body: { id: 'gone', type: 'token', data: 1 } });
    await local.deleteToken({ params: { id: 'gone' } });
    for (const [name, call] of Object.entries(CALLS)) {
      expect([name, await outcomeOf(call(local))]).toEqual([name, await outcomeOf(call(remote))]);
    }
    const apps = vault.client({ apiKey: management });
    const { data } = await apps.listApplications({ query: { type: ['private'] } });
    expect(data).toHaveLength(1);
    for (const { id } of data) expect(await apps.deleteApplication({ params: { id } })).toBeUndefined();
    await expect(remote.listTokens()).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});
