import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import type { Command } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';
import { CERT, CERT_KEY, NEXT_CERT } from './http-certificate.ts';

const posix = process.platform !== 'win32';

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
});

it('vault init closes the vault and its key file to other users', async () => {
  expect(await place.vault('init')).toMatchObject({ exitCode: 0 });
  expect(readFileSync(place.inside('vault.db.key'))).toHaveLength(32);
  const modes = ['vault.db', 'vault.db.key'].map((name) => statSync(place.inside(name)).mode & 0o777);
  if (posix) expect(modes).toEqual([0o600, 0o600]);
});

it('vault --version prints details as JSON', async () => {
  const { stdout } = await place.vault('--version --output json');
  expect(JSON.parse(stdout)).toEqual({
    version: (await place.vault('--version')).stdout.slice('vault '.length).trim(),
    format: expect.any(Number),
    sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
    libsodium: expect.stringMatching(/^1\.\d+\.\d+$/),
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
  });
});

it('vault serve --dev prints working keys and a working curl line, and removes its files at the end', async () => {
  const child = place.start('serve --dev --port 0', { TMPDIR: place.cwd, TEMP: place.cwd, TMP: place.cwd });
  let stdout = '';
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    stdout += text;
    if (/^curl .*\n$/m.test(stdout)) break;
  }
  const rows = Object.fromEntries(stdout.split('\n').map((line) => line.split(/ +/, 2)));
  const env = { VAULT_URL: rows.url, VAULT_API_KEY: rows.management_key };
  expect(await place.vault('tenant get -q', env)).toMatchObject({ stdout: `${rows.tenant_id}\n` });
  if (posix) {
    const answer = execFileSync('sh', ['-c', /^curl .*$/m.exec(stdout)?.[0] ?? 'false'], { encoding: 'utf8' });
    expect(JSON.parse(answer)).toMatchObject({ type: 'card', data: { number: 'XXXXXXXXXXXX4242' } });
  }
  const isOwn = (name: string) => name !== 'config';
  expect(readdirSync(place.cwd).filter(isOwn)).toHaveLength(1);
  child.kill('SIGTERM');
  expect(await child.ended).toMatchObject({ exitCode: posix ? 0 : -1 });
  if (posix) expect(readdirSync(place.cwd).filter(isOwn)).toEqual([]);
});

it('vault env prints variables that other commands read', async () => {
  const { ready, url } = await place.serve(['--dev', '--header-prefix', 'ABC']);
  const { stdout } = await place.vault('env --ready-file ready.json --as management');
  const read = [...stdout.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, name = '', value = '']) => [name, value]);
  expect(await place.vault('apps whoami --field type', Object.fromEntries(read))).toMatchObject({
    stdout: 'management\n',
  });
  writeFileSync(place.inside('github'), 'A=1\n');
  await place.vault('env --ready-file ready.json --github', { GITHUB_ENV: place.inside('github') });
  expect(readFileSync(place.inside('github'), 'utf8')).toBe(
    `A=1\nVAULT_URL=${url}\nVAULT_HEADER_PREFIX=ABC\nVAULT_API_KEY=${ready['private_key']}\nVAULT_PID=${ready['pid']}\n`,
  );
  const waited = { exitCode: 0, stdout: '', stderr: '' };
  expect(await place.vault('wait --ready-file ready.json --timeout 0s')).toEqual(waited);
});

it('a profile selects the file or the daemon', async () => {
  const key = await place.init('v');
  writeFileSync(place.inside('api.key'), key, { mode: 0o600 });
  const { url } = await place.serve(['--file', 'v.db', '--header-prefix', 'ABC']);
  await place.vault('profile add here --file v.db --key-file v.db.key --api-key -', {}, `${key}\n`);
  await place.vault(`profile add there --url ${url} --header-prefix ABC --api-key-file api.key`);
  expect((await place.vault('profile list')).stdout).not.toContain(key);
  const opened = { stdout: 'default\n', stderr: '' };
  for (const name of ['here', 'there']) {
    expect(await place.vault(`tenant get --profile ${name} --field name`)).toMatchObject(opened);
    expect(await place.vault('tenant get --field name', { VAULT_PROFILE: name })).toMatchObject(opened);
  }
  expect(await place.vault('wait --profile there --timeout 5s')).toMatchObject({ exitCode: 0 });
  expect(await place.vault('profile use here --field default')).toMatchObject({ stdout: 'true\n' });
  for (const line of ['tenant get --field name', 'tenant list --field data[0].name']) {
    expect(await place.vault(line)).toMatchObject(opened);
  }
  expect(await place.vault(`tenant get --profile ''`)).toMatchObject({ exitCode: 2 });
});

