import { type ReadonlySignal, signal } from '@preact/signals';
import { messageOf } from './loaded.ts';
import { send } from './session.ts';

/** Runs a command on the vault's file and resolves to its output. Throws an error with the problem of the command. */
export async function askHolder<T>(command: string, method: 'GET' | 'POST' = 'GET', stop?: AbortSignal): Promise<T> {
  const response = await send(`holder/${command}`, { method, signal: stop ?? null });
  const body: T & { readonly detail?: string } = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
  return body;
}

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

export function holderRun<T>(command: string): HolderRun<T> {
  const state = signal<RunState<T>>({ isRunning: false });
  async function run(): Promise<void> {
    state.value = { ...state.peek(), isRunning: true };
    try {
      state.value = { isRunning: false, result: await askHolder<T>(command, 'POST'), at: new Date().toISOString() };
    } catch (error) {
      state.value = { isRunning: false, error: messageOf(error) };
    }
  }
  return { state, start: () => void run() };
}
