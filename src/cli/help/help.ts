import { type Command, Help, type HelpConfiguration, type Option } from 'commander';
import { EXIT_CODES } from '../exit/exit-codes.ts';
import { type FlagRow, GLOBAL_FLAGS, isGlobal } from '../flags/global-flags.ts';
import { HIDDEN_GROUP } from '../nouns.ts';

/** The maximum width of a flag whose description is on the same line. A longer flag has it on the next line. */
const MAX_TERM_WIDTH = 28;

const defaults = Object.assign(new Help(), { minWidthToWrap: 0 });

/** The layout of all help; readable at 80 columns. */
export const HELP_LAYOUT: HelpConfiguration = {
  /** Hides the options in the overview, because `vault help options` and the help of each command list them. */
  visibleOptions: (command) => (command.parent === null ? [] : defaults.visibleOptions(command)),
  /** Omits other spellings of a noun. */
  subcommandTerm: (command) => defaults.subcommandTerm(command).replace(/\|\S+/, ''),
  commandUsage(command) {
    const names: string[] = [];
    for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
    return [...names, command.usage()].join(' ');
  },
  /** Omits the global options from the help of a command. They stay visible to commander's suggestions. */
  formatHelp(command, helper) {
    if (command.parent === null) return overview(command);
    const visibleOptions = (each: Command) => ownOptions(each, helper);
    const own: Help = Object.assign(Object.create(helper), { visibleOptions });
    return Help.prototype.formatHelp.call(own, command, own) + globalLine(command);
  },
  padWidth(command, helper) {
    return Math.min(defaults.padWidth(command, helper), MAX_TERM_WIDTH);
  },
  formatItem(term, termWidth, description, helper) {
    if (term.length <= termWidth || description === '') return layOut(term, termWidth, description, helper);
    return `${layOut(term, termWidth, '', helper)}\n${layOut('', termWidth, description, helper)}`;
  },
};

/** Returns `vault help`: at most 30 lines of 80 columns, one for each first word. `isWhole` adds the hidden group. */
export function overview(command: Command, { isWhole = false } = {}): string {
  const all = defaults.visibleCommands(command);
  const shown = all.filter((each) => isWhole || each.helpGroup() !== HIDDEN_GROUP);
  const groups = Map.groupBy(shown, (each) => each.helpGroup());
  const width = Math.max(...shown.map((each) => each.name().length));
  const lines = [...groups].flatMap(([heading, commands]) => [
    heading,
    ...commands.map((each) => `  ${each.name().padEnd(width)}  ${each.description()}`),
  ]);
  return `Usage: vault [options] [command]\n${lines.join('\n')}\n`;
}

/** Returns the options that the help of a command describes, without the global ones. */
export function ownOptions(command: Command, helper = command.createHelp()): Option[] {
  return helper.visibleOptions(command).filter((option) => !isGlobal(option));
}

/** Returns the names of the global options of a command. */
export function globalNames(command: Command): readonly string[] {
  return command.options
    .filter((option) => isGlobal(option) && !option.hidden)
    .map(({ short, long }) => short ?? long ?? '');
}

const MAIN = ['--url', '--file', '--profile', '-o', '--field'];

/** Returns a line that names the global options of a command. */
function globalLine(command: Command): string {
  const all = command.parent === null ? [] : globalNames(command);
  const main = all.join(', ').length <= 42 ? all : all.filter((name) => MAIN.includes(name));
  const more = main.length < all.length ? ', …' : '';
  return all.length === 0 ? '' : `\nGlobal options: ${main.join(', ')}${more} (vault help options)\n`;
}

function layOut(term: string, termWidth: number, description: string, helper: Help): string {
  return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
}

/** Matches paragraphs. Examples and rows of tables are indented, so they do not match. */
const PARAGRAPH = /^\S.*(?:\n\S.*)*/gm;

/** Wraps the paragraphs of our own texts to `width` columns; commander already wraps its own. */
export function reflowHelp(text: string, width: number): string {
  return text.replace(PARAGRAPH, (paragraph) =>
    paragraph.split('\n').some((line) => line.length > width)
      ? defaults.boxWrap(paragraph.replaceAll('\n', ' '), width)
      : paragraph,
  );
}

/** The end of `vault help`. */
export const MORE_HELP = 'More: vault help COMMAND, all, options, environment, exit-codes or filters';

/** The hidden command that prints a topic. */
export const TOPIC_COMMAND = 'help-topic';

type Rows = readonly (readonly [name: string, text: string])[];

/** A topic of `vault help`: rows between two paragraphs. */
export interface Topic {
  readonly lead?: string;
  readonly rows: Rows;
  readonly tail?: string;
}

const globalRows: readonly FlagRow[] = Object.values(GLOBAL_FLAGS);

export const TOPICS = {
  options: {
    lead: 'Global options work before or after any command.',
    rows: globalRows.map(({ flag, help }) => [flag, help]),
  },
  environment: {
    lead: `A flag overrides its environment variable, and a variable overrides a profile.
Boolean variables accept 1, true, yes and on, or 0, false, no and off.`,
    rows: globalRows.filter(({ env }) => env !== '').map(({ flag, env }) => [env, flag]),
    tail: `VAULT_API_KEY contains the API key itself. The help of each command names the
variables of its other flags.`,
  },
  'exit-codes': { rows: Object.entries(EXIT_CODES) },
} as const satisfies Readonly<Record<string, Topic>>;

function rowsOf(rows: Rows): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows
    .map(([name, text]) => {
      const wrapped = defaults.boxWrap(text, Math.max(30, 80 - width - 2));
      return `  ${name.padEnd(width)}${wrapped.replaceAll('\n', `\n${' '.repeat(width + 2)}`)}`;
    })
    .join('\n');
}

/** The names of the topics. */
export const HELP_TOPICS: readonly string[] = ['all', ...Object.keys(TOPICS), 'filters'];

/** Resolves to the text of a topic; for an unknown name, to the list of topics. */
export async function helpTopic(name: string): Promise<string> {
  if (name === 'filters') return (await import('./filter-help.ts')).filterHelp();
  if (!Object.hasOwn(TOPICS, name)) return `${HELP_TOPICS.join('\n')}\n`;
  const { lead, rows, tail }: Topic = TOPICS[name as keyof typeof TOPICS];
  return [lead, rowsOf(rows), tail]
    .filter((part) => part !== undefined)
    .join('\n\n')
    .concat('\n');
}
