import { signal } from '@preact/signals';
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

/** Returns the last run of a command on the vault's file. It continues while other screens are shown. */
export function holderRun<T>(command: string) {
  const state = signal<RunState<T>>({ isRunning: false });
  async function start(): Promise<void> {
    state.value = { ...state.peek(), isRunning: true };
    state.value = await ask<T>(`holder/${command}`, { method: 'POST' }).then(
      (result) => ({ isRunning: false, result, at: new Date().toISOString() }),
      (error) => ({ isRunning: false, error: messageOf(error) }),
    );
  }
  return { state, start };
}

interface HolderCommandOptions<T> {
  readonly label: string;
  readonly run: ReturnType<typeof holderRun<T>>;
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
