import { Command, type CommanderError } from 'commander';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import { Fault } from '../core/fault.ts';
import { LOCAL_COMMANDS } from './commands/local-commands.ts';
import type { Define } from './commands/subcommand.ts';
import { defineOperation } from './derive/operation-command.ts';
import type { ChildExitCode, ExitCode } from './exit/exit-codes.ts';
import { factOf, reportFailure } from './exit/report-failure.ts';
import { acceptGlobalFlags, addFlags, GLOBAL_FLAGS } from './flags/global-flags.ts';
import { HELP_LAYOUT, HELP_TOPICS, helpTopic, MORE_HELP, overview, reflowHelp, TOPIC_COMMAND } from './help/help.ts';
import { asStarted } from './help/in-own-name.ts';
import { VERSION } from './help/version.ts';
import { GROUPS, NOUNS, type Nouns, nounOf, nounRow, RENAMED } from './nouns.ts';
import { isTerminal, writeOut } from './output/standard-output.ts';

/** A subcommand: its words, and the function that adds its flags and returns its action. */
export interface Entry {
  readonly words: readonly string[];
  readonly summary: string;
  readonly define: (command: Command) => ReturnType<Define> | Promise<ReturnType<Define>>;
}

/** Sets the exit code of the process when the work of a subcommand is done. */
type Finish = (exitCode: ExitCode | ChildExitCode) => void;

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
    .version(`vault ${VERSION}`, '-V, --version', 'show the version');
  const all = allEntries();
  const first = nounOf(called ?? '') ?? called;
  const ofCalled = all.filter(({ words }) => words[0] === first);
  const entries = ofCalled.length > 0 ? ofCalled : all;
  // Parse global flags here, too, so that the error names the missing or unknown command and not the flag.
  if (entries === all) addFlags(root, GLOBAL_FLAGS);
  addWords(root, [], entries, finish);
  for (const [group, words] of Object.entries<readonly string[]>(GROUPS)) {
    for (const command of root.commands) if (words.includes(command.name())) command.helpGroup(group);
  }
  root.command(`${TOPIC_COMMAND} <topic>`, { hidden: true }).action(async (topic: string) => {
    const text = topic === 'all' ? overview(createProgram(finish), { isWhole: true }) : await helpTopic(topic);
    await writeOut(asStarted(reflowHelp(text, helpWidth())));
  });
  root.addHelpText('after', MORE_HELP);
  return root;
}

/** Adds the next words of subcommands to a command: nouns, which get their own words when they are called, and verbs. */
function addWords(
  parent: Command,
  before: readonly string[],
  entries: readonly Entry[],
  finish: Finish,
  nouns: Nouns = NOUNS,
): void {
  const at = before.length;
  const inOrder = at === 0 ? Object.values(GROUPS).flat() : Object.keys(nouns);
  const onCall = new Map<Command, () => void | Promise<void>>();
  for (const word of new Set([...inOrder, ...entries.map(({ words }) => words[at] ?? '')])) {
    const own = entries.filter(({ words }) => words[at] === word);
    const [only] = own;
    if (only === undefined) continue;
    const row = nounRow(word, nouns);
    const command = parent.command(word).description(row?.summary ?? only.summary);
    if (row === undefined) {
      command.exitOverride((error) => refuseVerb(error, command));
      onCall.set(command, async () => {
        const run = await only.define(command);
        acceptGlobalFlags(command);
        command.action(async () => finish(await run()));
      });
      continue;
    }
    const words = [...before, word];
    command
      .aliases(row.aliases ?? [])
      .enablePositionalOptions()
      .helpCommand(false);
    command.exitOverride((error) => refuseNoun(error, words, command, own));
    onCall.set(command, () => addWords(command, words, own, finish, row.nouns ?? {}));
  }
  parent.hook('preSubcommand', (_parent, called) => onCall.get(called)?.());
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
 * Returns a command line as the parser takes it. Moves global flags before and between the words of a command behind
 * them, because the command parses them. Returns `tokens create --help` for `help tokens create` and `tokens help
 * create`, without flags and arguments; leaves out words after an unknown word, so that the parser reports that word.
 */
export function arrangeWords(argv: readonly string[]): readonly string[] {
  const [flags, words, path]: [string[], string[], string[]] = [[], [], []];
  let nouns: Nouns | undefined = NOUNS;
  let [at, isHelp] = [0, false];
  while (nouns !== undefined && at < argv.length) {
    const word = argv[at] ?? '';
    const length = lengthOfFlag(word);
    at += Math.max(1, length);
    if (length > 0) flags.push(...argv.slice(at - length, at));
    else if (word === 'help') isHelp = true;
    else if (word !== '--') {
      const noun: string | undefined = nounOf(word, nouns);
      words.push(word);
      path.push(noun ?? word);
      nouns = noun === undefined ? undefined : (nounRow(noun, nouns)?.nouns ?? {});
    }
  }
  const behind = argv.slice(at);
  const isCommand = words[0] === 'version' || allEntries().some((one) => one.words.join(' ') === path.join(' '));
  if (isHelp) {
    const [topic = ''] = words;
    if (words.length === 1 && HELP_TOPICS.includes(topic)) return [TOPIC_COMMAND, topic];
    return isCommand || nouns !== undefined || words.at(-1) === '' ? [...words, '--help'] : words;
  }
  if (flags.length === 0) return argv;
  // The flags of an unknown command come first, so that the error names the word.
  return isCommand ? [...words, ...flags, ...behind] : [...flags, ...words, ...behind];
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

/** Returns all subcommands, in the order of the help. */
export function allEntries(): readonly Entry[] {
  const ids = (Object.keys(OPERATIONS) as OperationId[]).filter((id) => {
    const { cli }: Operation = OPERATIONS[id];
    return cli.sharing === undefined;
  });
  const operations = ids.map((id): Entry => {
    const { cli, summary } = OPERATIONS[id];
    return { words: cli.command, summary, define: (command) => defineOperation(command, id) };
  });
  return [...operations, ...LOCAL_COMMANDS];
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
