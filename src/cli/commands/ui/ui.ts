import { spawn } from 'node:child_process';
import type { ConsoleKey } from '../../../console/identities.ts';
import { DEFAULT_LIMITS } from '../../../contract/limits.ts';
import { assertEngine } from '../../../core/assert-engine.ts';
import { Problem } from '../../../core/problem.ts';
import { clearTimeout, setTimeout } from '../../../core/timers.ts';
import { askYes, canPrompt, dropTypedAhead } from '../../credential/prompt.ts';
import { readCredential } from '../../credential/read-credential.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { accepted } from '../../exit/refused-reply.ts';
import { report } from '../../exit/report-failure.ts';
import { withoutForeign } from '../../flags/foreign-variables.ts';
import {
  type Environment,
  FLAGS,
  type FlagsOf,
  flag,
  type Line,
  readFlags,
  VAULT_FLAGS,
} from '../../flags/global-flags.ts';
import { parseDuration, parseWhole } from '../../flags/quantities.ts';
import { chooseTarget, daemonAt, openTarget, type Target } from '../../flags/target.ts';
import { VERSION } from '../../help/version.ts';
import { writeOut } from '../../output/standard-output.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import { createStopper, stopSignals } from '../serve/stopper.ts';
import { subcommand } from '../subcommand.ts';
import { consoleCommands, readConsoleKeys } from './console-commands.ts';
import { createConsoleLink } from './console-link.ts';
import { holderCommands } from './holder-commands.ts';

const MINUTE_MS = 60_000;
/** The time after which an idle session ends, in milliseconds. */
export const SESSION_IDLE_MS = 15 * MINUTE_MS;
/** The maximum duration of a session, in milliseconds. */
export const SESSION_LIFE_MS = 8 * 60 * MINUTE_MS;

/** How long an exit waits for open requests, in milliseconds. The request of a live view may take 20 s. */
const STOP_MS = 1_000;

const UI_FLAGS = {
  ...VAULT_FLAGS,
  apiKeyFile: flag(
    '--api-key-file <path...>',
    'a file with an API key for the page; repeatable. VAULT_API_KEY contains the key itself',
    FLAGS.key.apiKeyFile.env,
  ),
  port: flag('--port <number>', 'the port of the page (default: a free one)', 'VAULT_UI_PORT'),
  noOpen: flag('--no-open', 'print the link without opening a browser', 'VAULT_UI_OPEN'),
  idle: flag('--idle <duration>', 'end after this time without a request: 10m, 2h (default: 30m)', 'VAULT_UI_IDLE'),
};

/** The typed flags. `open` is false with `--no-open`. */
type UiFlags = Omit<FlagsOf<typeof UI_FLAGS>, 'noOpen'> & { readonly open?: boolean };

/** `vault ui`: serves the console of any vault until Ctrl-C or until the page is idle. */
export const defineUi = subcommand<UiFlags>({
  flags: UI_FLAGS,
  examples: [
    'vault ui',
    'vault ui --file vault.db --api-key-file management.key',
    'vault ui --url https://vault.test:8484 --no-open',
  ],
  async run({ flags: { apiKeyFile, ...flags }, env: variables }) {
    const { env, ignored } = withoutForeign(variables);
    for (const fact of ignored) report(fact);
    const line = await withProfile({ flags, env });
    return showConsole(line, await readConsoleKeys(apiKeyFile ?? [], line, env));
  },
});

