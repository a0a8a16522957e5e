import { Command, type CommanderError, type CommandOptions } from 'commander';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import { Fault } from '../core/fault.ts';
import { LOCAL_COMMANDS } from './commands/local-commands.ts';
import { defineOperation } from './derive/operation-command.ts';
import type { Finish } from './exit/exit-codes.ts';
import { factOf, reportFailure } from './exit/report-failure.ts';
import { acceptGlobalFlags, addFlags, GLOBAL_FLAGS } from './flags/global-flags.ts';
import { HELP_LAYOUT, HELP_TOPICS, helpTopic, MORE_HELP, reflowHelp, TOPIC_COMMAND } from './help/help.ts';
import { asStarted } from './help/in-own-name.ts';
import { VERSION } from './help/version.ts';
import { GROUPS, HIDDEN_GROUP, NOUNS, type NounRow, nounOf, nounRow, RENAMED } from './nouns.ts';
import { isTerminal, writeOut } from './output/standard-output.ts';

/** A subcommand: its words, and the function that adds its flags and action. */
export interface Entry {
  readonly words: readonly string[];
  readonly summary: string;
  readonly define: (command: Command, finish: Finish) => void | Promise<void>;
}

/**
 * Returns the command line parser. Creates only the noun or command of `called`, the first word. Nouns create their
 * verbs, and verbs create their flags on demand, so that a start defines only one subcommand.
 */
export function createProgram(finish: Finish, called?: string, { isWhole = false } = {}): Command {
  const root = new Command('vault')
    .description('A token vault in one file.')
    .exitOverride(refuseNoCommand)
    .configureOutput(OUTPUT)
    .configureHelp(HELP_LAYOUT)
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption('-h, --help', 'show help')
    .version(`vault ${VERSION}`, '-V, --version', 'show the version');
  const all = allEntries();
  const first = nounOf(called ?? '') ?? called;
  const ofCalled = all.filter(({ words }) => words[0] === first);
  const entries = ofCalled.length > 0 ? ofCalled : all;
  // Parse global flags here, too, so that the error names the missing or unknown command and not the flag.
  if (entries === all) addFlags(root, GLOBAL_FLAGS);
  const single = new Map<string, Entry['define']>();
  for (const [group, firstWords] of Object.entries(GROUPS)) {
    for (const word of firstWords) {
      const own = entries.filter(({ words }) => words[0] === word);
      const row = nounRow(word);
      const [only] = own;
      if (only === undefined) continue;
      const settings = { hidden: group === HIDDEN_GROUP && !isWhole };
      const command = row === undefined ? addVerb(root, only, settings) : addNoun(root, [word], row, own, finish);
      command.helpGroup(group);
      if (row === undefined) single.set(word, only.define);
    }
  }
  root.hook('preSubcommand', (_root, command) => defineVerb(command, single.get(command.name()), finish));
  root.command(`${TOPIC_COMMAND} <topic>`, { hidden: true }).action(async (topic: string) => {
    const text =
      topic === 'all' ? createProgram(finish, undefined, { isWhole: true }).helpInformation() : await helpTopic(topic);
    await writeOut(asStarted(reflowHelp(text, helpWidth())));
  });
  root.addHelpText('after', MORE_HELP);
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
  const written = writeOut(asStarted(reflowHelp(text, helpWidth())));
  written.catch((error: unknown) => process.exit(reportFailure(error, process.env)));
}

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
  const all = withoutGlobalFlags(argv);
  const from = all.findIndex((word) => word !== 'help');
  const words = from < 0 ? [] : all.slice(from);
  const [asked] = words;
  if (asked !== undefined && words.length === 1 && HELP_TOPICS.includes(asked)) return [TOPIC_COMMAND, asked];
  const known = countKnown(words);
  return known === undefined ? [...words, '--help'] : words.slice(0, known + 1);
}

/**
 * Moves global flags before and between the words of a command behind them, because the command parses them. Drops those
 * before `help`, which ignores them.
 */
export function withFlagsBehind(argv: readonly string[]): readonly string[] {
  const [flags, words, path]: [string[], string[], string[]] = [[], [], []];
  let nouns: Readonly<Record<string, NounRow>> = NOUNS;
  let at = 0;
  for (let noun: string | undefined = ''; noun !== undefined; ) {
    const end = at + countGlobalFlags(argv, at);
    for (; at < end; at += 1) flags.push(argv[at] ?? '');
    const word = argv[at];
    if (word === undefined) break;
    at += 1;
    words.push(word);
    noun = nounOf(word, nouns);
    path.push(noun ?? word);
    nouns = (noun === undefined ? undefined : nounRow(noun, nouns)?.nouns) ?? {};
  }
  if (flags.length === 0) return argv;
  const behind = argv.slice(at);
  if (words[0] === 'help' || words.at(-1) === 'help') return withoutHelpWord([...words, ...behind]);
  const isCommand = words[0] === 'version' || allEntries().some((one) => one.words.join(' ') === path.join(' '));
  // Otherwise the flags come first, so that the error names the word.
  return isCommand ? [...words, ...flags, ...behind] : [...flags, ...words, ...behind];
}

