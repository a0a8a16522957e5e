import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { startVault, type TestVault } from '../../src/testing/start-vault.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const execute = promisify(execFile);

/** A project that has this package installed. */
const project = temporaryFolder();
beforeAll(() => {
  mkdirSync(path.join(project, 'node_modules/@types'), { recursive: true });
  const seed = 'tokens: { pin: { type: token, data: "1234" }, cards: { generate: card, count: 2 } }';
  writeFileSync(path.join(project, 'seed.yaml'), seed);
  symlinkSync(ROOT, path.join(project, 'node_modules/token-vault'), 'junction');
  symlinkSync(path.join(ROOT, 'node_modules/@types/node'), path.join(project, 'node_modules/@types/node'), 'junction');
  symlinkSync(
    path.join(ROOT, 'node_modules/undici-types'),
    path.join(project, 'node_modules/undici-types'),
    'junction',
  );
});

async function run(name: string, text: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  writeFileSync(path.join(project, name), text);
  const { stdout } = await execute(process.execPath, [name], { cwd: project, env: cleanEnvironment(env) });
  return stdout;
}

const BODY = `
  const vault = await startVault({ mode: process.env.MODE, seedFile: 'seed.yaml', seed: 7 });
  console.log(vault.ids.tokens.cards.join(), (await vault.client.getToken({ params: { id: 'pin' } })).data);
  const { id } = await vault.client.createToken({ body: { type: 'card', data: { number: '4242424242424242' } } });
  const other = createClient({ url: vault.url, apiKey: vault.keys.private_key });
  console.log((await other.getToken({ params: { id } })).data.number);
  for (const client of [other, vault.client]) {
    await client.getToken({ params: { id: 'none' } }).catch((error) => console.log(error instanceof VaultError, error.code));
  }
  await vault.stop();
  await vault.stop();
`;
const SAID = 'cards-1,cards-2 1234\n4242424242424242\ntrue token_not_found\ntrue token_not_found\n';

const ON_NODE = { lib: ['es2022'], types: ['node'] };
/** Without the types of Node, only the package itself can declare `Symbol.asyncDispose`. */
const WITHOUT_NODE = { lib: ['es2023', 'dom'], types: [] };

describe('token-vault, token-vault/testing and token-vault/client', () => {
  it.each([
    ['an ES module', 'in-process', 'a.mjs'],
    ['an ES module', 'child', 'b.mjs'],
    ['CommonJS', 'in-process', 'c.cjs'],
    ['CommonJS', 'child', 'd.cjs'],
  ])('work from %s, %s, and leave no files', async (_what, mode, name) => {
    const isModule = name.endsWith('.mjs');
    const lines = isModule
      ? [
          "import { startVault } from 'token-vault/testing';",
          "import { createClient, VaultError } from 'token-vault/client';",
          BODY,
        ]
      : [
          "const { startVault } = require('token-vault/testing');",
          "const { createClient, VaultError } = require('token-vault/client');",
          `void (async () => {${BODY}})();`,
        ];
    const temporary = path.join(project, `tmp-${name}`);
    mkdirSync(temporary);
    expect(await run(name, lines.join('\n'), { MODE: mode, TMPDIR: temporary, TEMP: temporary })).toBe(SAID);
    // On Windows a child is killed and cannot clean up.
    if (process.platform !== 'win32' || mode === 'in-process') expect(readdirSync(temporary)).toEqual([]);
  });

  it('a program that forgets to stop its vaults can still exit', { timeout: 30_000 }, async () => {
    const text = `import { startVault } from 'token-vault/testing';
      await Promise.all([startVault(), startVault({ mode: 'child' })]);
      process.exit(0);`;
    const temporary = path.join(project, 'tmp-forgot');
    mkdirSync(temporary);
    await run('forgot.mjs', text, { TMPDIR: temporary, TEMP: temporary });
    const left = () => readdirSync(temporary).filter((name) => name.startsWith('token-vault-'));
    for (let tries = 0; tries < 100 && left().length > 0; tries++) await new Promise((next) => setTimeout(next, 50));
    if (process.platform !== 'win32') expect(left()).toEqual([]);
  });

  it.each([
    ['an ES module', 'types.mts', ON_NODE],
    ['CommonJS', 'types.cts', ON_NODE],
    ['an ES module without the types of Node', 'plain.mts', WITHOUT_NODE],
    ['CommonJS without the types of Node', 'plain.cts', WITHOUT_NODE],
  ])('have types for %s, and reject wrong names', (_what, name, libraries) => {
    const good = `import { openVault, type OpenedVault, type OpenVaultOptions } from 'token-vault';
      import { startVault, type TestVault } from 'token-vault/testing';
      import { createClient, VaultError, type AccessRule, type Token, type VaultClient } from 'token-vault/client';
      export async function use(rules: readonly AccessRule[]): Promise<string> {
        const vault: TestVault = await startVault({ mode: 'child', seedFile: ['a.yaml'], seed: 7 });
        const client: VaultClient = createClient({ url: vault.url, apiKey: vault.keys.private_key, fetch });
        const { data } = await client.listTokens({ query: { type: ['card'] } });
        const options: OpenVaultOptions = { file: 'v.db', passphrase: 'p', createIfMissing: true };
        const opened: OpenedVault = await openVault(options);
        const own: VaultClient = opened.client({ apiKey: opened.created?.management_key ?? '', timeout: 1 });
        await own.getToken({ params: { id: 'x' } });
        await opened.close();
        const first: Token | undefined = data[0];
        const { key } = await client.createApplication({ body: { name: 'a', type: 'private', rules } });
        if (key.length > 0 || first === undefined) return key;
        return vault.ids.apps['web']?.key ?? data[0]?.id ?? new VaultError(1, {}, { traceId: '' }).code;
      }`;
    expect(complaints(name, good, libraries)).toEqual([]);
    const bad = [
      `vault.keys.private_kye`,
      `startVault({ seedfile: 'a.yaml' })`,
      `client.createTokn`,
      `client.listTokens({ query: { type: ['crad'] } })`,
      `client.getToken({ params: { id: 'x' }, body: {} })`,
      `openVault({ file: 'v.db', keyfile: 'k' })`,
    ];
    const all = bad.map((wrong) => `void ${wrong};\n`).join('');
    const found = complaints(name, good.replace('const { data }', `\n${all}const { data }`), libraries);
    // Each error is on its own line.
    expect(found.map((line) => /\((\d+),/.exec(line)?.[1])).toEqual(['8', '9', '10', '11', '12', '13']);
  });
});

/** Returns the errors of the compiler for a file of the project, including those in the package's declarations. */
function complaints(name: string, text: string, libraries: object): readonly string[] {
  writeFileSync(path.join(project, name), text);
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', ...libraries };
  writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [name] }));
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const compiler = path.join(path.dirname(manifest), 'bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', '.'], { cwd: project, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}

