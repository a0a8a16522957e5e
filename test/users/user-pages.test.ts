import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../../scripts/build-output.ts';
import { isThere, VAULT_BIN } from '../process/cli-fixture.ts';
import { startServe } from '../scripts/run-script.ts';
import { blocksOf, machine, npmPlace, POSIX, pageOf, shell } from './page-fixture.ts';

/** Serves a new vault, with its management key in a file, and programs on the PATH. Returns a runner of scripts. */
async function served(flags: readonly string[] = []) {
  const { place } = await machine();
  const made = await place.vault('tenant issue-key --key-out management.key -q', { VAULT_FILE: 'vault.db' });
  expect(made).toMatchObject({ exitCode: 0 });
  const daemon = await startServe(place.cwd, ['--file', 'vault.db', '--no-log', ...flags]);
  onTestFinished(() => daemon.stop().then(() => undefined));
  const port = new URL(String(daemon.ready['url'])).port;
  const run = async (script: string) => {
    const ended = await shell(place, script.replaceAll('8484', port), { VAULT_FILE: 'vault.db' });
    return { ...ended, script };
  };
  return { place, port, run };
}

describe.runIf(POSIX)('docs/first-application.md', { timeout: 60_000 }, () => {
  it('has commands and a program that work, and a first 403', async () => {
    const { place, port, run } = await served();
    const [apps = '', http = '', remove = ''] = blocksOf('first-application.md', undefined, 'sh');
    const [python = ''] = blocksOf('first-application.md', undefined, 'python');
    const [create, explain] = apps.split(/(?=^vault apps explain)/m);
    expect(await run(create ?? '')).toMatchObject({ exitCode: 0 });
    const stored = await run(http);
    const [shown = ''] = blocksOf('first-application.md', undefined, 'json');
    expect(stored.exitCode).toBe(0);
    for (const part of shown.trim().split('…')) expect(stored.stdout).toContain(part);
    expect(stored.stdout).not.toContain('4242424242424242');
    expect((await run(explain ?? '')).stdout).toContain('mask');
    expect((await run(remove)).stdout).toContain(':permission_missing');
    const whole = http.replaceAll('checkout', 'payout').split('\n');
    expect((await run([whole[0], whole.at(-2)].join('\n'))).stdout).toContain('"4242424242424242"');
    if (!isThere('python3')) return;
    writeFileSync(place.inside('program.py'), python.replace('8484', port));
    expect(await run('python3 program.py')).toMatchObject({ exitCode: 0, stdout: 'XXXXXXXXXXXX4242\n' });
  });
});

