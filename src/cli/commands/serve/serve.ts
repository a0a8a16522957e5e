import type { Client } from '../../../contract/call.ts';
import { DEFAULT_AUDIT_LEVEL } from '../../../core/audit/audit-level.ts';
import { Fault } from '../../../core/fault.ts';
import { setTimeout } from '../../../core/timers.ts';
import type { Metrics } from '../../../http/metrics.ts';
import { isEveryAddress, isLoopback } from '../../../http/own-hosts.ts';
import { checkFileSystem } from '../../../paths/file-system.ts';
import type { Vault, VaultSettings } from '../../../vault/vault.ts';
import { readCredential } from '../../credential/read-credential.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { report } from '../../exit/report-failure.ts';
import { FLAGS, type Line, readFlags } from '../../flags/global-flags.ts';
import { chooseOwnLocation } from '../../flags/target.ts';
import { VERSION } from '../../help/version.ts';
import { chooseFormat } from '../../output/result-view.ts';
import { writeOut } from '../../output/standard-output.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import type { DevVault } from '../dev/dev-vault.ts';
import type { SeededDevVault } from '../dev/seeded-dev-vault.ts';
import { subcommand } from '../subcommand.ts';
import type { ConsoleLink } from '../ui/console-link.ts';
import { createRetention } from './audit-retention.ts';
import { type Certificate, keepCertificate } from './certificate.ts';
import { endWithInput } from './end-with-input.ts';
import { openLogFile } from './log-file.ts';
import { notify } from './notify.ts';
import { checkReadyFile, type Ready, writeReadyFile } from './ready-file.ts';
import {
  DEFAULT_HEADER_PREFIX,
  SERVE_FLAGS,
  type ServeFlags,
  type ServeOptions,
  serveOptions,
} from './serve-options.ts';
import { createStopper, stopSignals } from './stopper.ts';
import { startFileCheck, startSweeper } from './sweeper.ts';
import { onWorkSignals, workSignals } from './work-signals.ts';

/** The maximum time from the end of the daemon to the end of the process, in milliseconds. */
const LAST_MS = 1_000;

/**
 * The flag `--output`. Its default is text even in a pipe: people read the text in the log of the program that started
 * the daemon, and programs read the ready file.
 */
const DEV_OUTPUT = {
  ...FLAGS.output.output,
  help: 'with --dev: table (text, the default); json, csv or ndjson print the data of the ready file',
};

const DEV_SESSION_MS = 8 * 60 * 60 * 1000;

/** `vault serve`: serves the API of a vault until a signal stops it. */
export const defineServe = subcommand<ServeFlags>({
  flags: { ...SERVE_FLAGS, ...FLAGS.file, ...FLAGS.anchor, ...FLAGS.profile, output: DEV_OUTPUT },
  examples: [
    'vault serve --dev',
    'vault serve --dev --port 0 --ready-file ready.json \\\n    --seed-file seed.yaml --seed 7',
    'vault serve --file vault.db --socket ./vault.sock',
    "vault serve --store 'postgres://daemon@db.test/vault' --key-file vault.key",
    'vault serve --file vault.db --host 0.0.0.0 \\\n    --tls-cert cert.pem --tls-key key.pem',
  ],
  async run(typed) {
    endWithInput(typed.env);
    const options = serveOptions(typed);
    // Ignore the profile with --dev, because a --dev vault has its own keys.
    const line = options.dev ? typed : await withProfile(typed);
    if (options.readyFile !== undefined) checkReadyFile(options.readyFile);
    if (options.dev) refuseForDev(typed, options);
    else refuseSeed(typed);
    const exitCode = await serve(line, options).catch((error: unknown) => {
      throw error instanceof Fault && error.code === 'file_missing'
        ? new Fault(error.code, error.message, { hint: NO_VAULT })
        : error;
    });
    // A log that waits for a stalled reader would keep the process alive.
    setTimeout(() => process.exit(), LAST_MS).unref();
    return exitCode;
  },
});

type ServeLine = Line<ServeFlags>;

const NO_VAULT = 'create a vault with `vault init`, or serve a temporary one with `vault serve --dev`';

/** Addresses that only this machine can reach. */
const OWN_ADDRESSES: readonly string[] = ['127.0.0.1', 'localhost', '::1'];
const NOT_FOR_DEV = {
  ...FLAGS.credential,
  ...FLAGS.anchor,
  store: FLAGS.store.store,
  auditKeep: SERVE_FLAGS.auditKeep,
  auditArchive: SERVE_FLAGS.auditArchive,
};

/**
 * Throws the fault `usage` for flags that conflict with --dev, which creates its own key. Also rejects predictable keys
 * on an address that other machines can reach.
 */
