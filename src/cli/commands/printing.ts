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
import { addExamples } from '../help.ts';
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
  /** Prints a remark on stderr after the result; not with `--field`, which prints a single value. */
  readonly remark: (text: string) => void;
}

/** A subcommand that prints a result. */
export interface Printing<Result extends object> {
  /** The description of each argument, such as `<name>`. */
  readonly args?: Readonly<Record<string, string>>;
  /** The flags, in the order of the help. The flags of the output follow. */
  readonly flags: FlagRows;
  /** A command with several results chooses the view by its flags. */
  readonly view: ResultView | ((read: CommandLine['read']) => ResultView);
  /** The text below the options. */
  readonly help?: string;
  /** Complete command lines, which end the help. */
  readonly examples?: readonly string[];
  /**
   * Resolves to the result to print (an object or JSON text), to undefined if it has printed the result itself, or to
   * the exit code of a failure that it has reported.
   */
  readonly work: (line: CommandLine) => Promise<Result | string | ExitCode | undefined>;
  readonly exitCode?: (result: Result) => ExitCode;
}

/** Adds the arguments, flags, help and action to a subcommand. */
export type Define = (command: Command, finish: Finish) => void;

/** Returns the function that defines a subcommand. Its action runs `work` and prints the result. */
export function printing<Result extends object>(printed: Printing<Result>): Define {
  const { args = {}, view, work, exitCode = () => 0, ...row } = printed;
  return (command, finish) => {
    for (const [words, description] of Object.entries(args)) command.argument(words, description);
    addFlags(command, { ...row.flags, ...FLAGS.output });
    if (row.help !== undefined) command.addHelpText('after', row.help);
    if (row.examples !== undefined) addExamples(command, row.examples);
    command.action(async () => {
      const flags = typedFlags(command);
      const env = Object.hasOwn(row.flags, 'profile') ? await withProfile(flags, process.env) : process.env;
      const read: CommandLine['read'] = (own) => readFlags(own, flags, env);
      const follow = Object.hasOwn(row.flags, 'follow') && read(FLAGS.follow).follow;
      const chosen = typeof view === 'function' ? view(read) : view;
      const items = follow ? await createListPrinter(flags, env, chosen, true) : undefined;
      const print = items === undefined ? createPrinter(flags, env, chosen) : undefined;
      let note: string | undefined;
      const remark = (text: string) => {
        note = text;
      };
      const result = await work({ words: command.args, flags, env, read, items, remark });
      if (typeof result === 'number') {
        finish(result);
        return;
      }
      const isObject = typeof result === 'object';
      if (result !== undefined) await print?.(isObject ? stringifyJson({ ...result } as Printable) : result, note);
      finish(isObject ? exitCode(result) : 0);
    });
  };
}