it('every kind of command trusts the certificates of --ca-file, and no others', async () => {
  const key = await place.init('v');
  writeFileSync(place.inside('cert.pem'), CERT);
  writeFileSync(place.inside('next.pem'), NEXT_CERT);
  writeFileSync(place.inside('key.pem'), CERT_KEY, { mode: 0o600 });
  const { url } = await place.serve(['--file', 'v.db', '--tls-cert', 'cert.pem', '--tls-key', 'key.pem']);
  const env = { VAULT_URL: url, VAULT_API_KEY: key };
  await place.vault('profile add p --ca-file cert.pem', env);
  const said = async (command: Command, more: Readonly<Record<string, string>>) => {
    const { exitCode, stderr } = await place.vault(command, more);
    return [exitCode, stderr.replace(/hint: .*\n$/, '')];
  };
  // The message of a daemon without --dev shows that the daemon was reached.
  const noDev = [2, 'vault: only a daemon started with --dev answers this command\n'];
  const unknown = [8, expect.stringMatching(/CERT|VERIFY/)];
  const foreign = { ...env, NODE_EXTRA_CA_CERTS: place.inside('cert.pem'), NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  for (const [line, expected] of [
    ['wait', [0, '']],
    ['wait --ready-file ready.json', [0, '']],
    ['tenant get', [0, '']],
    ['apps list --all', [0, '']],
    ['dev requests', noDev],
    ['dev snapshot list', noDev],
  ] as const) {
    const ran = await Promise.all([
      said(`${line} --ca-file cert.pem`, env),
      said(line, { ...env, VAULT_CA_FILE: 'cert.pem' }),
      said(`${line} --ca-file next.pem`, foreign),
    ]);
    expect([line, ran]).toEqual([line, [expected, expected, unknown]]);
  }
  expect(await said('tenant get --profile p', {})).toEqual([0, '']);
  expect(await said('tenant get --profile p --ca-file next.pem', {})).toEqual(unknown);
  const wrong = 'vault: --ca-file: key.pem does not begin with a certificate in PEM\n';
  expect(await said('tenant get --ca-file key.pem', env)).toEqual([2, wrong]);
  const missing = 'vault: --ca-file: none.pem cannot be read (ENOENT)\n';
  expect(await said('wait --ca-file none.pem', env)).toEqual([2, missing]);
});

it('the usage report has the plan of a flag or a variable', async () => {
  const key = await place.init('v');
  const { url } = await place.serve(['--file', 'v.db', '--included-active-tokens', '77']);
  const plan = async (env: Readonly<Record<string, string>>) => {
    const words = 'usage --field token_report.included_monthly_active_tokens';
    return (await place.vault(words, { VAULT_API_KEY: key, ...env })).stdout;
  };
  expect(await plan({ VAULT_URL: url })).toBe('77\n');
  expect(await plan({ VAULT_FILE: 'v.db', VAULT_INCLUDED_ACTIVE_TOKENS: '78' })).toBe('78\n');
  expect(await plan({ VAULT_FILE: 'v.db' })).toBe('1000\n');
});

/** The flags that change one call. A forgotten variable must not set them. */
const ONE_SHOT =
  /^ *(?:-h, --help|-y, --yes|--(?:plaintext|masked|dry-run|curl|all|follow|abort|keep-source|denied|verify|tenants|github|revealed)) /;

describe('the help of the commands without an endpoint', () => {
  it.each(LOCAL_COMMANDS.map(({ words }) => [words.join(' '), words] as const))(
    'vault %s names the variable of every flag that more than one call may need',
    async (_name, words) => {
      const { stdout } = await place.vault([...words, '--help']);
      // The members of a request have no variables.
      const flags = stdout
        .replace(/^Members:\n[\s\S]*?(?=^Options:)/m, '')
        .split(/\n(?= {2}-)/)
        .slice(1)
        .map((text) => text.replace(/\n\n[\s\S]*$/, '').replace(/\s+/g, ' '));
      expect(flags.length).toBeGreaterThan(0);
      for (const flag of flags) expect(/\benv: [A-Z_]+\b/.test(flag), flag).toBe(!ONE_SHOT.test(flag));
    },
  );
});
