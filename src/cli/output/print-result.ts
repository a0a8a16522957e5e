import { type Environment, flagValue, type GlobalFlags, isSwitchedOn, OUTPUT_FLAGS } from '../global-flags.ts';
import { tell } from '../report-failure.ts';
import { wantsColour } from './colour.ts';
import { escapeInJson, stripFromLines } from './control-characters.ts';
import { chooseFormat } from './format.ts';
import { chooseShowing, renderResult, type Showing } from './render-result.ts';
import type { ResultView } from './result-view.ts';
import { writeOut } from './write-out.ts';

/** How results are printed in this run. Made, and with it checked, before anything is done. */
export interface Printer {
  print(bodyText: string): Promise<void>;
}

/** Throws the fault `usage` when the flags ask for what no result can give. */
export function createPrinter(flags: GlobalFlags, env: Environment, view: ResultView): Printer {
  const isTerminal = process.stdout.isTTY === true;
  const format = chooseFormat(flagValue(flags.output, env, OUTPUT_FLAGS.output), isTerminal);
  const field = flagValue(flags.field, env, OUTPUT_FLAGS.field);
  const showing = chooseShowing(format, field, isSwitchedOn(flags.quiet, env, OUTPUT_FLAGS.quiet), view);
  return {
    async print(bodyText) {
      const options = {
        colour: wantsColour(isTerminal, flags.color, env),
        // A terminal that does not know its size says 0.
        width: isTerminal ? process.stdout.columns || 80 : undefined,
      };
      const { text, note } = await renderResult(bodyText, view, showing, options);
      await writeOut(isTerminal ? forTerminal(text, showing) : text);
      if (note !== undefined) tell(note);
    },
  };
}

/** A table has been made safe cell by cell, and holds colours. */
function forTerminal(text: string, showing: Showing): string {
  if (showing.field !== undefined || showing.quiet) return stripFromLines(text);
  if (showing.format === 'table') return text;
  return showing.format === 'json' || showing.format === 'ndjson' ? escapeInJson(text) : stripFromLines(text);
}