/** Returns the imports that a browser bundle of this text leaves external. */
async function foreignImports(contents: string): Promise<readonly string[]> {
  const options: BuildOptions = { bundle: true, write: false, metafile: true, format: 'esm', platform: 'neutral' };
  const { metafile } = await build({
    ...options,
    packages: 'external',
    stdin: { contents, resolveDir: ROOT, sourcefile: 'page.js' },
  });
  return Object.values(metafile?.inputs ?? {}).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map((found) => found.path),
  );
}

describe('the typed client in a browser', () => {
  const file = (name: string) => JSON.stringify(path.join(ROOT, 'dist/client', name));

  it('imports nothing of Node and no package', async () => {
    expect(await foreignImports(`export * from ${file('create-client.js')};`)).toEqual([]);
  });

  it('control: the Node client imports node:buffer', async () => {
    expect(await foreignImports(`export * from ${file('remote.js')};`)).toContain('node:buffer');
  });

  it('runs with only the globals of a browser', async () => {
    const vault = await startVault();
    onTestFinished(() => vault.stop());
    const text = `
      import vm from 'node:vm';
      import { readFileSync } from 'node:fs';
      const { AbortController, DOMException, fetch, setTimeout, clearTimeout, URL } = globalThis;
      const page = vm.createContext({ AbortController, DOMException, fetch, setTimeout, clearTimeout, URL, module: { exports: {} } });
      vm.runInContext(readFileSync(${file('create-client.cjs')}, 'utf8'), page);
      page.options = ${JSON.stringify({ url: vault.url, apiKey: vault.keys.private_key })};
      const found = await vm.runInContext('module.exports.createClient(options).listTokens()', page);
      console.log(found.pagination.total_items);`;
    expect(await run('browser.mjs', text)).toBe('0\n');
  });
});

describe.each(['in-process', 'child'] as const)('startVault, %s', (mode) => {
  let vault: TestVault;
  beforeAll(async () => {
    vault = await startVault({ mode, headerPrefix: 'ABC' });
  });
  afterAll(() => vault.stop());

  it('resets to its first state', async () => {
    const { client, management } = vault;
    await client.createToken({ body: { id: 'one', type: 'token', data: 1 } });
    await client.deleteToken({ params: { id: 'one' } });
    const body = { name: 'more', type: 'public', permissions: ['token:create'] } as const;
    const { key = '' } = await management.createApplication({ body });
    await management.updateTenant({ body: { name: 'other', settings: { deduplicate_tokens: 'true' } } });
    await vault.clock.advance(60_000);
    await vault.faults.set({ request: 'GET /tokens', status: 500 });
    await vault.reset();
    await client.createToken({ body: { id: 'one', type: 'token', data: 1 } });
    expect((await client.listTokens()).pagination.total_items).toBe(1);
    expect((await management.listApplications()).data.map(({ name }) => name).sort()).toEqual([
      'management',
      'private',
    ]);
    expect(await management.getTenant()).toMatchObject({ name: 'dev', settings: {} });
    expect(Math.abs((await vault.clock.now()).getTime() - Date.now())).toBeLessThan(30_000);
    const gone = await fetch(`${vault.url}/tokens`, { method: 'POST', headers: { 'abc-api-key': key } });
    expect(gone.status).toBe(401);
  });

  it('answers requests during a reset', async () => {
    const all = await Promise.allSettled([
      vault.reset(),
      ...Array.from({ length: 20 }, () => vault.client.listTokens()),
      vault.reset(),
    ]);
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 'fulfilled'));
  });

  it('reports an invalid fault', async () => {
    await expect(vault.faults.set({ request: 'GET /tokenz', status: 500 })).rejects.toThrow('a path of the API');
  });

  it('does not answer after it is stopped', async () => {
    const other = await startVault({ mode });
    await other[Symbol.asyncDispose]();
    await expect(other.client.getTenant()).rejects.toThrow('ECONNREFUSED');
  });
});
