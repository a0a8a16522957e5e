import { Help, type HelpConfiguration } from 'commander';
import { EXIT_CODES } from './exit-codes.ts';

/** Flags up to this wide have their text beside them, longer ones below: else there would be no room for the text. */
const WIDEST_TERM = 28;

const defaults = Object.assign(new Help(), { minWidthToWrap: 0 });

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

/** Lines that are no example and no row of a table: those are indented. */
const PARAGRAPH = /^\S.*(?:\n\S.*)*/gm;

/** Wraps the paragraphs of our own texts to `width` columns; commander already wraps its own. */
export function reflowHelp(text: string, width: number): string {
  return text.replace(PARAGRAPH, (paragraph) =>
    paragraph.split('\n').some((line) => line.length > width)
      ? defaults.boxWrap(paragraph.replaceAll('\n', ' '), width)
      : paragraph,
  );
}

/** What stands at the end of `vault help`. */
export function overviewFooter(): string {
  const codes = Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padEnd(4)} ${meaning}`);
  return `
Flags for which vault, who asks and how results look go before or behind every
operation; \`vault help tokens get\` lists them with their environment variables.

Examples:
  vault serve --dev              try it: a vault that is gone when you stop it
  vault init                     make ./vault.db and its key
  vault tokens create            on a terminal: asks for what it needs
  vault tokens create --type card --data @card.json --field id
  vault tokens list --all -o ndjson
  vault help tokens create       every flag of one command

Exit codes:
${codes.join('\n')}`;
}
