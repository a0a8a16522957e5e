import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { messageOf, reload } from '../loaded.ts';
import { send } from '../session.ts';

const FIRST_COMMAND = 'vault dev requests --follow';

/** The command line of the control that was used last. */
export const lastCommand = signal(FIRST_COMMAND);

interface ProblemBody {
  readonly detail?: string;
  readonly errors?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Sends a request to the dev controls and resolves to the reply's body. `path` is the part after `/dev/`. Throws an
 * error with the text of the problem.
 */
export async function askDev<Result>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
  signal?: AbortSignal,
): Promise<Result> {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
  const response = await send(`dev/${path}`, { method, ...sent, signal: signal ?? null });
  const text = await response.text();
  if (response.ok) return JSON.parse(text || '{}');
  const { detail, errors = {} }: ProblemBody = JSON.parse(text);
  const [member] = Object.entries(errors);
  throw new Error(member === undefined ? (detail ?? `status ${response.status}`) : `${member[0]} ${member[1][0]}`);
}

/** Returns a function that uses a control, and the error of its last use. `command` is the equivalent command line. */
export function useControl() {
  const [error, setError] = useState<string>();
  async function act(command: string, work: () => Promise<unknown>): Promise<void> {
    setError(undefined);
    try {
      await work();
      lastCommand.value = command;
    } catch (wrong) {
      setError(messageOf(wrong));
    }
    reload();
  }
  return { act, error };
}
