import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_COMMANDS } from '../../src/cli/commands/local-commands.ts';
import { startServe } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';
import { CERT, CERT_KEY, NEXT_CERT } from './http-certificate.ts';

const posix = process.platform !== 'win32';

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
});

describe('vault --version', () => {
  it('prints one line, and details as JSON', async () => {
    const line = await place.vault('--version');
    expect(line).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^vault \d+\.\d+\.\d+\n$/) });
    const { stdout, stderr, exitCode } = await place.vault('--version --output json');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(JSON.parse(stdout)).toEqual({
      version: line.stdout.slice('vault '.length).trim(),
      format: expect.any(Number),
      sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
      libsodium: expect.stringMatching(/^1\.\d+\.\d+$/),
      node: process.versions.node,
      platform: process.platform,
      arch: process.arch,
    });
    expect(await place.vault('--version --field node')).toMatchObject({ stdout: `${process.versions.node}\n` });
  });

  it.each([[['--version', '--outptu', 'json']], [['--version', 'tokens']], [['--version', '-o', 'xml']]])(
    'rejects %j',
    async (words) => {
      expect(await place.vault(words)).toMatchObject({ exitCode: 2, stdout: '' });
    },
  );
});

describe('vault env', () => {
  it('prints the ids and keys of a seed, and masks the keys in the log of a job', async () => {
    writeFileSync(
      place.inside('seed.yaml'),
      'apps: { web-shop: { type: public, permissions: [token:create] } }\ntokens: { visa: { type: token, data: 1 } }\n',
    );
    const daemon = await startServe(place.cwd, ['--dev', '--seed-file', 'seed.yaml']);
    const { stdout } = await place.vault('env --ready-file ready.json');
    const [, key = ''] = /^export APP_WEB_SHOP_KEY='(key_\w+)'$/m.exec(stdout) ?? [];
    expect(stdout).toMatch(/^export APP_WEB_SHOP_ID='[0-9a-f-]{36}'\n/m);
    expect(stdout).toContain("export TOKEN_VISA='visa'\n");
    const env = { VAULT_URL: String(daemon.ready['url']), VAULT_API_KEY: key };
    expect(await place.vault('tokens create --type token --text x -q', env)).toMatchObject({ exitCode: 0 });
    const forJob = await place.vault('env --ready-file ready.json --github', { GITHUB_ENV: place.inside('github') });
    expect(forJob.stdout).toBe(`::add-mask::${daemon.ready['private_key']}\n::add-mask::${key}\n`);
    await daemon.stop();
  });

  it('prints variables for either application that other commands read', async () => {
    const daemon = await startServe(place.cwd, ['--dev', '--header-prefix', 'ABC']);
    const read = async (...words: readonly string[]) => {
      const { stdout, exitCode } = await place.vault(['env', '--ready-file', 'ready.json', ...words]);
      expect(exitCode).toBe(0);
      return Object.fromEntries(
        [...stdout.matchAll(/^export (\w+)='(.*)'$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']),
      );
    };
    const { url, pid, management_key, private_key } = daemon.ready;
    const common = { VAULT_URL: url, VAULT_HEADER_PREFIX: 'ABC', VAULT_PID: String(pid) };
    expect(await read()).toEqual({ ...common, VAULT_API_KEY: private_key });
    expect(await read('--as', 'management')).toEqual({ ...common, VAULT_API_KEY: management_key });
    expect(await place.vault('apps whoami --field type', await read('--as', 'management'))).toMatchObject({
      stdout: 'management\n',
    });
    expect(await place.vault('tokens create --type token --text x --id one -q', await read())).toMatchObject({
      stdout: 'one\n',
    });
    const fromVariable = await place.vault('env --shell fish', {
      VAULT_READY_FILE: 'ready.json',
      VAULT_AS: 'management',
    });
    expect(fromVariable.stdout).toBe(
      `set -gx VAULT_URL '${url}'\nset -gx VAULT_HEADER_PREFIX 'ABC'\nset -gx VAULT_API_KEY '${management_key}'\nset -gx VAULT_PID '${pid}'\nset -e VAULT_FILE\n`,
    );
    writeFileSync(place.inside('github'), 'A=1\n');
    const forJob = await place.vault('env --ready-file ready.json --github', { GITHUB_ENV: place.inside('github') });
    expect(forJob).toMatchObject({ exitCode: 0, stdout: `::add-mask::${private_key}\n` });
    expect(readFileSync(place.inside('github'), 'utf8')).toBe(
      `A=1\nVAULT_URL=${url}\nVAULT_HEADER_PREFIX=ABC\nVAULT_API_KEY=${private_key}\nVAULT_PID=${pid}\n`,
    );
    expect(await place.vault('env --ready-file ready.json --github')).toMatchObject({ exitCode: 2, stdout: '' });
    expect(await place.vault('wait --ready-file ready.json --timeout 0s')).toMatchObject({ exitCode: 0 });
    expect(await place.vault('wait --ready-file ready.json --timeout 5s')).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: '',
    });
    await daemon.stop();
  });

  it('prints no key for a vault that init created', async () => {
    await place.init('v');
    const daemon = await startServe(place.cwd, ['--file', 'v.db', '--log', 'false']);
    const { stdout } = await place.vault('env --ready-file ready.json');
    expect(stdout).toBe(
      `export VAULT_URL='${daemon.ready['url']}'\nexport VAULT_PID='${daemon.ready['pid']}'\nunset VAULT_FILE\n`,
    );
    expect(await place.vault('env --ready-file ready.json --as private')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('holds no private key'),
    });
    await daemon.stop();
  });

  it('unsets the variables that would override its own or conflict with them', async () => {
    await place.init('v');
    await place.vault('profile add own --file v.db --key-file v.db.key --api-key-file api.key');
    const before = { VAULT_API_KEY: 'key_of_another', VAULT_PASSPHRASE_FILE: 'another', VAULT_KEY_FILE: 'another' };
    const ofProfile = await place.vault('env --profile own', before);
    expect(ofProfile.stdout).toMatch(/^export VAULT_KEY_FILE='.*v\.db\.key'$/m);
    expect(ofProfile.stdout.split('\n').filter((line) => line.startsWith('unset '))).toEqual([
      'unset VAULT_URL',
      'unset VAULT_PASSPHRASE_FILE',
      'unset VAULT_API_KEY',
    ]);
    writeFileSync(place.inside('r'), JSON.stringify({ url: 'http://127.0.0.1:1', pid: 1, version: '1' }), {
      mode: 0o600,
    });
    const ofDaemon = await place.vault('env --ready-file r', {
      VAULT_HEADER_PREFIX: 'ABC',
      VAULT_CA_FILE: 'c.pem',
      ...before,
    });
    expect(ofDaemon.stdout).toMatch(/unset VAULT_FILE\nunset VAULT_HEADER_PREFIX\nunset VAULT_CA_FILE\n$/);
  });

  it('rejects a ready file that could inject shell code', async () => {
    const ready = { url: 'http://127.0.0.1:1', pid: 1, version: '1' };
    for (const bad of [{ ...ready, url: 'http://x\nrm' }, { ...ready, pid: '1; rm' }, { url: 'u' }, [ready], 1]) {
      writeFileSync(place.inside('r'), JSON.stringify(bad), { mode: 0o600 });
      expect(await place.vault('env --ready-file r')).toMatchObject({ exitCode: 2, stdout: '' });
    }
    writeFileSync(place.inside('r'), JSON.stringify({ ...ready, url: "http://x/'$(id)" }), { mode: 0o600 });
    expect((await place.vault('env --ready-file r')).stdout).toContain(`export VAULT_URL='http://x/'\\''$(id)'\n`);
  });
});

