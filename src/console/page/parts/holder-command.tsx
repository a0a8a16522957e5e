import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { messageOf } from '../loaded.ts';
import { ask, hasFile } from '../session.ts';
import { AsCommand } from './as-command.tsx';
import type { ShownCommand } from './command-of.ts';
import { Button } from './controls.tsx';
import { Time } from './pieces.tsx';

interface RunState<T> {
  readonly isRunning: boolean;
  readonly result?: T;
  readonly error?: string;
  /** The time at which the run ended. */
  readonly at?: string;
}

/** The last run of a command. It continues while other screens are shown. */
export interface HolderRun<T> {
  readonly state: ReadonlySignal<RunState<T>>;
  readonly start: () => void;
}

/** Returns the runs of a command on the vault's file. */
export function holderRun<T>(command: string): HolderRun<T> {
  const state = signal<RunState<T>>({ isRunning: false });
  async function run(): Promise<void> {
    state.value = { ...state.peek(), isRunning: true };
    try {
      state.value = {
        isRunning: false,
        result: await ask<T>(`holder/${command}`, { method: 'POST' }),
        at: new Date().toISOString(),
      };
    } catch (error) {
      state.value = { isRunning: false, error: messageOf(error) };
    }
  }
  return { state, start: () => void run() };
}

interface HolderCommandOptions<T> {
  readonly label: string;
  readonly run: HolderRun<T>;
  /** The equivalent command line. */
  readonly command: ShownCommand;
  readonly isGood: (result: T) => boolean;
  readonly show: (result: T) => ComponentChildren;
}

/** Runs a command on the vault's file and shows its result. Without the file, shows only the command line. */
export function HolderCommand<T>({ label, run, command, isGood, show }: HolderCommandOptions<T>) {
  const { isRunning, result, error, at } = run.state.value;
  if (!hasFile()) {
    return (
      <span class="holder">
        {label} needs the file. <AsCommand of={command} />
      </span>
    );
  }
  return (
    <span class="holder">
      <Button onClick={run.start} disabled={isRunning}>
        {isRunning ? `${label}…` : label}
      </Button>
      <span role="status" aria-busy={isRunning}>
        {error !== undefined && <span class="bad">{error}</span>}
        {result !== undefined && !isRunning && (
          <span class={isGood(result) ? 'good' : 'bad'}>
            {show(result)}
            <span class="soft">
              {' · '}
              <Time at={at} />
            </span>
          </span>
        )}
      </span>
      <AsCommand of={command} />
    </span>
  );
}