/** Returns the words without global flags and their values. */
function withoutGlobalFlags(words: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; ) {
    const flags = countGlobalFlags(words, at);
    if (flags === 0) kept.push(words[at] ?? '');
    at += Math.max(1, flags);
  }
  return kept;
}

/** Returns how many words from a position on are global flags and their values. */
function countGlobalFlags(words: readonly string[], from: number): number {
  let at = from;
  for (let length = lengthOfFlag(words[at]); length > 0; length = lengthOfFlag(words[at])) at += length;
  return Math.min(at, words.length) - from;
}

/** Returns 1 for a word of global flags, 2 if the next word is the value of its last flag, and 0 for any other word. */
function lengthOfFlag(word = ''): 0 | 1 | 2 {
  if (!/^-[^-]|^--[^-]/.test(word)) return 0;
  const takesValue = (name: string) => {
    const row = Object.values(GLOBAL_FLAGS).find(({ flag }) => flag.split(/[ ,]+/).includes(name));
    return row?.flag.includes('<');
  };
  if (word.startsWith('--')) {
    const [name = '', value] = word.split('=', 2);
    const takes = takesValue(name);
    if (takes === undefined || (!takes && value !== undefined)) return 0;
    return takes && value === undefined ? 2 : 1;
  }
  // Short flags may be joined: -qy, -qo json, -ojson.
  for (let at = 1; at < word.length; at += 1) {
    const takes = takesValue(`-${word[at]}`);
    if (takes === undefined) return 0;
    if (takes) return at === word.length - 1 ? 2 : 1;
  }
  return 1;
}

/** Returns the number of words before the first unknown word; undefined when all words are known. */
function countKnown([first = '', ...others]: readonly string[]): number | undefined {
  const noun = nounOf(first);
  const inner = nounOf(others[0] ?? '', (noun === undefined ? undefined : nounRow(noun)?.nouns) ?? {});
  const typed = [noun ?? first, ...(inner === undefined ? others : [inner, ...others.slice(1)])];
  let entries = allEntries();
  for (const [at, word] of typed.entries()) {
    // The words after a command are its arguments.
    if (at > 0 && entries.some(({ words }) => words.length === at)) return undefined;
    entries = entries.filter(({ words }) => words[at] === word);
    if (entries.length === 0) return word === '' ? undefined : at;
  }
  return undefined;
}

/** Returns whether two words begin three-word subcommands. */
function isNestedNoun(first: string, second: string | undefined): boolean {
  const { nouns = {} } = nounRow(nounOf(first) ?? '') ?? {};
  return second !== undefined && nounOf(second, nouns) !== undefined;
}

/** Returns all subcommands, in the order of the help. */
export function allEntries(): readonly Entry[] {
  const ids = (Object.keys(OPERATIONS) as OperationId[]).filter((id) => {
    const { cli }: Operation = OPERATIONS[id];
    return cli.sharing === undefined;
  });
  const operations = ids.map((id): Entry => {
    const { cli, summary } = OPERATIONS[id];
    const define: Entry['define'] = (command, finish) => defineOperation(command, id, finish);
    return { words: cli.command, summary, define };
  });
  return [...operations, ...LOCAL_COMMANDS];
}

function addNoun(
  parent: Command,
  nouns: readonly string[],
  row: NounRow,
  verbs: readonly Entry[],
  finish: Finish,
): Command {
  const command = parent
    .command(nouns.at(-1) ?? '')
    .description(row.summary)
    .enablePositionalOptions()
    .helpCommand(false);
  command.exitOverride((error) => refuseNoun(error, nouns, command, verbs));
  command.aliases(row.aliases ?? []);
  // Create the verbs only when the noun is called, because the noun has no flags of its own.
  parent.hook('preSubcommand', (_parent, called) => {
    if (called !== command) return;
    const { length } = nouns;
    for (const [noun, inner] of Object.entries(row.nouns ?? {})) {
      const own = verbs.filter(({ words }) => words[length] === noun);
      addNoun(command, [...nouns, noun], inner, own, finish);
    }
    const direct = verbs.filter(({ words }) => words.length === length + 1);
    const defines = new Map(direct.map((verb) => [addVerb(command, verb), verb.define]));
    command.hook('preSubcommand', (_command, verb) => defineVerb(verb, defines.get(verb), finish));
  });
  return command;
}

function addVerb(parent: Command, { words, summary }: Entry, settings: CommandOptions = {}): Command {
  const command = parent.command(words.at(-1) ?? '', settings).description(summary);
  return command.exitOverride((error) => refuseVerb(error, command));
}

