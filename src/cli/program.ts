import { Command, type CommanderError } from 'commander';
import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import { Fault } from '../core/fault.ts';
import { LOCAL_COMMANDS } from './commands/local-commands.ts';
import { defineOperation } from './derive/operation-command.ts';
import type { Finish } from './exit/exit-codes.ts';
import { reportFailure } from './exit/report-failure.ts';
import { addFlags, GLOBAL_FLAGS } from './flags/global-flags.ts';
import { HELP_LAYOUT, helpTopic, isHelpTopic, overviewFooter, reflowHelp, TOPIC_COMMAND } from './help/help.ts';
import { inOwnName } from './help/in-own-name.ts';
import { VERSION } from './help/version.ts';
import { isTerminal, writeOut } from './output/standard-output.ts';

/** A subcommand: its words, and the function that adds its flags and action. */
export interface Entry {
  readonly words: readonly string[];
  readonly summary: string;
  /** The heading of the subcommand's group in the help. */
  readonly group: string;
  readonly define: (command: Command, finish: Finish) => void | Promise<void>;
}

/**
 * Returns the command line parser. Creates only the noun or command of `called`, the first word. Nouns create their
 * verbs, and verbs create their flags on demand, so that a start defines only one subcommand.
 */
export function createProgram(finish: Finish, called?: string): Command {
  const root = new Command('vault')
    .description('A token vault in one file.')
    .exitOverride(refuseNoCommand)
    .configureOutput(OUTPUT)
    .configureHelp(HELP_LAYOUT)
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption('-h, --help', 'show help')
    .version(`vault ${VERSION}`, '--version', 'show the version');
  const all = allEntries();
  const ofCalled = all.filter(({ words }) => words[0] === called);
  const entries = ofCalled.length > 0 ? ofCalled : all;
  // Accept global flags before the first word. After it, the subcommand's own flags include them.
  if (entries === all) addFlags(root, GLOBAL_FLAGS);
  for (const [noun, row] of Object.entries(NOUNS)) {
    const verbs = entries.filter(({ words }) => words[0] === noun);
    if (verbs.length > 0) addNoun(root, [noun], row, verbs, finish);
  }
  const single = entries.filter(({ words }) => words.length === 1);
  addEntries(root, single, finish);
  root
    .command(`${TOPIC_COMMAND} <topic>`, { hidden: true })
    .action(async (topic: string) => writeOut(inOwnName(reflowHelp(await helpTopic(topic), helpWidth()))));
  root.addHelpText('after', overviewFooter);
  return root;
}

/**
 * Commander's output. Prints no errors, because report-failure.ts reports them. Prints no colours, because their
 * detection takes time.
 */
const OUTPUT = {
  writeOut: writeHelp,
  getOutHelpWidth: helpWidth,
  getOutHasColors: () => false,
  outputError: () => undefined,
  writeErr: () => undefined,
} as const;

function helpWidth(): number {
  return isTerminal() ? process.stdout.columns || 80 : 80;
}

function writeHelp(text: string): void {
  const written = writeOut(inOwnName(reflowHelp(text, helpWidth())));
  written.catch((error: unknown) => process.exit(reportFailure(error, process.env)));
}

const OPERATIONS_GROUP = 'Operations, over HTTP or on the file:';
const LOCAL_GROUP = 'Local commands:';

/**
 * Returns `tokens create --help` for `help tokens create` and `tokens help create`. Leaves out words after an unknown
 * word, so that the parser reports that word.
 */
export function withoutHelpWord(argv: readonly string[]): readonly string[] {
  const [first = '', second, ...others] = argv;
  if (second === 'help' && nounOf(first) !== undefined) return withoutHelpWord(['help', first, ...others]);
  if (others[0] === 'help' && isNestedNoun(first, second)) {
    return withoutHelpWord(['help', first, second ?? '', ...others.slice(1)]);
  }
  if (first !== 'help') return argv;
  const words = argv.slice(1);
  if (second !== undefined && words.length === 1 && isHelpTopic(second)) return [TOPIC_COMMAND, second];
  if (words[0] === 'help') return withoutHelpWord(words);
  const known = countKnown(words);
  return known === undefined ? [...words, '--help'] : words.slice(0, known + 1);
}

/** Returns the number of words before the first unknown word; undefined when all words are known. */
function countKnown([first = '', ...others]: readonly string[]): number | undefined {
  const typed = [nounOf(first) ?? first, ...others];
  let entries = allEntries();
  for (const [at, word] of typed.entries()) {
    // The words after a command are its arguments.
    if (at > 0 && entries.some(({ words }) => words.length === at)) return undefined;
    entries = entries.filter(({ words }) => words[at] === word);
    if (entries.length === 0) return word === '' ? undefined : at;
  }
  return undefined;
}

/** Returns the noun for a word, which may be its alias; undefined for any other word. */
export function nounOf(word: string): string | undefined {
  return Object.entries<NounRow>(NOUNS).find(([name, { alias }]) => word === name || word === alias)?.[0];
}

