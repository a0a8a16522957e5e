import type { Command } from 'commander';
import {
  argumentsOf,
  OPERATIONS,
  type Operation,
  type OperationCli,
  type OperationId,
  takesIdempotencyKey,
} from '../../contract/operations.ts';
import { Fault } from '../../core/fault.ts';
import type { Define } from '../commands/subcommand.ts';
import { addFlags, append, FLAGS, VAULT_FLAGS } from '../flags/global-flags.ts';
import { runOperation } from '../operation/run-operation.ts';
import type { CommandInput } from './assemble-call.ts';
import { clearableFlags } from './clearing.ts';
import { type FlagKind, type MemberFlag, memberFlags, takesAll } from './member-flags.ts';

/** Adds the arguments, flags and help to the subcommand of an operation, all derived from its row. Returns its work. */
export function defineOperation(command: Command, id: OperationId): ReturnType<Define> {
  const row: Operation = OPERATIONS[id];
  const shared = operationSharing(id);
  const readInput = defineMembers(command, row, shared);
  const clearable = clearableFlags(row).map((flag) => flag.name);
  if (clearable.length > 0) command.option('--clear <member>', clearHelp(clearable), append);
  if (row.cli.byName === 'filter') command.option('--name <text>', NAME_HELP);
  if (row.cli.byName === 'if-missing') command.option('--if-missing', IF_MISSING_HELP);
  const chooser = shared?.sharing.flag;
  if (chooser !== undefined && !command.options.some(({ long }) => long === `--${chooser}`)) {
    command.option(`--${chooser}`, `print one page by ${chooser}; --start continues with its \`next\``);
  }
  if (takesAll(row)) addFlags(command, FLAGS.list);
  if (row.query?.properties?.['wait'] !== undefined) addFlags(command, FLAGS.follow);
  if (row.cli.keyHolder) addFlags(command, { ...FLAGS.tenant, ...FLAGS.archive });
  if (row.body !== undefined) command.option('--body <source>', row.body.properties ? WHOLE_BODY : ANY_BODY);
  command.optionsGroup('Options:');
  addFlags(command, { ...VAULT_FLAGS, ...FLAGS.output });
  if (row.cli.columns.includes('key')) addFlags(command, FLAGS.keyOut);
  if (takesIdempotencyKey(row)) command.option('--idempotency-key <key>', IDEMPOTENCY_HELP);
  addFlags(command, { ...FLAGS.request, ...(row.cli.confirm !== undefined && FLAGS.confirm) });
  command.addHelpText('after', () => `\n${afterHelp(row, shared)}`);
  return async () => {
    const isShared = shared !== undefined && chooses(command, shared, row);
    const input = isShared ? commandInput(command, shared.row, memberFlags(shared.row)) : readInput();
    return runOperation(isShared ? shared.id : id, input, command);
  };
}

/** An operation that shares the command of another one. */
interface SharingOperation {
  readonly id: OperationId;
  readonly row: Operation;
  readonly sharing: NonNullable<OperationCli['sharing']>;
}

/** Returns the operation that shares the command of another one; undefined if none does. */
function operationSharing(id: OperationId): SharingOperation | undefined {
  for (const [other, row] of Object.entries<Operation>(OPERATIONS)) {
    const { sharing } = row.cli;
    if (sharing?.with === id) return { id: other as OperationId, row, sharing };
  }
  return undefined;
}

/**
 * Returns whether the typed flags choose the operation that shares the command: by its flag, or by a member that only it
 * has. Throws the fault `usage` when a member of the other operation is given, too.
 */
function chooses(
  command: Command,
  { row: other, sharing: { flag, isAbsent } }: SharingOperation,
  row: Operation,
): boolean {
  const [own, shared] = [memberFlags(row), memberFlags(other)];
  const typed = command.opts<TypedValues>();
  const isTyped = (name: string) => typed[attribute(name)] !== undefined;
  const only = (of: readonly MemberFlag[], not: readonly MemberFlag[]) =>
    of.map(({ name }) => name).find((name) => isTyped(name) && !not.some((each) => each.name === name));
  if (isAbsent) return !isTyped(flag) && typed.body === undefined;
  const chooser = only(shared, own) ?? (isTyped(flag) ? flag : undefined);
  const isOnePage = isTyped(flag) || other.cli.walk === undefined;
  const rival = typed['all'] && isOnePage ? 'all' : only(own, shared);
  if (chooser === undefined) return false;
  if (rival !== undefined) throw new Fault('usage', `only one of --${chooser} and --${rival} can be given`);
  return true;
}

/**
 * Adds the arguments and the members of a row to a subcommand, and the other members of the operation that shares it.
 * Returns a function that reads the typed words.
 */