async function showConsole(line: Line<Omit<UiFlags, 'apiKeyFile'>>, apiKeys: readonly ConsoleKey[]): Promise<ExitCode> {
  const read = readFlags(UI_FLAGS, line);
  const idleMs = parseDuration('--idle', read.idle ?? '30m');
  const port = parseWhole(read.port ?? '0', 0, 65_535, '--port (VAULT_UI_PORT) must be a number from 0 to 65535');
  // The router of the daemon compiles code when it loads, even for the page of a vault behind another daemon.
  assertEngine();
  const target = chooseTarget(line);
  const { headerPrefix = 'SVC' } = readFlags(FLAGS.daemon, line);
  const dev =
    target.url !== undefined
      ? (await import('../../../client/remote.ts')).devSender(await daemonAt(target.url, line))
      : undefined;
  const credential = target.url !== undefined ? undefined : await readCredential(target, line);
  const client = await openTarget(target, line, 'console', { credential: structuredClone(credential) });
  try {
    // An operation that needs no permission but reads the store.
    const ask = (apiKey: string | undefined) =>
      client.call({ operation: 'listPermissions', apiKey, params: {}, query: [] });
    for (const { apiKey } of apiKeys) accepted(await ask(apiKey));
    // Without a key, any reply shows that the vault works.
    if (apiKeys.length === 0) await ask(undefined);
    let stop: () => void = () => undefined;
    const untilStopped = createStopper((request) => {
      stop = request;
      stopSignals([])(request);
    });
    const opens = line.flags.open !== false && canPrompt() && hasScreen(line.env);
    // Only the daemon keeps the process alive, so that a failure to listen ends it at once.
    const idle = setTimeout(() => {
      report(`nobody used the page for ${read.idle ?? '30m'}`);
      stop();
    }, idleMs).unref();
    const ready = async () => {
      if ((await ask(apiKeys[0]?.apiKey)).status >= 500) throw new Problem('vault_busy');
    };
    const { console, link } = createConsoleLink({
      client,
      sendToDev: dev?.send,
      apiKeys,
      about: {
        url: nameOf(target),
        header_prefix: headerPrefix,
        commands: consoleCommands(target, apiKeys, line),
      },
      holder:
        target.file !== undefined && credential !== undefined
          ? holderCommands(
              target.file,
              async () => structuredClone(credential),
              (work) => ready().then(work),
            )
          : undefined,
      secure: false,
      idleMs: SESSION_IDLE_MS,
      lifeMs: SESSION_LIFE_MS,
      life: 'once',
      // Other programs may see a link that is passed to a browser, so ask for confirmation. A printed link needs none.
      confirm: opens
        ? (number) =>
            confirmBrowser(number).catch((error: unknown) => {
              stop();
              throw error;
            })
        : undefined,
      onRequest: () => idle.refresh(),
    });
    const { startDaemon } = await import('../../../http/daemon.ts');
    const daemon = await startDaemon(client, {
      host: '127.0.0.1',
      port,
      headerPrefix: 'SVC',
      limits: DEFAULT_LIMITS,
      ready,
      log: false,
      version: VERSION,
      console,
      isConsoleOnly: true,
      timeouts: { stop: STOP_MS },
    });
    await show(link(daemon.url), opens);
    return await untilStopped(async () => {
      clearTimeout(idle);
      await daemon.stop();
    });
  } finally {
    await Promise.all([client.close(), dev?.close()]);
  }
}

/** Returns the name of a vault for the page: a URL without secrets, or a path. */
function nameOf(target: Target): string {
  return target.url !== undefined ? target.url : (target.file ?? target.store.url.shown);
}

/** Asks whether the browser that shows `number` may use the console. Resolves to the answer; rejects on Ctrl-C. */
async function confirmBrowser(number: string): Promise<boolean> {
  await dropTypedAhead();
  return askYes(`A browser shows ${number}. Allow it?`);
}

async function show(link: string, opens: boolean): Promise<void> {
  if (opens) {
    if (await openBrowser(link)) {
      report('the console is open in your browser; Ctrl-C ends it');
      return;
    }
    report('cannot open a browser; open this link within two minutes:');
  }
  await writeOut(`${link}\n`);
}

/** The program that opens an address in the user's browser, with its first arguments, by platform. */
const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  // `start` uses its first quoted argument as the window title, so pass an empty one.
  win32: ['cmd', '/c', 'start', '""'],
};

/** `xdg-open` needs one of these variables to open a window. */
const SCREEN_VARIABLES = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME', 'BROWSER'];

/** Returns whether a browser can show a window. Without a screen, `xdg-open` starts a text browser or fails. */
function hasScreen(env: Environment): boolean {
  return process.platform in OPENERS || SCREEN_VARIABLES.some((name) => env[name]);
}

/** Opens the address in the user's browser. Resolves to false when that fails. */
function openBrowser(url: string): Promise<boolean> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (status) => resolve(status === 0));
    child.unref();
  });
}
