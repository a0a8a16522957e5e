import type { Command } from 'commander';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import {
  addFlags,
  type Environment,
  FLAGS,
  type FlagRows,
  type FlagValues,
  type GlobalFlags,
  readFlags,
  typedFlags,
} from '../global-flags.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { createListPrinter, createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';

/** A parsed command line of a subcommand. */
export interface CommandLine {
  /** The arguments of the subcommand. */
  readonly words: readonly string[];
  /** Flags from the command line. */
  readonly flags: GlobalFlags;
  /** The environment, merged with the profile if the subcommand has `--profile`. */
  readonly env: Environment;
  /** Reads the values of a flag table. Throws the fault `usage`. */
  readonly read: <Rows extends FlagRows>(rows: Rows) => FlagValues<Rows>;
  /** Prints items as they arrive; undefined without `--follow`. */
  readonly items: ItemPrinter | undefined;
}

/**
 * The work of a subcommand. Resolves to the result to print (an object or JSON text), to undefined if it has printed
 * the result itself, or to the exit code of a failure that it has reported.
 */
export type Work<Result extends object> = (line: CommandLine) => Promise<Result | string | ExitCode | undefined>;

/**
 * Adds `rows` and the output flags to a subcommand. The subcommand's action runs `work` and prints the result. A
 * command with several results chooses the view by its flags.
 */
export function definePrinting<Result extends object = object>(
  command: Command,
  finish: Finish,
  view: ResultView | ((read: CommandLine['read']) => ResultView),
  rows: FlagRows,
  work: Work<Result>,
  exitCode: (result: Result) => ExitCode = () => 0,
): void {
  addFlags(command, { ...rows, ...FLAGS.output });
  command.action(async () => {
    const flags = typedFlags(command);
    const env = Object.hasOwn(rows, 'profile') ? await withProfile(flags, process.env) : process.env;
    const read: CommandLine['read'] = (own) => readFlags(own, flags, env);
    const follow = Object.hasOwn(rows, 'follow') && read(FLAGS.follow).follow;
    const chosen = typeof view === 'function' ? view(read) : view;
    const items = follow ? await createListPrinter(flags, env, chosen, true) : undefined;
    const print = items === undefined ? createPrinter(flags, env, chosen) : undefined;
    const result = await work({ words: command.args, flags, env, read, items });
    if (typeof result === 'number') {
      finish(result);
      return;
    }
    const isObject = typeof result === 'object';
    if (result !== undefined) await print?.(isObject ? stringifyJson({ ...result } as Printable) : result);
    finish(isObject ? exitCode(result) : 0);
  });
}