export function defineMembers(command: Command, row: Operation, shared?: SharingOperation): () => CommandInput {
  const own = memberFlags(row);
  const more = shared === undefined ? [] : memberFlags(shared.row);
  for (const name of argumentsOf(row)) {
    const param = row.params?.properties?.[name];
    const words = param && row.cli.several ? `<${name}...>` : param ? `<${name}>` : `[${name}]`;
    const { description = '' } = param ?? row.body?.properties?.[name] ?? {};
    command.argument(words, description.replace('The id of the application.', 'The id or name of the application.'));
  }
  command.optionsGroup('Members:');
  for (const { name, kind, repeatable, help } of [
    ...own,
    ...more.filter((flag) => !own.some((one) => one.name === flag.name)),
  ]) {
    const words = `--${name} ${PLACEHOLDERS[kind]}`;
    if (repeatable) command.option(words, help, append);
    // The command works without the flag that chooses between two operations.
    else command.option(words, name === shared?.sharing.flag ? help.replace(/\(required; /, '(') : help);
  }
  return () => commandInput(command, row, own);
}

const WHOLE_BODY = 'read the request body from @file, or from - (standard input)';
const ANY_BODY = 'read the request body from @file, or from - (standard input, the default)';

function clearHelp(clearable: readonly string[]): string {
  return `a member to remove (null in the patch), or one pair, such as metadata.customer. Repeatable. (one of ${clearable.join(', ')})`;
}

const IDEMPOTENCY_HELP =
  'a repeated request with this key within 24 hours changes nothing and returns the record as it is now';

const HOLDER_HELP =
  "On a file or a database without an API key, the holder of the vault's key reads the entries of every tenant.";
const NAME_HELP = 'only applications with this name; reads all pages, like --all';
const IF_MISSING_HELP =
  'create nothing if an application has this name; print that application (parallel calls may create several)';

const PLACEHOLDERS = {
  literal: '<text>',
  time: '<time>',
  age: '<time>',
  text: '<text>',
  number: '<number>',
  boolean: '[bool]',
  json: '<json>',
  pairs: '<name=value>',
  shorthand: '<rule>',
} as const satisfies Record<FlagKind, string>;

interface TypedValues {
  readonly [attribute: string]: string | boolean | readonly string[] | undefined;
  readonly body?: string;
  readonly clear?: readonly string[];
  readonly idempotencyKey?: string;
  readonly name?: string;
  readonly ifMissing?: boolean;
}

function commandInput(command: Command, row: Operation, flags: readonly MemberFlag[]): CommandInput {
  const typed = command.opts<TypedValues>();
  const members: Record<string, readonly string[]> = {};
  for (const flag of flags) {
    const value = typed[attribute(flag.name)];
    if (value !== undefined) members[flag.name] = typeof value === 'object' ? value : [String(value)];
  }
  const inPath = row.cli.several ? command.args.length : Object.keys(row.params?.properties ?? {}).length;
  for (const [at, value] of command.args.slice(inPath).entries()) {
    const argument = row.cli.arguments?.[at];
    const name = flags.find(({ member }) => member === argument)?.name;
    if (name === undefined) continue;
    if (members[name] !== undefined) throw new Fault('usage', `give <${argument}> or --${name}, not both`);
    members[name] = [value];
  }
  const { body, clear, idempotencyKey, ifMissing } = typed;
  const onlyName = row.cli.byName === 'filter' ? typed.name : undefined;
  return { arguments: command.args.slice(0, inPath), members, body, clear, idempotencyKey, onlyName, ifMissing };
}

/** Returns the name under which commander stores a flag's value. */
function attribute(flagName: string): string {
  return flagName.replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
}

function sharedHelp({ row, sharing: { flag, isAbsent } }: SharingOperation): string {
  return `${isAbsent ? 'Without' : 'With'} --${flag}: ${row.method} ${row.path}. ${row.summary}.`;
}

function afterHelp(row: Operation, shared?: SharingOperation): string {
  const facts = [
    ...(row.note === undefined ? [] : [row.note]),
    ...(row.cli.keyHolder === undefined ? [] : [HOLDER_HELP]),
    row.permission === undefined ? 'Needs any valid API key.' : `Needs the permission ${row.permission}.`,
    `In the API: ${row.method} ${row.path}.`,
    ...(shared === undefined ? [] : [sharedHelp(shared)]),
    ...(row.cli.asks === undefined ? [] : ['Without members, the command asks for them on a terminal.']),
  ];
  return `${facts.join('\n')}\n\nExamples:\n${[...row.cli.examples, ...(shared?.row.cli.examples ?? [])].map((line) => `  ${line}`).join('\n')}`;
}
