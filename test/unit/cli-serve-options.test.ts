import { Command } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SERVE_FLAGS, serveOptions } from '../../src/cli/commands/serve/serve-options.ts';
import { startSweeper } from '../../src/cli/commands/serve/sweeper.ts';
import { addFlags } from '../../src/cli/flags/global-flags.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import { fakeableTimers } from '../fakeable-timers.ts';

fakeableTimers();

describe('serveOptions', () => {
  it('have the defaults of the contract', () => {
    expect(serveOptions({ flags: {}, env: {} })).toEqual({
      ignored: [],
      dev: false,
      seedFiles: [],
      host: '127.0.0.1',
      port: 8484,
      socket: undefined,
      storeWaitMs: 30_000,
      headerPrefix: 'SVC',
      readyFile: undefined,
      metrics: undefined,
      log: 'json',
      allowInsecureHost: false,
      allowNetworkFilesystem: false,
      corsOrigins: undefined,
      hostNames: [],
      tls: undefined,
      limits: DEFAULT_LIMITS,
      retention: undefined,
      settings: {
        writerThread: true,
        limits: DEFAULT_LIMITS,
        includedActiveTokens: undefined,
        auditLevel: undefined,
        auditStrict: false,
      },
    });
  });

  it('prefer flags to variables', () => {
    const env = { VAULT_PORT: '1', VAULT_HOST: 'h', VAULT_MAX_BODY: '64KiB', VAULT_MAX_EXPIRING: '7', VAULT_DEV: '1' };
    expect(serveOptions({ flags: { port: '0', log: true }, env })).toMatchObject({
      port: 0,
      host: 'h',
      dev: true,
      log: 'text',
    });
    expect(serveOptions({ flags: {}, env })).toMatchObject({
      port: 1,
      log: 'text',
      limits: { ...DEFAULT_LIMITS, body: 65_536, expiring: 7 },
    });
  });

  it.each([
    [{ port: '65536' }, '--port'],
    [{ port: 'x' }, '--port'],
    [{ log: 'maybe' }, '--log (VAULT_LOG) must be text, json, true or false'],
    [{ log: '' }, '--log (VAULT_LOG)'],
    [{ port: 'tcp://10.0.0.1:8484' }, '--port'],
    [{ hostName: ['*.com'] }, "--host-name: '*.com' would accept the names of strangers"],
    [{ metrics: '9484' }, '--metrics (VAULT_METRICS) must be an address such as 127.0.0.1:9484'],
    [{ metrics: 'localhost' }, '--metrics (VAULT_METRICS) must be an address such as 127.0.0.1:9484'],
    [{ metrics: 'h:65536' }, '--metrics'],
    [{ metrics: '::1:9484' }, '--metrics'],
    [{ maxBody: '0' }, '--max-body'],
    [{ maxConnections: '0' }, '--max-connections (VAULT_MAX_CONNECTIONS) must be a number from 1'],
    [{ rateLimit: '100' }, '--rate-limit must be a rate such as 100/s'],
    [{ rateLimit: '0/s' }, '--rate-limit'],
    [{ rateLimit: '5/d' }, '--rate-limit'],
    [{ maxResponse: '1GB' }, '--max-response'],
    [{ maxResponse: '8191KiB' }, '--max-response must be at least 8MiB'],
    [{ maxDepth: '0' }, '--max-depth'],
    [{ maxDepth: '501' }, '--max-depth'],
    [{ maxDepth: '1KiB' }, '--max-depth'],
    [{ maxExpiring: '0' }, '--max-expiring (VAULT_MAX_EXPIRING) must be a number from 1'],
    [{ tlsCert: 'c' }, '--tls-key'],
    [{ tlsKey: 'k' }, '--tls-cert'],
    [{ includedActiveTokens: '-1' }, '--included-active-tokens'],
    [{ includedActiveTokens: '1.5' }, '--included-active-tokens'],
    [{ audit: 'none' }, '--audit'],
    [{ socket: 's', port: '1' }, 'only one of --socket and --port'],
    [{ socket: 's', host: 'h' }, 'only one of --socket and --host'],
    [{ log: false, logFile: 'l' }, '--log-file needs the log'],
  ])('reject %j', (flags, flag) => {
    expect(() => serveOptions({ flags, env: {} })).toThrow(flag);
  });

  it.each([
    [{ metrics: true }, '', { host: '127.0.0.1', port: 9484 }],
    [{}, '1', { host: '127.0.0.1', port: 9484 }],
    [{}, '[::1]:1', { host: '::1', port: 1 }],
    [{ metrics: 'vault.test:0' }, 'a:1', { host: 'vault.test', port: 0 }],
    [{ metrics: 'false' }, '1', undefined],
    [{}, '', undefined],
  ] as const)('show metrics for %j and VAULT_METRICS=%s', (flags, word, address) => {
    expect(serveOptions({ flags, env: { VAULT_METRICS: word } }).metrics).toEqual(address);
  });

  it('take the socket of systemd, but not beside an address', () => {
    const env = { LISTEN_PID: String(process.pid), LISTEN_FDS: '1' };
    expect(serveOptions({ flags: {}, env }).passed).toBe(3);
    expect(serveOptions({ flags: {}, env: { ...env, LISTEN_PID: '1' } }).passed).toBeUndefined();
    expect(() => serveOptions({ flags: {}, env: { ...env, LISTEN_FDS: '2' } })).toThrow('systemd passed 2 sockets');
    for (const name of ['port', 'host', 'socket']) {
      expect(() => serveOptions({ flags: { [name]: '1' }, env })).toThrow(`--${name} has no effect on the socket`);
    }
  });

  it('select a socket or a port, whichever was typed', () => {
    const socketOf = (flags: object, env: Readonly<Record<string, string>>) => serveOptions({ flags, env }).socket;
    expect(socketOf({ socket: 's' }, { VAULT_PORT: '1', VAULT_HOST: 'h' })).toBe('s');
    expect(socketOf({ port: '0' }, { VAULT_SOCKET: 's' })).toBeUndefined();
    expect(socketOf({}, { VAULT_SOCKET: 's' })).toBe('s');
    expect(() => socketOf({}, { VAULT_SOCKET: 's', VAULT_PORT: '1' })).toThrow('VAULT_SOCKET and VAULT_PORT');
  });
});