describe('vault profile', () => {
  it('selects the file or the daemon from any folder', async () => {
    const key = await place.init('v');
    const kept = await place.vault(
      'profile add here --file v.db --key-file v.db.key --api-key - -o json',
      {},
      `${key}\n`,
    );
    expect(kept).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(kept.stdout)).toEqual({
      name: 'here',
      default: false,
      file: place.inside('v.db'),
      key_file: place.inside('v.db.key'),
      keeps_api_key: true,
    });
    const daemon = await startServe(place.cwd, ['--file', 'v.db', '--header-prefix', 'ABC', '--log', 'false']);
    writeFileSync(place.inside('api.key'), key, { mode: 0o600 });
    const words = [
      'profile',
      'add',
      'there',
      '--url',
      String(daemon.ready['url']),
      '--header-prefix',
      'ABC',
      '--api-key-file',
      'api.key',
    ];
    expect(await place.vault(words)).toMatchObject({ exitCode: 0 });
    if (posix) expect(statSync(place.inside('config/profiles/here.json')).mode & 0o777).toBe(0o600);
    for (const name of ['here', 'there']) {
      expect(await place.vault(`tenant get --profile ${name} --field name`)).toMatchObject({ stdout: 'default\n' });
      expect(await place.vault('tenant get --field name', { VAULT_PROFILE: name })).toMatchObject({
        stdout: 'default\n',
      });
    }
    expect(await place.vault('wait --profile there --timeout 5s')).toMatchObject({ exitCode: 0 });
    await daemon.stop();

    expect(await place.vault('tenant get')).toMatchObject({ exitCode: 2 });
    expect(await place.vault('profile use here --field default')).toMatchObject({
      exitCode: 0,
      stdout: 'true\n',
      stderr: '',
    });
    expect(await place.vault('tenant get --field name')).toMatchObject({ stdout: 'default\n' });
    expect(await place.vault('tenant list --field data[0].name')).toMatchObject({ stdout: 'default\n' });
    expect(await place.vault('tenant get --url http://127.0.0.1:1')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('an API key is required'),
    });
    expect(await place.vault(`tenant get --profile ''`)).toMatchObject({ exitCode: 2 });
    const list = await place.vault('profile list');
    expect(list.stdout).not.toContain(key);
    expect(JSON.parse(list.stdout).data).toMatchObject([
      { name: 'here', default: true },
      { name: 'there', default: false, keeps_api_key: false },
    ]);
    expect(await place.vault('profile remove here --yes')).toMatchObject({ exitCode: 0 });
    expect(await place.vault('tenant get')).toMatchObject({ exitCode: 2 });
  });
});

