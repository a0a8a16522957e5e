import type { Reply } from '../contract/call.ts';
import type { DevRequestEntry } from '../contract/dev-paths.ts';
import { invalid } from '../core/problem.ts';
import { formatInstant } from '../core/time.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { problemCodeOf, type RequestRecord } from './request-log.ts';
import { parseQueryString } from './routes.ts';

const MAX_KEPT = 500;
/** The maximum wait for a new request, in seconds. */
const MAX_WAIT = 25;
/** The maximum number of member names in an entry. A caller can send any number of unknown names, of any length. */
const MAX_MEMBERS = 10;
const MAX_MEMBER_NAME = 100;

/**
 * Creates the log of a `--dev` daemon's last requests, in memory. `now` returns the time of the vault's clock, which
 * the audit also uses.
 */
export function createDevRequestLog(now: () => number) {
  const kept: DevRequestEntry[] = [];
  const waiting = new Set<() => void>();
  let newest = 0;
  let isEnded = false;

  function wake(): void {
    for (const one of waiting) one();
    waiting.clear();
  }

  return {
    add(record: RequestRecord, reply: Reply): void {
      newest += 1;
      const { bodyText = '' } = reply;
      const [time, bytes, problem] = [formatInstant(now()), Buffer.byteLength(bodyText), problemCodeOf(reply)];
      const members = problem === undefined ? undefined : membersOf(bodyText);
      kept.push({ id: newest, ...record, time, bytes, problem, members });
      if (kept.length > MAX_KEPT) kept.shift();
      wake();
    },

    /**
     * Resolves to the requests after the id `after`, newest first. If there are none, waits at most `wait` seconds for
     * one.
     */
    async newer({ after, wait }: Readonly<Record<'after' | 'wait', number>>): Promise<readonly DevRequestEntry[]> {
      if (newest <= after && wait > 0 && !isEnded) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const late = setTimeout(resolve, wait * 1000);
        waiting.add(resolve);
        await promise;
        clearTimeout(late);
        waiting.delete(resolve);
      }
      return kept.filter(({ id }) => id > after).reverse();
    },

    /** Ends all waits. Later calls of `newer` do not wait. */
    end(): void {
      isEnded = true;
      wake();
    },
  };
}

/** Reads `after` and `wait` from a URL. Throws the problem `invalid_request`. */
export function readDevRequestsQuery(url: string): Readonly<Record<'after' | 'wait', number>> {
  const read = { after: 0, wait: 0 };
  const { pairs, fault } = parseQueryString(/\?(.*)/.exec(url)?.[1] ?? '');
  if (fault !== undefined) throw invalid(fault, 'is not validly percent-encoded');
  for (const [name, value] of pairs) {
    if (name !== 'after' && name !== 'wait')
      throw invalid(name, 'is not a parameter; the parameters are after and wait');
    read[name] = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  }
  if (!(read.after >= 0)) throw invalid('after', 'must be the id of a request');
  if (!(read.wait <= MAX_WAIT)) throw invalid('wait', `must be a whole number of seconds from 0 to ${MAX_WAIT}`);
  return read;
}

function membersOf(bodyText: string): readonly string[] | undefined {
  const { errors } = JSON.parse(bodyText) as { readonly errors?: object };
  const names = errors && Object.keys(errors).slice(0, MAX_MEMBERS);
  return names?.map((name) => name.slice(0, MAX_MEMBER_NAME));
}