function refuseForDev({ flags }: ServeLine, { host, socket, passed, seed }: ServeOptions): void {
  const seeded = seed !== undefined;
  if (seeded && passed !== undefined) {
    throw new Fault('usage', '--seed makes predictable API keys, which a systemd socket could expose');
  }
  if (seeded && socket === undefined && !OWN_ADDRESSES.includes(host)) {
    throw new Fault('usage', `--seed makes predictable API keys, which --host ${host} would expose`);
  }
  const [, given] = Object.entries(NOT_FOR_DEV).find(([name]) => name in flags) ?? [];
  if (given !== undefined) throw new Fault('usage', `only one of --dev and ${given.flag.split(' ')[0]} can be given`);
}

/** Rejects typed --seed flags without --dev. Ignores their variables, which may be meant for other commands. */
function refuseSeed({ flags: { seedFile, seed } }: ServeLine): void {
  if (seedFile === undefined && seed === undefined) return;
  throw new Fault('usage', `${seedFile === undefined ? '--seed' : '--seed-file'} needs --dev`, {
    hint: 'seed other vaults with `vault seed apply`',
  });
}

async function serve(line: ServeLine, options: ServeOptions): Promise<ExitCode> {
  const format = chooseFormat(readFlags(FLAGS.output, line).output, true);
  const signals = workSignals();
  const startWork = onWorkSignals(signals);
  const untilStopped = createStopper(stopSignals(signals));
  const logFile = options.logFile === undefined ? undefined : openLogFile(options.logFile, report);
  if (logFile !== undefined) (await import('../../../http/request-log.ts')).redirectLog(logFile.write);
  const reportError = logFile && (await import('../../../vault/report-error.ts')).errorReporter(logFile.write);
  const meter = options.metrics && (await import('../../../http/metrics.ts')).createMetrics(VERSION);
  for (const fact of options.ignored) report(fact);
  const isIgnored = options.dev && line.env[FLAGS.store.store.env];
  if (isIgnored) report('VAULT_STORE is ignored: --dev makes a vault of its own');
  const file = options.dev ? line.flags.file : chooseOwnLocation(line).file;
  const notice = file === undefined ? undefined : await checkFileSystem(file, options.allowNetworkFilesystem);
  if (notice !== undefined) report(notice);
  const { vault, dev } = await openServed(line, options, { meter, reportError });
  const keys = dev?.keys;
  meter?.watchVault(() => vault.figures());
  try {
    // Load everything before the ready file exists: a program that waits for the ready file may replace the product's
    // files.
    const devText = keys === undefined ? undefined : (await import('../dev/dev-banner.ts')).devText;
    const certificate = options.tls && keepCertificate(options.tls, report, meter?.certificateEnds);
    const { daemon, link } = await listen(vault, options, dev, line.flags.file, { certificate, meter });
    const stops = [() => certificate?.stop()];
    const stop = async () => {
      for (const end of stops) end();
      await daemon.stop();
    };
    try {
      const { url } = daemon;
      const listener = await showMetrics(options, meter);
      if (listener !== undefined) stops.push(listener.stop);
      const { headerPrefix } = options;
      const ready: Ready = {
        ...{ url, pid: process.pid, version: VERSION },
        // Readers need the prefix if it is not the default.
        ...(headerPrefix !== DEFAULT_HEADER_PREFIX && { header_prefix: headerPrefix }),
        ...(listener !== undefined && { metrics: listener.url }),
        ...keys,
        ...(dev?.seeded && { seed: dev.ids }),
        ...(link !== undefined && { ui: link(url) }),
      };
      const text = keys && (await devText?.(format, ready, keys, headerPrefix));
      if (options.readyFile !== undefined) await writeReadyFile(options.readyFile, ready);
      const { retention } = options;
      const prune = retention && createRetention(retention, vault, report);
      const reported = notice === undefined ? [] : [notice];
      stops.push(startSweeper({ sweep: vault.sweep, notices: vault.notices, reported, report, prune }));
      if (dev === undefined) stops.push(startFileCheck(() => vault.check(), report));
      startWork({ certificate: certificate && (() => certificate.reload(daemon)), log: logFile?.reopen });
      announce(url, options);
      if (text !== undefined) await writeOut(text);
    } catch (error) {
      // Otherwise the server would keep the process alive and accept requests for a closed vault.
      await stop();
      throw error;
    }
    return await untilStopped(() => {
      // `announce` has reported a failure to notify.
      notify('STOPPING=1', process.env);
      return stop();
    });
  } finally {
    await vault.close();
  }
}

