import { signal } from '@preact/signals';
import { reload, useAction } from '../loaded.ts';

const FIRST_COMMAND = 'vault dev requests --follow';

/** The command line of the control that was used last. */
export const lastCommand = signal(FIRST_COMMAND);

/** Returns a function that uses a control, and the error of its last use. `command` is the equivalent command line. */
export function useControl() {
  const { act: perform, error } = useAction();
  async function act(command: string, work: () => Promise<unknown>): Promise<void> {
    await perform(async () => {
      await work();
      lastCommand.value = command;
    });
    reload();
  }
  return { act, error };
}
