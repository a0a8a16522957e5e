import { DEV_PATHS } from '../../../contract/dev-paths.ts';
import { Fault } from '../../../core/fault.ts';
import { MachineDate } from '../../../core/timers.ts';
import { parseMoment } from '../../flags/quantities.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import type { Define } from '../subcommand.ts';
import { onDevDaemon } from './dev-daemon.ts';
import { FORWARD_ONLY, OTHER_WAYS, stepForward } from './step-forward.ts';

const path = DEV_PATHS.clock;

const ISO_ONLY = 'the time must be ISO 8601, such as 2030-01-31 or 2030-01-31T12:00:00Z';
/** `vault dev clock show`: shows the daemon's time, and when the next record expires. */
export const defineClockShow = onDevDaemon({
  view: RESULT_VIEWS.clock,
  examples: ['vault dev clock show', 'vault dev clock set "$(vault dev clock show --field next_expiry)"'],
  ask: () => ({ method: 'GET', path }),
});

/** `vault dev clock set`: moves the daemon's clock to a time. */
export const defineClockSet = refusingStepBack(
  ISO_ONLY,
  onDevDaemon({
    args: { '<time>': 'an ISO 8601 time: 2030-01-31, 2030-01-31T12:00:00Z' },
    view: RESULT_VIEWS.clock,
    examples: ['vault dev clock set 2030-01-31T12:00:00Z', 'vault dev clock set 2030-01-31 --field now'],
    names: { now: '<time>' },
    ask: ({ words: [time = ''] }) => ({ method: 'PUT', path, body: { now: isoTime(time) } }),
  }),
);

/** `vault dev clock advance`: moves the daemon's clock forward; expired records are removed at once. */
export const defineClockAdvance = refusingStepBack(
  FORWARD_ONLY,
  onDevDaemon({
    args: { '<duration>': 'the duration: 90s, 15m, 25h, 30d' },
    view: RESULT_VIEWS.clock,
    examples: ['vault dev clock advance 25h', 'vault dev clock advance 30d --field removed'],
    names: { advance_ms: '<duration>' },
    ask: ({ words: [duration = ''] }) => ({
      method: 'POST',
      path,
      body: { advance_ms: stepForward('<duration>', duration) },
    }),
  }),
);

/** `vault dev clock reset`: sets the daemon's clock back to the time of its machine. */
export const defineClockReset = onDevDaemon({
  view: RESULT_VIEWS.clock,
  examples: ['vault dev clock reset'],
  ask: () => ({ method: 'DELETE', path }),
});

function isoTime(typed: string): string {
  // Reject durations: `parseMoment` would subtract them from this machine's time.
  const instant = /^\d{4}-/.test(typed) ? parseMoment('the time', typed) : undefined;
  if (instant !== undefined) return new MachineDate(instant).toISOString();
  throw new Fault('usage', ISO_ONLY, { hint: OTHER_WAYS });
}

/** Reports a negative duration such as `-1h` as a step back, although commander parses it as an unknown flag. */
function refusingStepBack(fact: string, define: Define): Define {
  return (command) => {
    const run = define(command);
    command.exitOverride((error) => {
      const isStepBack = error.code === 'commander.unknownOption' && /'-\d/.test(error.message);
      throw isStepBack ? new Fault('usage', fact, { hint: OTHER_WAYS }) : error;
    });
    return run;
  };
}