describe.runIf(POSIX)('README.md', { timeout: 60_000 }, () => {
  it('makes a vault that stays, without a key on a command line', async () => {
    const place = npmPlace();
    const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8').split('## A vault that stays')[1] ?? '';
    const block = /```sh\n(.*?)^vault serve/ms.exec(readme)?.[1] ?? '';
    expect(block).not.toContain('key_');
    const vault = `vault() { '${process.execPath}' '${VAULT_BIN}' "$@"; }\n`;
    const ended = await shell(place, vault + block, place.npm);
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('4242424242424242') });
    expect(ended.stdout + ended.stderr).not.toContain(readFileSync(place.inside('backend.key'), 'utf8').trim());
  });
});

describe.runIf(POSIX)('docs/permissions.md', { timeout: 60_000 }, () => {
  it('has three commands that explain a 403', async () => {
    const { run } = await served();
    const [apps = '', http = '', remove = ''] = blocksOf('first-application.md', undefined, 'sh');
    await run(apps.split(/(?=^vault apps explain)/m)[0] + http + remove);
    const [block = ''] = blocksOf('permissions.md', undefined, 'sh');
    const said: string[] = [];
    for (const line of block.trim().split('\n')) said.push((await run(line)).stdout);
    expect(said).toEqual([
      expect.stringContaining('token:create'),
      expect.stringContaining('mask'),
      expect.stringContaining('deleteToken'),
    ]);
  });

  it('names each code of a 403', async () => {
    const { PROBLEMS } = await import('../../src/contract/problems.ts');
    const codes = Object.entries(PROBLEMS).flatMap(([code, { status }]) => (status === 403 ? [code] : []));
    const named = [...pageOf('permissions.md').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code);
    expect(named.toSorted()).toEqual(codes.toSorted());
  });
});

/** The lines of the table of docs/clients.md, by client. */
const CLIENTS = [...pageOf('clients.md').matchAll(/^\| ([^|]+) \| `(.*)` \|$/gm)].map(([, client = '', line = '']) => ({
  client,
  line,
  program: line.split(' ')[0] ?? '',
}));

describe.runIf(POSIX)('docs/clients.md', { timeout: 60_000 }, () => {
  it('has lines for clients', () => expect(CLIENTS.length).toBeGreaterThan(5));

  it.each(CLIENTS.map((row) => [row.client, row] as const))('%s', async (_, { line, program }) => {
    if (program === 'wget' || program === 'python3') {
      if (!isThere(program)) return;
    }
    const { place, run } = await served(['--header-prefix', 'XYZ']);
    const rule = "--rule 'container=/ transform=mask permissions=token:read'";
    const [header = ''] = blocksOf('clients.md', undefined, 'sh').slice(1);
    await run(
      `vault apps create --name backend --type private ${rule} --api-key-file management.key --key-out backend.key -q`,
    );
    await run(header);
    mkdirSync(place.inside('node_modules'));
    symlinkSync(ROOT, place.inside('node_modules/token-vault'));
    for (const name of ['.bin', 'openapi-typescript'])
      symlinkSync(path.join(ROOT, 'node_modules', name), place.inside(`node_modules/${name}`));
    const ended = await run(line);
    expect(ended).toMatchObject({ exitCode: 0 });
    if (program === 'npx') expect(readFileSync(place.inside('vault.ts'), 'utf8')).toContain('"/tokens"');
    else expect(ended.stdout).toContain('"total_items":30');
  });
});

it.runIf(POSIX)('the first commands of docs/clients.md and docs/messages.md work', { timeout: 60_000 }, async () => {
  const { run } = await served(['--header-prefix', 'XYZ']);
  const rule = "--rule 'container=/ transform=mask permissions=token:read'";
  await run(
    `vault apps create --name backend --type private ${rule} --api-key-file management.key --key-out backend.key`,
  );
  const list = blocksOf('clients.md', undefined, 'sh')[0]?.split('\n')[2] ?? '';
  expect(await run(list)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('row-29') });
  const asked = await run(blocksOf('messages.md', undefined, 'sh')[0] ?? '');
  expect(asked).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/"ok":true.*"ready".*Usage: vault serve/s),
  });
});

describe('docs/messages.md', () => {
  const sources = (folder: string): string =>
    readdirSync(folder, { withFileTypes: true })
      .map((entry) => {
        const file = path.join(folder, entry.name);
        if (entry.isDirectory()) return sources(file);
        return entry.name.endsWith('.ts') ? readFileSync(file, 'utf8') : '';
      })
      .join('\n');
  const source = sources(path.join(ROOT, 'src')).replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…');
  const messages = [...pageOf('messages.md').matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']) => message);
  const isInSource = (message: string) => source.includes(message);

  it('has twelve messages', () => expect(messages).toHaveLength(12));
  it.each(messages)('%s', (message) => expect(isInSource(message)).toBe(true));
  it('control: another message is not in the source', () => expect(isInSource('… belongs to … users')).toBe(false));
});

const TARBALL = `token-vault-${manifest.version}.tgz`;

/** Needs npm's registry, or the packages in npm's cache. */
describe.runIf(POSIX)('docs/install.md', { timeout: 240_000 }, () => {
  it('packs, installs, upgrades and removes the package', async () => {
    const place = npmPlace();
    const { npm } = place;
    const blocks = blocksOf('install.md', undefined, 'sh');
    const find = (part: string) => blocks.find((block) => block.includes(part)) ?? '';
    const pack =
      find('npm pack')
        .split('\n')
        .find((line) => line.startsWith('npm pack')) ?? '';
    const packed = await shell(
      place,
      `cd '${ROOT}' && ${pack.replace('#', '--ignore-scripts --pack-destination "$OLDPWD" #')}`,
      npm,
    );
    expect(packed).toMatchObject({ exitCode: 0 });
    expect(readdirSync(place.cwd)).toContain(TARBALL);
    const [install = '', version = ''] = find('vault --version').split('\n');
    expect(await shell(place, install, npm)).toMatchObject({ exitCode: 0 });
    expect(await shell(place, version, npm)).toMatchObject({ exitCode: 0, stdout: `vault ${manifest.version}\n` });
    const upgrade = await shell(
      place,
      `vault init --file vault.db --key-out management.key -q\n${find('before-upgrade.db')}`,
      npm,
    );
    expect(upgrade).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"format":1') });
    const units = await shell(place, 'ls "$(npm root --global)/token-vault/deploy"', npm);
    expect(units.stdout).toContain('vault-backup.timer');
    const stop = 'systemctl() { echo "$*"; }\n';
    const removed = await shell(place, stop + find('npm uninstall'), npm);
    expect(removed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('disable --now vault.socket') });
    expect(existsSync(place.inside('global/bin/vault'))).toBe(false);
    expect(existsSync(place.inside('vault.db'))).toBe(true);

    writeFileSync(place.inside('package.json'), '{"scripts":{"test":"token-vault usage >used"}}');
    const project = find('npx token-vault exec');
    const tested = project.replace('npm test', "sh -c 'VAULT_API_KEY=$VAULT_MANAGEMENT_KEY npm test'");
    expect(await shell(place, tested, npm)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(place.inside('used'), 'utf8')).toContain('token');
  });

  it('puts a newer Node.js beside an older one', async () => {
    const place = npmPlace();
    const [install = ''] = blocksOf('install.md', 'systemd', 'sh');
    expect(await shell(place, install.replace('/usr/local', place.inside('local')), place.npm)).toMatchObject({
      exitCode: 0,
    });
    const { stdout } = await shell(place, `${place.inside('local/bin/node')} --version`);
    expect(stdout).toMatch(/^v24\./);
  });

  it('builds the image of the Containerfile', () => {
    const containers = blocksOf('install.md', 'A container', 'sh')[0] ?? '';
    const [, file = ''] = /--file (\S+)/.exec(containers) ?? [];
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    const [, volume = ''] = /--volume vault:(\S+)/.exec(containers) ?? [];
    expect(text).toContain(`VOLUME ${volume}\n`);
    expect(text).toContain('EXPOSE 8484\n');
  });
});

it('no page runs a stranger’s package', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`)];
  const texts = pages.filter((page) => page.endsWith('.md')).map((page) => readFileSync(path.join(ROOT, page), 'utf8'));
  const commands = texts.flatMap((text) => [...text.matchAll(/```[a-z]*\n(.*?)```/gs)].map(([, block = '']) => block));
  expect(commands.filter((block) => /npx vault\b/.test(block))).toEqual([]);
});
