import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure, type Figures } from '../check.ts';
import { createExpectedState, type ExpectedState } from '../expected-state.ts';
import { verifyTokens, writeTokens } from '../kill-writer.ts';
import { seededNumbers } from '../perform.ts';
import type { Fleet } from './fleet.ts';

/** The writes of the daemons that a fault did not hit. */
export interface OtherWrites {
  /** The milliseconds of each write. */
  readonly times: readonly number[];
  /** The longest time without an answer, in milliseconds. */
  readonly pause: number;
}

/** Writes to a fleet, and the state that its daemons acknowledged. */
export interface FleetLoad {
  readonly expected: ExpectedState;
  /** Starts writers on the daemons; they end when `ended` returns true, or when their daemon is gone. */
  write(daemons: readonly number[], ended?: () => boolean, took?: (ms: number) => void): Promise<void>;
  /** Writes to all daemons while `fault` happens to one of them. Resolves to the writes of the others. */
  writeDuring(victim: number, fault: () => Promise<unknown>): Promise<OtherWrites>;
  /** Compares what a daemon shows with the expected state. Rejects with a `CheckFailure`. */
  verify(daemon: number, all?: boolean): Promise<void>;
  /** Checks the audit and all records, besides `verify`. Resolves to the figures. */
  finish(figures: Figures): Promise<Figures>;
}

const WRITERS = 4;

interface LoadOptions {
  /** Counts a write as acknowledged when it is sent: for controls. */
  readonly trusting?: boolean;
  /** The share of writes that create a batch of tokens. Default: 0. */
  readonly batches?: number;
  /** Is called for each write that is refused with 507, and receives the number of the daemon. */
  readonly refused?: (daemon: number) => void;
}

export function fleetLoad(
  fleet: Fleet,
  seed: number,
  { trusting = false, batches = 0, refused }: LoadOptions = {},
): FleetLoad {
  const expected = createExpectedState(trusting);
  const random = seededNumbers(seed);

  async function verify(daemon: number, all = false): Promise<void> {
    await verifyTokens(
      { perform: fleet.at(daemon), key: fleet.everything },
      expected,
      all ? expected.all() : expected.touched(),
    );
    const [violation] = expected.violations();
    if (violation !== undefined) throw new CheckFailure(violation, expected.figures());
  }

  const write: FleetLoad['write'] = (daemons, ended, took) => {
    const writers = daemons.flatMap((daemon) =>
      Array.from({ length: WRITERS }, () =>
        writeTokens({
          perform: fleet.at(daemon),
          key: fleet.everything,
          expected,
          random,
          batches,
          ...(ended && { ended }),
          ...(took && { took }),
          ...(refused && { refused: () => refused(daemon) }),
        }),
      ),
    );
    const writing = Promise.all(writers).then(() => undefined);
    // The caller awaits it after the fault, so a failure must not end the process first.
    writing.catch(() => undefined);
    return writing;
  };

  return {
    expected,
    verify,
    write,
    async writeDuring(victim, fault) {
      const times: number[] = [];
      let [isOver, pause, last] = [false, 0, performance.now()];
      const ended = () => isOver;
      const answered = () => {
        pause = Math.max(pause, performance.now() - last);
        last = performance.now();
      };
      const took = (ms: number) => {
        times.push(ms);
        answered();
      };
      const others = fleet.daemons.filter((daemon) => daemon !== victim);
      const writing = [write([victim], ended), write(others, ended, took)];
      await sleep(150 + Math.random() * 300);
      await fault();
      answered();
      isOver = true;
      await Promise.all(writing);
      await verify(others[0] ?? 0);
      return { times, pause };
    },
    async finish(figures) {
      await verify(0, true);
      const all = { ...figures, ...expected.figures() };
      for (const words of [['audit', 'verify'], ['doctor']]) {
        const text = await fleet.cli(...words);
        if (JSON.parse(text).ok !== true) throw new CheckFailure(`${words.join(' ')}: ${text.slice(0, 300)}`, all);
      }
      return all;
    },
  };
}
