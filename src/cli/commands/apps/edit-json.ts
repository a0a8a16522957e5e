import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { isJsonObject } from '../../../core/json/kind.ts';
import { JsonSyntaxError, parseJson } from '../../../core/json/parse.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { withoutOwnVariables } from '../../credential/key-command.ts';
import { askYes, canPrompt } from '../../credential/prompt.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { END_SIGNALS, type EndSignal, endAtSignals, SIGNAL_EXIT_CODES, takeSignals } from '../../exit/interrupt.ts';
import { report } from '../../exit/report-failure.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import type { Environment } from '../../flags/global-flags.ts';
import { inTemporaryFolder } from '../dev/temporary-folder.ts';

/** Returns the command line of the editor: VISUAL, else EDITOR, else `vi` on a terminal. */
export function editorOf(env: Environment): string | undefined {
  const named = env['VISUAL']?.trim() || env['EDITOR']?.trim();
  return named || (canPrompt() ? 'vi' : undefined);
}

/**
 * Opens an object as JSON in an editor, in a temporary file (0600) that is removed at the end. Resolves to the edited
 * object; to undefined for an unchanged file. On a terminal, offers to edit wrong JSON again. Rejects with
 * `invalid_data` for wrong JSON, and with `usage` when the editor fails.
 */
export function editJson(editor: string, value: JsonObject): Promise<JsonObject | undefined> {
  return inTemporaryFolder('edit', async (folder) => {
    const file = path.join(folder, 'application.json');
    const before = `${JSON.stringify(JSON.parse(stringifyJson(value)), null, 2)}\n`;
    await writeWholeFile('EDITOR', file, before);
    for (;;) {
      await runEditor(editor, file);
      const text = readFileSync(file, 'utf8');
      if (text === before) return undefined;
      try {
        return parseEdited(text);
      } catch (error) {
        if (!(error instanceof Fault) || !canPrompt()) throw error;
        report(error.message);
        if (!(await askYes('Edit it again?'))) throw new Fault('usage', 'nothing was changed');
      }
    }
  });
}

function parseEdited(text: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
    throw new Fault('invalid_data', 'the edited file is not a JSON object');
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const line = text.slice(0, error.position).split('\n').length;
    throw new Fault('invalid_data', `line ${line} of the edited file: ${error.reason}`);
  }
}

/** Runs the editor on this process's terminal. Splits the command at blanks and starts no shell. */
async function runEditor(editor: string, file: string): Promise<void> {
  const [program = '', ...words] = editor.split(/\s+/);
  // A terminal sends Ctrl-C to this process, too, but only the editor handles it.
  const handle = (signal: EndSignal) => {
    if (signal !== 'SIGINT') process.exit(SIGNAL_EXIT_CODES[signal]);
  };
  takeSignals();
  for (const signal of END_SIGNALS) process.on(signal, handle);
  let child: ChildProcess;
  try {
    child = spawn(program, [...words, file], { env: withoutOwnVariables(), stdio: 'inherit' });
    await once(child, 'close');
  } catch (cause) {
    const hint = 'set EDITOR to a program and its arguments, or name the members as flags';
    throw new Fault('usage', `the editor ${program} cannot be run (${reasonOf(cause)})`, { hint, cause });
  } finally {
    for (const signal of END_SIGNALS) process.off(signal, handle);
    endAtSignals();
  }
  if (child.exitCode === 0) return;
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  throw new Fault('usage', `the editor ended with ${end}; nothing was changed`);
}