describe('serveOptions for a daemon that other machines reach', () => {
  it('take TLS, host names and limits from flags or variables', () => {
    const env = {
      VAULT_TLS_CERT: 'c',
      VAULT_TLS_KEY: 'k',
      VAULT_HOST_NAME: 'a.test,b.test',
      VAULT_INCLUDED_ACTIVE_TOKENS: '7',
      VAULT_LOG: 'false',
      VAULT_AUDIT: 'all',
      VAULT_AUDIT_STRICT: '1',
    };
    const wanted = {
      tls: { cert: 'c', key: 'k' },
      hostNames: ['a.test', 'b.test'],
      settings: { includedActiveTokens: 7, auditLevel: 'all', auditStrict: true },
      log: false,
    };
    expect(serveOptions({ flags: {}, env })).toMatchObject(wanted);
    expect(
      serveOptions({ flags: { tlsCert: 'd', hostName: ['x'], includedActiveTokens: '0', audit: 'mutations' }, env }),
    ).toMatchObject({
      ...wanted,
      tls: { cert: 'd', key: 'k' },
      hostNames: ['x'],
      settings: { includedActiveTokens: 0, auditLevel: 'mutations' },
    });
  });

  it.each([
    ['1', true],
    ['TRUE', true],
    ['yes', true],
    ['On', true],
    ['', false],
    ['0', false],
    ['False', false],
    ['no', false],
    ['off', false],
  ])('accept %j in a boolean variable', (word, isOn) => {
    const env = { VAULT_AUDIT_STRICT: word, VAULT_INSECURE_HTTP: word, VAULT_LOG: word };
    const { settings, allowInsecureHost, log } = serveOptions({ flags: {}, env });
    expect([settings.auditStrict, allowInsecureHost, log]).toEqual([isOn, isOn, isOn || word === '' ? 'json' : false]);
  });

  it.each([
    ['VAULT_PORT', 'tcp://10.96.0.10:8484', 'Service named vault'],
    ['VAULT_PORT', 'udp://[fd00::1]:8484', 'Service named vault'],
    ['VAULT_RATE_LIMIT', '100', 'another program'],
    ['VAULT_RATE_LIMIT', '0.5:20', 'another program'],
    ['VAULT_RATE_LIMIT', '100:20', 'another program'],
  ])('ignore the %s of another program: %s', (name, value, reason) => {
    const { ignored, port, rateLimit } = serveOptions({ flags: {}, env: { [name]: value } });
    expect([port, rateLimit]).toEqual([8484, undefined]);
    expect(ignored).toEqual([expect.stringMatching(new RegExp(`^${name} is ignored: .*${reason}`))]);
    expect(serveOptions({ flags: { socket: 's' }, env: { [name]: value } }).socket).toBe('s');
    expect(serveOptions({ flags: {}, env: { VAULT_SOCKET: 's', [name]: value } }).socket).toBe('s');
  });

  it.each([
    ['VAULT_PORT', '84x4'],
    ['VAULT_PORT', '//a'],
    ['VAULT_RATE_LIMIT', '100/d'],
    ['VAULT_RATE_LIMIT', '100:x'],
    ['VAULT_RATE_LIMIT', '-1'],
  ])('reject %s=%s', (name, value) => {
    expect(() => serveOptions({ flags: {}, env: { [name]: value } })).toThrow(/must be a (number|rate)/);
  });

  it.each([
    ...['*', '', ' ', ' a.test', 'a b', 'a.test:8484', '[::1]:8484', 'https://a.test', 'a/b', 'a..b', '*a.test'],
    ...['a.*.test', '*.*.test', '*.', '*.1.2.3.4', '1.2.3', '256.1.1.1', '-a.test', 'a\n.test', 'user@a.test'],
    ...[`${'a'.repeat(64)}.test`, `${'a.'.repeat(126)}test`],
  ])('reject --host-name %j', (name) => {
    const message = `--host-name: '${name}' is not a host name`;
    expect(() => serveOptions({ flags: { hostName: ['ok.test', name] }, env: {} })).toThrow(message);
  });

  it('accept the host names that a request can have', () => {
    const given = [
      'Vault.Test',
      'vault',
      'a_b.test.',
      '*.Example.com',
      '*.localhost',
      '10.1.2.3',
      '::1',
      '[FD00:0::1]',
      'fe80::1%eth0',
      'bücher.test',
    ];
    expect(serveOptions({ flags: { hostName: given }, env: {} }).hostNames).toEqual([
      ...['vault.test', 'vault', 'a_b.test', '*.example.com', '*.localhost', '10.1.2.3', '[::1]', '[fd00::1]'],
      '[fe80::1]',
      'xn--bcher-kva.test',
    ]);
  });

  it('take how long to keep the audit together with a folder', () => {
    const env = { VAULT_AUDIT_KEEP: '400d', VAULT_AUDIT_ARCHIVE: '.' };
    expect(serveOptions({ flags: {}, env }).retention).toEqual({ keepMs: 400 * 86_400_000, folder: '.' });
    expect(serveOptions({ flags: { auditKeep: '1d' }, env }).retention).toMatchObject({ keepMs: 86_400_000 });
    // A --dev vault ignores variables that are meant for another one.
    expect(serveOptions({ flags: { dev: true }, env }).retention).toBeUndefined();
    for (const [flags, message] of [
      [{ auditKeep: '1d' }, '--audit-keep needs --audit-archive'],
      [{ auditArchive: '.' }, '--audit-archive needs --audit-keep'],
      [{ auditKeep: '23h', auditArchive: '.' }, '--audit-keep must be at least 1d'],
      [{ auditKeep: 'long', auditArchive: '.' }, '--audit-keep must be a duration such as 400d'],
      [{ auditKeep: '1d', auditArchive: 'package.json' }, '--audit-archive: there is no folder package.json'],
      [{ auditKeep: '1d', auditArchive: '-' }, '--audit-archive: - is standard output'],
    ] as const) {
      expect(() => serveOptions({ flags, env: {} })).toThrow(message);
    }
  });

  it.each([
    ['--log', ['--log'], 'json'],
    ['--log false', ['--log', 'false'], false],
    ['--no-log', ['--no-log'], false],
    ['--log text', ['--log', 'text'], 'text'],
    ['neither', [], 'json'],
    ['neither, with --dev', ['--dev'], 'text'],
    ['--log json, with --dev', ['--dev', '--log', 'json'], 'json'],
    ['--no-log, with --dev', ['--dev', '--no-log'], false],
    ['--log, with --dev', ['--dev', '--log'], 'text'],
  ])('%s', (_what, argv, log) => {
    const command = new Command();
    addFlags(command, SERVE_FLAGS);
    command.parse(argv, { from: 'user' });
    expect(serveOptions({ flags: command.opts(), env: {} }).log).toBe(log);
  });
});

