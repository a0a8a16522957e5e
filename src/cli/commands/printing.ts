import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import { canPrompt, confirmLoss } from '../credential/prompt.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { FLAGS, type FlagRows, readFlags } from '../flags/global-flags.ts';
import type { ItemPrinter } from '../output/print-items.ts';
import { createListPrinter, createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { type Define, type ParsedLine, type Subcommand, subcommand } from './subcommand.ts';

/** The parsed line of a subcommand that prints a result. `--profile` adds the profile to its environment. */
export interface CommandLine extends ParsedLine<object> {
  /** Prints items as they arrive; undefined without `--follow`. */
  readonly items: ItemPrinter | undefined;
  /** Prints a remark on stderr after the result; not with `--field`, which prints a single value. */
  readonly remark: (text: string) => void;
}

/** Asks for confirmation of a loss, unless `--yes` is given. Rejects as `confirmLoss` does. */
export async function confirmed({ read }: Pick<CommandLine, 'read'>, loss: string): Promise<void> {
  if (!read(FLAGS.confirm).yes) await confirmLoss(loss);
}

/**
 * Resolves to a function that asks as `confirmed` does. Call it after the prompt for a passphrase. Without a terminal,
 * rejects at once, before the vault is opened.
 */
export async function confirmation(line: Pick<CommandLine, 'read'>, loss: string): Promise<() => Promise<void>> {
  if (canPrompt()) return () => confirmed(line, loss);
  await confirmed(line, loss);
  return async () => undefined;
}

/** A subcommand that prints a result. The flags of the output follow its own. */
export interface Printing<Result extends object> extends Omit<Subcommand<object>, 'run' | 'passesOn'> {
  readonly flags: FlagRows;
  /** A command with several results chooses the view by its flags. */
  readonly view: ResultView | ((read: CommandLine['read']) => ResultView);
  /**
   * Resolves to the result to print (an object or JSON text), to undefined if it has printed the result itself, or to
   * the exit code of a failure that it has reported.
   */
  readonly work: (line: CommandLine) => Promise<Result | string | ExitCode | undefined>;
  readonly exitCode?: (result: Result) => ExitCode;
}

/** Returns the function that defines a subcommand. It runs `work` and prints the result. */
export function printing<Result extends object>(printed: Printing<Result>): Define {
  const { view, work, exitCode = () => 0, ...row } = printed;
  return subcommand({
    ...row,
    flags: { ...row.flags, ...FLAGS.output },
    async run(parsed) {
      const line = Object.hasOwn(row.flags, 'profile') ? await withProfile(parsed) : parsed;
      const read: CommandLine['read'] = (own) => readFlags(own, line);
      const follow = Object.hasOwn(row.flags, 'follow') && read(FLAGS.follow).follow;
      const chosen = typeof view === 'function' ? view(read) : view;
      const items = follow ? await createListPrinter(line, chosen, true) : undefined;
      const print = items === undefined ? createPrinter(line, chosen) : undefined;
      let note: string | undefined;
      const remark = (text: string) => {
        note = text;
      };
      const result = await work({ ...line, read, items, remark });
      if (typeof result === 'number') return result;
      const isObject = typeof result === 'object';
      if (result !== undefined) await print?.(isObject ? stringifyJson({ ...result } as Printable) : result, note);
      return isObject ? exitCode(result) : 0;
    },
  });
}
