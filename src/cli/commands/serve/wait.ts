import { parseText } from '../../../client/decode-problem.ts';
import { httpTransport } from '../../../client/http-transport.ts';
import { errorCode, Fault } from '../../../core/fault.ts';
import { runningTime, sleep } from '../../../core/timers.ts';
import { FLAGS, flag, type Line, readFlags } from '../../flags/global-flags.ts';
import { parseDuration } from '../../flags/quantities.ts';
import { readTrusted } from '../../flags/target.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import { ENV_FLAGS } from '../dev/env.ts';
import { subcommand } from '../subcommand.ts';
import { readReadyFile } from './ready-file.ts';

const DEFAULT_URL = 'http://127.0.0.1:8484';
const PAUSE_MS = 100;
/** The minimum duration of an attempt, in milliseconds: even `--timeout 0ms` makes one attempt. */
const MIN_MS = 100;
const WAIT_FLAGS = {
  timeout: flag('--timeout <duration>', 'the longest wait: 500ms, 30s, 2m (default: 30s)'),
  readyFile: ENV_FLAGS.readyFile,
};

/** Resolves to the URL, with the certificates to trust as PEM text; to undefined while the ready file is missing. */
type Find = () => Promise<{ readonly url: string; readonly ca: string | undefined } | undefined>;

/** `vault wait`: returns when the daemon answers `/readyz`; fails after the timeout. */
export const defineWait = subcommand({
  flags: { ...WAIT_FLAGS, url: FLAGS.daemon.url, caFile: FLAGS.daemon.caFile, ...FLAGS.profile },
  examples: ['vault wait --ready-file ready.json', 'vault wait --url http://127.0.0.1:8484 --timeout 2m'],
  async run(line) {
    const { timeout = '30s', readyFile } = line.read(WAIT_FLAGS);
    const timeoutMs = parseDuration('--timeout', timeout);
    await waitUntilReady(...(await whereabouts(line, readyFile)), timeoutMs, timeout);
    return 0;
  },
});

/**
 * Resolves to the address of the daemon or its ready file, and to a function that finds the daemon. A typed flag overrides the environment. In the environment, a ready file
 * overrides a URL, because it names one daemon.
 */
async function whereabouts(typed: Line, readyFile: string | undefined): Promise<readonly [name: string, Find]> {
  const { flags } = typed;
  if (flags.url !== undefined && 'readyFile' in flags) {
    throw new Fault('usage', 'only one of --url and --ready-file can be given');
  }
  if (flags.url === undefined && readyFile !== undefined) {
    const find: Find = async () => {
      const ready = await readReadyFile(readyFile);
      return ready && { url: ready.url, ca: await readTrusted(ready.url, typed) };
    };
    return [readyFile, find];
  }
  const line = await withProfile(typed);
  const { url = DEFAULT_URL } = readFlags(FLAGS.daemon, line);
  const ca = await readTrusted(url, line);
  return [url, async () => ({ url, ca })];
}

const hint = 'start `vault serve`, check its stderr, or raise --timeout';

async function waitUntilReady(name: string, find: Find, timeoutMs: number, timeout: string): Promise<void> {
  const deadline = runningTime() + timeoutMs;
  let seen = 'nobody answers';
  for (let tries = 0; ; tries += 1) {
    const remaining = deadline - runningTime();
    if (remaining <= 0 && tries > 0)
      throw new Fault('not_ready', `${name} was not ready within ${timeout}: ${seen}`, { hint });
    const found = await find();
    const ms = Math.min(Math.max(remaining, MIN_MS), 2000);
    const answer = found === undefined ? 'there is no such file' : await askOnce(found.url, ms, found.ca);
    // The timeout may cut the last attempt short: an earlier result is more useful.
    seen = answer ?? seen;
    if (seen === '') return;
    await sleep(Math.min(PAUSE_MS, Math.max(0, deadline - runningTime())));
  }
}

/** Error codes while no daemon listens yet. */
const NOBODY: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);

/** Matches errors that waiting cannot fix: certificates, protocols and unknown host names. */
const PERMANENT = /^ENOTFOUND$|^EPROTO$|SSL|CERT|VERIFY|ALTNAME/;

/**
 * Asks the daemon once. Resolves to the reason why it is not ready, to '' when it is ready, or to undefined without a
 * reply in time. Uses a new connection each time, because the last connection may hang.
 */
async function askOnce(url: string, timeoutMs: number, ca: string | undefined): Promise<string | undefined> {
  try {
    const transport = httpTransport({ url, timeoutMs, ca, oneShot: true });
    const { status, body } = await transport.send({ method: 'GET', path: '/readyz', headers: {} });
    if (status !== 200) return `it answers ${status}`;
    return isReady(body) ? '' : 'another program answers';
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'unreachable') throw error;
    const code = errorCode(error.cause);
    if (code === undefined) return undefined;
    if (PERMANENT.test(code)) throw error;
    return NOBODY.has(code) ? 'nobody answers' : code;
  }
}

/** Returns whether a body is that of a ready daemon, since other servers may answer 200 to every path. */
function isReady(body: Uint8Array): boolean {
  const reply = parseText(Buffer.from(body).toString());
  return typeof reply === 'object' && reply !== null && 'status' in reply && reply.status === 'ready';
}