describe('vault serve', () => {
  it('serves HTTPS, and wait reports an unknown certificate', async () => {
    await place.init('v');
    writeFileSync(place.inside('cert.pem'), CERT);
    writeFileSync(place.inside('key.pem'), CERT_KEY, { mode: 0o600 });
    const daemon = await startServe(place.cwd, [
      '--file',
      'v.db',
      '--tls-cert',
      'cert.pem',
      '--tls-key',
      'key.pem',
      '--no-log',
    ]);
    const url = String(daemon.ready['url']);
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    // An unknown certificate must fail at once: the test times out before 10 minutes.
    const wait = ['wait', '--url', url, '--timeout', '10m'];
    const known = await place.vault(wait, { NODE_EXTRA_CA_CERTS: place.inside('cert.pem') });
    const unknown = await place.vault(wait);
    expect(await daemon.stop()).toBe(0);
    expect(known).toMatchObject({ exitCode: 0, stderr: '' });
    expect(unknown).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') });
  });

  it('every kind of command trusts the certificates of --ca-file, and no others', async () => {
    const key = await place.init('v');
    writeFileSync(place.inside('cert.pem'), CERT);
    writeFileSync(place.inside('next.pem'), NEXT_CERT);
    writeFileSync(place.inside('key.pem'), CERT_KEY, { mode: 0o600 });
    const tls = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];
    const daemon = await startServe(place.cwd, ['--file', 'v.db', '--no-log', ...tls]);
    onTestFinished(async () => void (await daemon.stop()));
    const url = String(daemon.ready['url']);
    const env = { VAULT_URL: url, VAULT_API_KEY: key };
    const saved = await place.vault('profile add p --ca-file cert.pem -o json', env);
    expect(JSON.parse(saved.stdout)).toMatchObject({ url, ca_file: place.inside('cert.pem') });
    // The message of a daemon without --dev shows that the daemon was reached.
    const noDev = 'vault: only a daemon started with --dev answers this command\n';
    const said = async (words: readonly string[], more: Readonly<Record<string, string>>) => {
      const { exitCode, stderr } = await place.vault(words, more);
      return [exitCode, stderr.replace(/hint: .*\n$/, '')];
    };
    const rows = [
      [['wait'], [0, '']],
      [
        ['wait', '--ready-file', 'ready.json'],
        [0, ''],
      ],
      [
        ['tenant', 'get'],
        [0, ''],
      ],
      [
        ['apps', 'list', '--all'],
        [0, ''],
      ],
      [
        ['dev', 'requests'],
        [2, noDev],
      ],
      [
        ['dev', 'snapshot', 'list'],
        [2, noDev],
      ],
    ] as const;
    const foreign = { ...env, NODE_EXTRA_CA_CERTS: place.inside('cert.pem') };
    for (const [words, expected] of rows) {
      const ran = await Promise.all([
        said([...words, '--ca-file', 'cert.pem'], env),
        said(words, { ...env, VAULT_CA_FILE: 'cert.pem' }),
        said([...words, '--ca-file', 'next.pem'], foreign),
      ]);
      expect([words, ran]).toEqual([words, [expected, expected, [8, expect.stringMatching(/CERT|VERIFY/)]]]);
    }
    expect(await said(['tenant', 'get', '--profile', 'p'], {})).toEqual([0, '']);
    expect(await said(['tenant', 'get', '--profile', 'p', '--ca-file', 'next.pem'], {})).toEqual([
      8,
      expect.stringMatching(/CERT|VERIFY/),
    ]);
    expect(await said(['tenant', 'get', '--ca-file', 'key.pem'], env)).toEqual([
      2,
      'vault: --ca-file: key.pem does not begin with a certificate in PEM\n',
    ]);
    expect(await said(['wait', '--ca-file', 'none.pem'], env)).toEqual([
      2,
      'vault: --ca-file: none.pem cannot be read (ENOENT)\n',
    ]);
  });

  it('reads the plan of the usage report from a flag or a variable, like the file target', async () => {
    const key = await place.init('v');
    const usage = ['usage', '--field', 'token_report.included_monthly_active_tokens'];
    const daemon = await startServe(place.cwd, ['--file', 'v.db', '--no-log', '--included-active-tokens', '77']);
    const remote = await place.vault(usage, { VAULT_URL: String(daemon.ready['url']), VAULT_API_KEY: key });
    await daemon.stop();
    expect(remote.stdout).toBe('77\n');
    const direct = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
    expect(await place.vault(usage, { ...direct, VAULT_INCLUDED_ACTIVE_TOKENS: '77' })).toMatchObject({
      stdout: '77\n',
    });
    expect(await place.vault(usage, direct)).toMatchObject({ stdout: '1000\n' });
    expect(await place.vault(usage, { ...direct, VAULT_INCLUDED_ACTIVE_TOKENS: 'x' })).toMatchObject({ exitCode: 2 });
    const dev = await startServe(place.cwd, ['--dev', '--included-active-tokens', '5']);
    const devUsage = await place.vault(usage, {
      VAULT_URL: String(dev.ready['url']),
      VAULT_API_KEY: String(dev.ready['management_key']),
    });
    await dev.stop();
    expect(devUsage.stdout).toBe('5\n');
  });
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

  it('vault init --key-out does not print the key', async () => {
    const made = await place.vault('init --file k.db --key-out k.key');
    const key = readFileSync(place.inside('k.key'), 'utf8').trim();
    expect(made).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^vault: k.db.key is in the vault's folder/),
    });
    expect(made.stdout).not.toContain(key);
    expect(await place.vault('tenant get --file k.db --api-key-file k.key -q')).toMatchObject({ exitCode: 0 });
  });
});
