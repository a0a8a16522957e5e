import type { Command } from 'commander';
import type { ChildExitCode, ExitCode } from '../exit/exit-codes.ts';
import { addFlags, type FlagRows, type FlagValues, type Line, readFlags, typedLine } from '../flags/global-flags.ts';

/** The parsed line of a subcommand. */
export interface ParsedLine<Flags extends object> extends Line<Flags> {
  /** The arguments of the subcommand. */
  readonly words: readonly string[];
  /** Reads the values of a flag table. Throws the fault `usage`. */
  readonly read: <Rows extends FlagRows>(rows: Rows) => FlagValues<Rows>;
}

/** The declaration of a subcommand without an endpoint. */
export interface Subcommand<Flags extends object> {
  /** The description of each argument, such as `<name>`. */
  readonly args?: Readonly<Record<string, string>>;
  /** The flags, in the order of the help. */
  readonly flags?: FlagRows;
  /** Whether flags after the first argument belong to another program. */
  readonly passesOn?: boolean;
  /** The text below the options. */
  readonly help?: string;
  /** Complete command lines, which end the help. */
  readonly examples?: readonly string[];
  /** Does the work. Resolves to the exit code. */
  readonly run: (line: ParsedLine<Flags>) => Promise<ExitCode | ChildExitCode>;
}

/** Adds the arguments, flags and help to a subcommand. Returns its work, which resolves to the exit code. */
export type Define = (command: Command) => () => Promise<ExitCode | ChildExitCode>;

/** Returns the function that defines a subcommand. */
export function subcommand<Flags extends object>(row: Subcommand<Flags>): Define {
  return (command) => {
    for (const [words, description] of Object.entries(row.args ?? {})) command.argument(words, description);
    addFlags(command, row.flags ?? {});
    if (row.passesOn) command.passThroughOptions();
    if (row.help !== undefined) command.addHelpText('after', row.help);
    const examples = row.examples?.map((line) => `\n  ${line}`).join('');
    if (examples !== undefined) command.addHelpText('after', `\nExamples:${examples}`);
    return () => {
      const line = typedLine<Flags>(command);
      return row.run({ ...line, words: command.args, read: (own) => readFlags(own, line) });
    };
  };
}
