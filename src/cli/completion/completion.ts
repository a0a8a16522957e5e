import type { Command } from 'commander';
import { Fault } from '../../core/fault.ts';
import type { Finish } from '../exit-codes.ts';
import { writeOut } from '../output/write-out.ts';
import { COMPLETION_SCRIPTS, type CompletionShell } from './scripts.ts';
import { suggest } from './suggest.ts';

const SHELLS = Object.keys(COMPLETION_SCRIPTS) as CompletionShell[];

/** `vault completion`: the script of a shell, and what the script asks. No vault is opened. */
export function defineCompletion(command: Command, finish: Finish): void {
  command.argument('<shell>', SHELLS.join(', '));
  command.argument('[words...]', 'with `suggest` for a shell: the words so far; the last is being typed');
  command.addHelpText(
    'after',
    '\nExamples:\n  eval "$(vault completion bash)"\n  vault completion fish > ~/.config/fish/completions/vault.fish',
  );
  command.action(async (name: string, words: readonly string[]) => {
    const shell = SHELLS.find((known) => known === name);
    if (name === 'suggest') await writeOut(printSuggestions(await suggest(words, process.env)));
    else if (shell !== undefined && words.length === 0) await writeOut(COMPLETION_SCRIPTS[shell]);
    else throw new Fault('usage', `<shell> is one of ${SHELLS.join(', ')}`);
    finish(0);
  });
}

function printSuggestions(found: Awaited<ReturnType<typeof suggest>>): string {
  if (found === 'files') return ':files\n';
  return found.map(({ value, description }) => `${value}\t${description}\n`).join('');
}
