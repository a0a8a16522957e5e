import { Help, type HelpConfiguration } from 'commander';

/** Flags up to this wide have their text beside them, longer ones below: else there would be no room for the text. */
const WIDEST_TERM = 28;

const defaults = new Help();

/** How all help is laid out; readable at 80 columns. */
export const HELP_LAYOUT: HelpConfiguration = {
  /** The overview leaves out the flags of every operation: each operation's own help has them. */
  visibleOptions(command) {
    const all = defaults.visibleOptions(command);
    return command.parent === null ? all.filter(({ long }) => long === '--version' || long === '--help') : all;
  },
  padWidth(command, helper) {
    return Math.min(defaults.padWidth(command, helper), WIDEST_TERM);
  },
  formatItem(term, termWidth, description, helper) {
    if (term.length <= termWidth || description === '') return layOut(term, termWidth, description, helper);
    return `${layOut(term, termWidth, '', helper)}\n${layOut('', termWidth, description, helper)}`;
  },
};

function layOut(term: string, termWidth: number, description: string, helper: Help): string {
  return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
}
