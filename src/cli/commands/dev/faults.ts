import { DEV_PATHS } from '../../../contract/dev-paths.ts';
import { Fault } from '../../../core/fault.ts';
import { flag } from '../../flags/global-flags.ts';
import { parseDuration, parseWhole } from '../../flags/quantities.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { onDevDaemon } from './dev-daemon.ts';

const path = DEV_PATHS.faults;

const FAULT_FLAGS = {
  status: flag('--status <number>', 'reply with this status: 429, 500, 503', 'VAULT_FAULT_STATUS'),
  times: flag('--times <number>', 'the number of requests that fail (default: 1)', 'VAULT_FAULT_TIMES'),
  delay: flag('--delay <duration>', 'wait before the reply: 200ms, 2s', 'VAULT_FAULT_DELAY'),
  drop: flag('--drop', 'close the connection without a reply', 'VAULT_FAULT_DROP'),
  retryAfter: flag(
    '--retry-after <duration>',
    'the Retry-After of a 429 or 503 (default: 1s)',
    'VAULT_FAULT_RETRY_AFTER',
  ),
};

/** `vault dev faults set`: sets faults for the next matching requests. */
export const defineFaultsSet = onDevDaemon({
  args: { '<request>': "a method or * and a path: 'POST /tokens', 'GET /tokens/{id}'" },
  flags: FAULT_FLAGS,
  view: RESULT_VIEWS.faults,
  examples: [
    "vault dev faults set 'POST /tokens' --status 429 --times 2",
    "vault dev faults set 'GET /tokens/{id}' --delay 2s --times 10",
    "vault dev faults set '* /tokens' --drop",
  ],
  names: {
    request: '<request>',
    status: '--status',
    times: '--times',
    delay_ms: '--delay',
    retry_after: '--retry-after',
    drop: '--drop',
  },
  ask: ({ words: [request = ''], read }) => {
    const { status, times, delay, retryAfter, drop } = read(FAULT_FLAGS);
    const body = {
      request,
      status: wholeNumber('--status', status),
      times: wholeNumber('--times', times),
      delay_ms: delay === undefined ? undefined : Math.round(parseDuration('--delay', delay)),
      retry_after: retryAfter === undefined ? undefined : Math.ceil(parseDuration('--retry-after', retryAfter) / 1000),
      drop: drop || undefined,
    };
    if (body.status === undefined && delay === undefined && body.drop === undefined) {
      throw new Fault('usage', 'one of --status, --delay and --drop must be given');
    }
    if (body.status !== undefined && body.drop !== undefined) {
      throw new Fault('usage', 'only one of --status and --drop can be given');
    }
    return { method: 'POST', path, body };
  },
});

/** `vault dev faults list`: lists the remaining faults in the order in which they were set. */
export const defineFaultsList = onDevDaemon({
  view: RESULT_VIEWS.faults,
  examples: ['vault dev faults list -o table'],
  ask: () => ({ method: 'GET', path }),
});

/** `vault dev faults clear`: removes all faults. */
export const defineFaultsClear = onDevDaemon({
  view: RESULT_VIEWS.faults,
  examples: ['vault dev faults clear'],
  ask: () => ({ method: 'DELETE', path }),
});

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseWhole(text, 0, 999_999_999, `${flag} must be a whole number`);
}
