import { type ReadonlySignal, signal } from '@preact/signals';
import { messageOf } from './loaded.ts';
import { ask } from './session.ts';

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
