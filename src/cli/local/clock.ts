import type { Command } from 'commander';
import { DEV_PATHS } from '../../contract/dev-paths.ts';
import { Fault } from '../../core/fault.ts';
import type { Finish } from '../exit-codes.ts';
import type { ResultView } from '../output/result-view.ts';
import { defineOnDevDaemon } from './dev-daemon.ts';
import { parseDuration } from './duration.ts';
import { parseMoment } from './moment.ts';

const path = DEV_PATHS.clock;
const DAY_MS = 24 * 60 * 60 * 1000;

const VIEW: ResultView = {
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: { now: { type: 'string' }, offset_ms: { type: 'integer' }, removed: { type: 'integer' } },
  },
  list: false,
  columns: ['now', 'offset_ms', 'removed'],
  rest: false,
};

/** `vault clock set`: the daemon's clock goes on from a time. */
export function defineClockSet(command: Command, finish: Finish): void {
  command.argument('<time>', 'an ISO 8601 time: 2030-01-31, 2030-01-31T12:00:00Z');
  defineOnDevDaemon(command, finish, {
    view: VIEW,
    examples: ['vault clock set 2030-01-31T12:00:00Z', 'vault clock set 2030-01-31 --field now'],
    ask: ([time = '']) => ({ method: 'PUT', path, body: { now: isoTime(time) } }),
  });
}

/** `vault clock advance`: the daemon's clock goes forward; what has expired then is removed at once. */
export function defineClockAdvance(command: Command, finish: Finish): void {
  command.argument('<duration>', 'how far: 90s, 15m, 25h, 30d');
  defineOnDevDaemon(command, finish, {
    view: VIEW,
    examples: ['vault clock advance 25h', 'vault clock advance 30d --field removed'],
    ask: ([duration = '']) => ({ method: 'POST', path, body: { advance_ms: milliseconds(duration) } }),
  });
}

/** `vault clock reset`: the daemon's clock is that of its machine again. */
export function defineClockReset(command: Command, finish: Finish): void {
  defineOnDevDaemon(command, finish, {
    view: VIEW,
    examples: ['vault clock reset'],
    ask: () => ({ method: 'DELETE', path }),
  });
}

function isoTime(typed: string): string {
  // A duration would be a time in the past, counted from this machine's clock: here it is a mistake.
  const instant = /^\d{4}-/.test(typed) ? parseMoment('the time', typed) : undefined;
  if (instant !== undefined) return new Date(instant).toISOString();
  throw new Fault('usage', 'the time is one of ISO 8601: 2030-01-31, 2030-01-31T12:00:00Z', {
    hint: 'for a step forward: vault clock advance 25h',
  });
}

function milliseconds(typed: string): number {
  const days = /^(\d+(?:\.\d+)?)d$/.exec(typed)?.[1];
  return Math.round(days === undefined ? parseDuration('the duration', typed) : Number(days) * DAY_MS);
}