/** Returns whether two words begin three-word subcommands. */
function isNestedNoun(first: string, second: string | undefined): boolean {
  const { nouns = {} } = Object.entries<NounRow>(NOUNS).find(([name]) => name === nounOf(first))?.[1] ?? {};
  return second !== undefined && Object.hasOwn(nouns, second);
}

/** Returns all subcommands, in the order of the help. */
export function allEntries(): readonly Entry[] {
  const operations = (Object.keys(OPERATIONS) as OperationId[]).map((id): Entry => {
    const { cli, summary } = OPERATIONS[id];
    const define: Entry['define'] = (command, finish) => defineOperation(command, id, finish);
    return { words: cli.command, summary, group: OPERATIONS_GROUP, define };
  });
  return [...operations, ...LOCAL_COMMANDS.map((row) => ({ ...row, group: LOCAL_GROUP }))];
}

function addNoun(
  parent: Command,
  nouns: readonly string[],
  row: NounRow,
  verbs: readonly Entry[],
  finish: Finish,
): void {
  const command = parent
    .command(nouns.at(-1) ?? '')
    .description(row.summary)
    .enablePositionalOptions()
    .helpCommand(false);
  command.exitOverride((error) => refuseNoun(error, nouns, command, verbs));
  if (row.alias !== undefined) command.alias(row.alias);
  command.helpGroup(verbs.some((verb) => verb.group === OPERATIONS_GROUP) ? OPERATIONS_GROUP : LOCAL_GROUP);
  // Create the verbs only when the noun is called, because the noun has no flags of its own.
  parent.hook('preSubcommand', (_parent, called) => {
    if (called !== command) return;
    const { length } = nouns;
    for (const [noun, inner] of Object.entries<NounRow>(row.nouns ?? {})) {
      const own = verbs.filter(({ words }) => words[length] === noun);
      addNoun(command, [...nouns, noun], inner, own, finish);
    }
    const direct = verbs.filter(({ words }) => words.length === length + 1);
    addEntries(command, direct, finish);
  });
}

function addEntries(parent: Command, entries: readonly Entry[], finish: Finish): void {
  const defines = new Map<Command, Entry['define']>();
  for (const entry of entries) {
    const command = parent.command(entry.words.at(-1) ?? '').description(entry.summary);
    command.exitOverride().helpGroup(entry.group);
    defines.set(command, entry.define);
  }
  parent.hook('preSubcommand', (_parent, called) => defines.get(called)?.(called, finish));
}

/** Throws the fault `usage` for flags without a command, such as `vault --url x`. */
function refuseNoCommand(error: CommanderError): void {
  if (error.code !== 'commander.help') throw error;
  throw new Fault('usage', 'no command is given', { hint: 'vault --help' });
}

/** Verbs that other nouns use for the same work. Commander cannot suggest them: they are spelled differently. */
const SYNONYMS: Readonly<Record<string, string>> = {
  update: 'patch',
  patch: 'update',
  remove: 'delete',
  delete: 'remove',
};

/** Throws the fault `usage` with a hint for nouns without a verb, instead of commander's help, and for a synonym. */
function refuseNoun(error: CommanderError, nouns: readonly string[], command: Command, verbs: readonly Entry[]): void {
  const [typed = ''] = command.args;
  const at = nouns.length;
  const meant = verbs.find(({ words }) => words[at] === SYNONYMS[typed]);
  if (error.code === 'commander.unknownCommand' && meant !== undefined) {
    throw new Fault('usage', `unknown command '${typed}'`, { hint: `vault ${meant.words.join(' ')}` });
  }
  if (error.code !== 'commander.help') throw error;
  const noun = nouns.join(' ');
  const words = [...new Set(verbs.map((verb) => verb.words[at]))].join(', ');
  throw new Fault('usage', `\`vault ${noun}\` needs one more word: ${words}`, { hint: `vault ${noun} --help` });
}

export interface NounRow {
  readonly summary: string;
  readonly alias?: string;
  /** The second words of its three-word subcommands. */
  readonly nouns?: Readonly<Record<string, NounRow>>;
}

/** The first words of longer subcommands, in the order of the help. */
export const NOUNS = {
  tokens: { summary: 'Create, list, get, patch and delete tokens' },
  apps: {
    summary: 'Manage applications, API keys and access rules',
    alias: 'applications',
    nouns: { keys: { summary: 'Create, list and delete the API keys of an application' } },
  },
  tenant: { summary: 'Manage tenants' },
  permissions: { summary: 'List permissions' },
  logs: { summary: "List the tenant's audit log" },
  seed: { summary: 'Apply seed files' },
  profile: { summary: 'Name vaults and their credentials' },
  audit: { summary: 'List, verify, export and prune the audit' },
  clock: { summary: 'Move the clock of a --dev daemon' },
  faults: { summary: 'Inject faults into a --dev daemon' },
  requests: { summary: 'List the requests of a --dev daemon' },
  snapshot: { summary: 'Save and restore snapshots' },
  keys: { summary: 'Manage and rotate the keys of the file' },
} as const satisfies Record<string, NounRow>;
