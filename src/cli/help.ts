import { Help, type HelpConfiguration } from 'commander';
import { EXIT_CODES } from './exit-codes.ts';

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

/**
 * Help whose paragraphs fit into `width` columns. What commander lays out fits already; texts of our own are broken anew, as
 * paragraphs. Indented lines are examples and tables: they stay as they are.
 */
export function reflowHelp(text: string, width: number): string {
  const lines = text.split('\n');
  const made: string[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && isProse(lines[end])) end++;
    if (end === at) end++;
    const paragraph = lines.slice(at, end);
    made.push(
      ...(paragraph.some((line) => isProse(line) && line.length > width)
        ? wrap(paragraph.join(' '), width)
        : paragraph),
    );
    at = end;
  }
  return made.join('\n');
}

const isProse = (line: string | undefined): line is string => line !== undefined && /^\S/.test(line);

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
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