/** Reports that the daemon accepts requests, also to the service manager. A URL with 127.0.0.1 hides 0.0.0.0 and ::. */
function announce(url: string, { host, socket, passed }: ServeOptions): void {
  const isEverywhere = socket === undefined && passed === undefined && isEveryAddress(host);
  report(`listening on ${url}${isEverywhere ? ` (--host ${host})` : ''}`);
  notify('READY=1', process.env, (code) =>
    report(`systemd-notify failed (${code}): the service manager was not notified`),
  );
}

/** Listens for metrics requests. Resolves to undefined without `--metrics`. */
async function showMetrics({ metrics, hostNames }: ServeOptions, meter: Metrics | undefined) {
  if (metrics === undefined || meter === undefined) return undefined;
  const { listenForMetrics } = await import('../../../http/metrics-listener.ts');
  const listener = await listenForMetrics(metrics, hostNames, () => meter.text());
  report(`metrics on ${listener.url}`);
  return listener;
}

/** Opens the vault. `seeded` is true with seed files. */
async function openServed(
  line: ServeLine,
  options: ServeOptions,
  watchers: Pick<VaultSettings, 'meter' | 'reportError'>,
): Promise<{ readonly vault: Vault; readonly dev?: SeededDevVault & { readonly seeded: boolean } }> {
  const settings = { ...options.settings, ...watchers };
  if (options.dev) {
    const { openSeededDevVault } = await import('../dev/seeded-dev-vault.ts');
    const { seedFiles, seed } = options;
    const dev = await openSeededDevVault({ file: line.flags.file, settings, seedFiles, seed, env: line.env });
    return { vault: dev.vault, dev: { ...dev, seeded: seedFiles.length > 0 } };
  }
  const location = chooseOwnLocation(line);
  if (location.store !== undefined && options.retention !== undefined) {
    throw new Fault('usage', '--audit-keep works only with a file', {
      hint: 'run `vault audit prune` as the owner of the database',
    });
  }
  const { anchor } = readFlags(FLAGS.anchor, line);
  const credential = await readCredential(location, line);
  if (location.store === undefined) {
    const { openFileVault } = await import('../../../vault/vault.ts');
    return { vault: await openFileVault({ file: location.file, credential, anchor, ...settings }) };
  }
  const { openStoreVault } = await import('../../../vault/store-vault.ts');
  const wait = {
    ms: options.storeWaitMs,
    onWait: ({ message, details }: Fault) => report(`${message}; waiting`, undefined, details),
  };
  return { vault: await openStoreVault({ store: location.store, credential, anchor, wait, ...settings }) };
}

async function listen(
  vault: Vault,
  options: ServeOptions,
  dev: DevVault | undefined,
  file: string | undefined,
  { certificate, meter }: { readonly certificate: Certificate | undefined; readonly meter: Metrics | undefined },
) {
  const [{ startDaemon }, { directClient }] = await Promise.all([
    import('../../../http/daemon.ts'),
    import('../../../client/direct.ts'),
  ]);
  const tls = await certificate?.read();
  const ready = () => vault.ready();
  await ready();
  const client = directClient(vault);
  const link = dev && (await devConsole(client, options, dev, file));
  const daemon = await startDaemon(client, {
    ...options,
    console: link?.console,
    ready,
    notices: () => vault.notices(),
    version: VERSION,
    meter,
    tls,
    dev,
  });
  return { daemon, link: link?.link };
}

/**
 * Resolves to the console of a --dev vault, or to undefined on a socket, which browsers cannot reach. Without --ui,
 * also resolves to undefined on an address that other machines can reach.
 */
async function devConsole(
  client: Client,
  options: ServeOptions,
  { keys, holder }: DevVault,
  file: string | undefined,
): Promise<ConsoleLink | undefined> {
  const { host, socket, passed, tls, headerPrefix, settings } = options;
  if (socket !== undefined || passed !== undefined || !(options.ui ?? isLoopback(host))) return undefined;
  const [{ createConsoleLink }, { devCommands }] = await Promise.all([
    import('../ui/console-link.ts'),
    import('../ui/console-commands.ts'),
  ]);
  return createConsoleLink({
    client,
    apiKeys: [
      { apiKey: keys.management_key, source: 'management_key', variable: 'VAULT_MANAGEMENT_KEY' },
      { apiKey: keys.private_key, source: 'private_key' },
    ],
    about: {
      header_prefix: headerPrefix,
      audit_level: settings.auditLevel ?? DEFAULT_AUDIT_LEVEL,
      commands: devCommands(file),
    },
    holder,
    secure: tls !== undefined,
    idleMs: DEV_SESSION_MS,
    lifeMs: DEV_SESSION_MS,
    life: 'always',
  });
}