describe('the sweeper', () => {
  /** Starts a sweeper. Returns a function that lets minutes pass. */
  function started(context: Partial<Parameters<typeof startSweeper>[0]>) {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const idle = { sweep: async () => undefined, notices: async () => [], report: () => undefined };
    onTestFinished(startSweeper({ ...idle, ...context }));
    return (minutes: number) => vi.advanceTimersByTimeAsync(minutes * 60_000);
  }

  it('sweeps every turn and reports each notice when it appears and when it disappears', async () => {
    const notices = [['a'], ['a', 'b'], [], ['a']];
    let swept = 0;
    const told: string[] = [];
    const pass = started({
      sweep: async () => swept++,
      notices: async () => notices.shift() ?? [],
      report: (fact) => told.push(fact),
    });
    await pass(4);
    const ended = (notice: string) => `/readyz no longer lists: ${notice}`;
    expect({ swept, told }).toEqual({ swept: 4, told: ['a', 'b', ended('a'), ended('b'), 'a'] });
  });

  it('starts no sweep while another one runs', async () => {
    const ends: (() => void)[] = [];
    const pass = started({ sweep: () => new Promise<void>((resolve) => void ends.push(resolve)) });
    await pass(3);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await pass(1);
    expect(ends).toHaveLength(2);
  });

  it('continues after a failure, reports notices, prunes, and hides its message', async () => {
    const done: string[] = [];
    const pass = started({
      sweep: () => Promise.reject(new Error('4242')),
      notices: async () => ['notice'],
      report: (fact) => done.push(fact),
      prune: async () => void done.push('prune'),
    });
    await pass(2);
    expect(done.map((one) => (one.startsWith('expired') ? 'fact' : one))).toEqual([
      'fact',
      'notice',
      'prune',
      'fact',
      'prune',
    ]);
    expect(done.join()).not.toContain('4242');
  });
});