async function defineVerb(command: Command, define: Entry['define'] | undefined, finish: Finish): Promise<void> {
  if (define === undefined) return;
  await define(command, finish);
  acceptGlobalFlags(command);
}

/** Throws the fault `usage` for flags without a command, such as `vault --url x`, and for the old name of a command. */
function refuseNoCommand(error: CommanderError): void {
  const [, old = ''] = /^error: unknown command '(.*)'/.exec(error.message) ?? [];
  refuseOldName(old, old);
  if (error.code !== 'commander.help') throw error;
  throw new Fault('usage', 'no command is given', { hint: 'vault --help' });
}

/** Throws the fault `usage` when words are the old name of a command. */
function refuseOldName(line: string, typed: string): void {
  if (!Object.hasOwn(RENAMED, line)) return;
  throw new Fault('usage', `unknown command '${typed}'`, { hint: `vault ${RENAMED[line]}` });
}

/** Verbs that other nouns and other programs use for the same work. Commander cannot suggest them. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  update: ['patch'],
  patch: ['update'],
  set: ['update', 'patch'],
  remove: ['delete'],
  delete: ['remove'],
  rm: ['delete', 'remove'],
  add: ['create'],
  new: ['create', 'add'],
  create: ['add'],
  ls: ['list'],
  show: ['get'],
  view: ['get'],
  rotate: ['regenerate'],
};

const RULE = { option: '--rule', hint: "pass --rule 'container=/pci/ transform=mask permissions=token:read'" };
const RULE_PRIORITY = {
  option: '--priority',
  hint: 'name a rule by its priority, such as --priority 2; `vault apps get` shows the rules',
};

/** Wrong flags, with the flags for the same purpose. The hint names the first one that the command has. */
const SYNONYM_FLAGS: Readonly<Record<string, readonly { readonly option: string; readonly hint?: string }[]>> = {
  '--limit': [{ option: '--size' }],
  '--size': [{ option: '--limit' }],
  '--container': [RULE, RULE_PRIORITY],
  '--transform': [RULE, RULE_PRIORITY],
  '--rule': [RULE_PRIORITY],
  '--action': [{ option: '--operation' }],
  '--application': [{ option: '--actor' }],
  '--app': [{ option: '--actor' }],
  '--user': [{ option: '--actor' }],
  '--search': [{ option: '--name' }],
  '--filter': [{ option: '--name' }],
  '--force': [{ option: '--yes' }],
  '--confirm': [{ option: '--yes' }],
  '--out': [{ option: '--archive' }],
  '--curl': [{ option: '--dry-run' }],
  '--passphrase': [
    { option: '--age-passphrase-file' },
    { option: '--new-passphrase-file' },
    { option: '--passphrase-file' },
  ],
};

/** Throws the fault `usage` with a hint for missing and superfluous arguments and for the flag of another command. */
function refuseVerb(error: CommanderError, command: Command): void {
  const fact = factOf(error);
  if (error.code === 'commander.missingArgument' || error.code === 'commander.excessArguments') {
    throw new Fault('usage', fact, { hint: `usage: ${command.createHelp().commandUsage(command)}` });
  }
  const [, typed = ''] = /^unknown option '([^=']*)/.exec(fact) ?? [];
  const synonyms = Object.hasOwn(SYNONYM_FLAGS, typed) ? (SYNONYM_FLAGS[typed] ?? []) : [];
  const meant = synonyms.find(({ option }) => command.options.some(({ long, hidden }) => long === option && !hidden));
  if (meant === undefined && (typed === '--dry-run' || typed === '--curl')) {
    const isChange = command.parent?.name() === 'apps';
    throw new Fault('usage', fact, { hint: isChange ? '`vault apps update` has it' : 'see the options with --help' });
  }
  if (meant === undefined) throw error;
  throw new Fault('usage', `unknown option '${typed}'`, { hint: meant.hint ?? `did you mean ${meant.option}?` });
}

/** Throws the fault `usage` with a hint for nouns without a verb, instead of commander's help, and for a synonym. */
function refuseNoun(error: CommanderError, nouns: readonly string[], command: Command, verbs: readonly Entry[]): void {
  const [typed = ''] = command.args;
  refuseOldName([...nouns, typed].join(' '), typed);
  const at = nouns.length;
  const meant = verbs.find(({ words }) => Object.hasOwn(SYNONYMS, typed) && SYNONYMS[typed]?.includes(words[at] ?? ''));
  if (error.code === 'commander.unknownCommand' && meant !== undefined) {
    throw new Fault('usage', `unknown command '${typed}'`, { hint: `vault ${meant.words.join(' ')}` });
  }
  if (error.code !== 'commander.help') throw error;
  const noun = nouns.join(' ');
  const words = [...new Set(verbs.map((verb) => verb.words[at]))].join(', ');
  throw new Fault('usage', `\`vault ${noun}\` needs one more word: ${words}`, { hint: `vault ${noun} --help` });
}
