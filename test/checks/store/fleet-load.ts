import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure, type Figures } from '../check.ts';
import { createExpectedState, verifyTokens, writeTokens } from '../kill-writer.ts';
import { seededNumbers } from '../perform.ts';
import type { Fleet } from './fleet.ts';

const WRITERS = 4;

interface LoadOptions {
  readonly trusting?: boolean;
  readonly batches?: number;
  /** Is called for each write that is refused with 507, and receives the number of the daemon. */
  readonly refused?: (daemon: number) => void;
}

/** Writes to a fleet, and records the state that its daemons acknowledged. */
export function fleetLoad(fleet: Fleet, seed: number, { trusting = false, batches = 0, refused }: LoadOptions = {}) {
  const expected = createExpectedState(trusting);
  const random = seededNumbers(seed);

  /** Compares what a daemon shows with the expected state. Rejects with a `CheckFailure`. */
  async function verify(daemon: number, all = false): Promise<void> {
    await verifyTokens(
      { perform: fleet.at(daemon), key: fleet.everything },
      expected,
      all ? expected.all() : expected.touched(),
    );
    const [violation] = expected.violations();
    if (violation !== undefined) throw new CheckFailure(violation, expected.figures());
  }

  /** Starts writers on the daemons; they end when `ended` returns true, or when their daemon is gone. */
  function write(daemons: readonly number[], ended: () => boolean, took?: (ms: number) => void): Promise<unknown> {
    const writers = daemons.flatMap((daemon) =>
      Array.from({ length: WRITERS }, () =>
        writeTokens({
          ...{ perform: fleet.at(daemon), key: fleet.everything, expected, random, batches, ended },
          ...(took && { took }),
          ...(refused && { refused: () => refused(daemon) }),
        }),
      ),
    );
    const writing = Promise.all(writers);
    // The caller awaits it after the fault, so a failure must not end the process first.
    writing.catch(() => undefined);
    return writing;
  }

  /** Writes to the daemons while `work` runs. `failure` returns the error that ended a writer. */
  async function writeWhile<T>(
    daemons: readonly number[],
    work: (failure: () => unknown) => Promise<T>,
    took?: (ms: number) => void,
  ): Promise<T> {
    let isOver = false;
    let failure: unknown;
    const writing = write(daemons, () => isOver, took);
    writing.catch((error: unknown) => {
      failure = error;
    });
    const done = await work(() => failure);
    isOver = true;
    await writing;
    return done;
  }

  return {
    expected,
    verify,
    writeWhile,
    /** Writes to all daemons while `fault` happens to one. Resolves to the others' times and longest pause. */
    async writeDuring(victim: number, fault: () => Promise<unknown>) {
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
    /** Checks the audit and all records, besides `verify`. Resolves to the figures. */
    async finish(figures: Figures): Promise<Figures> {
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
