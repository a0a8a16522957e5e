import type { Call } from '../../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../../contract/schema.ts';
import { Fault } from '../../core/fault.ts';
import type { ReadText } from '../files/text-reader.ts';
import { type Clearing, readClearing } from './clearing.ts';
import { flagToJson, splitLists, splitPair, timeOfAge } from './flag-to-json.ts';
import { type MemberFlag, memberFlags } from './member-flags.ts';
import { wrongMember } from './wrong-member.ts';

/** The uninterpreted words of an operation's command line. */
export interface CommandInput {
  readonly arguments: readonly string[];
  /** The values of all occurrences of a flag, in order, by flag name. A boolean flag without a value is `'true'`. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  /** `--body`: `@file` or `-`. */
  readonly body?: string | undefined;
  /** `--clear`: the members to remove, or single pairs of one (`expires-at`, `metadata.customer`). */
  readonly clear?: readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
  /** `--name` of a list: the only name to show. */
  readonly onlyName?: string | undefined;
  /** `--if-missing` of a create. */
  readonly ifMissing?: boolean | undefined;
}

/**
 * Returns the call of a command line, without its API key. Assembles the JSON body from the given texts, so that no
 * value changes. Throws the faults `usage` and `invalid_request`.
 */
export async function assembleCall(id: OperationId, input: CommandInput, read: ReadText): Promise<Call> {
  const row: Operation = OPERATIONS[id];
  const given = memberFlags(row).filter((flag) => input.members[flag.name] !== undefined);
  const params = pathParams(row, input.arguments);
  const query = given
    .filter((flag) => flag.part === 'query')
    .flatMap((flag) => queryEntries(flag, input.members[flag.name] ?? []));
  const { idempotencyKey } = input;
  if (idempotencyKey !== undefined && !new RegExp(IDEMPOTENCY_KEY).test(idempotencyKey)) {
    throw wrongMember({ name: 'idempotency-key', member: 'IDEMPOTENCY-KEY' }, IDEMPOTENCY_KEY_RULE);
  }
  const call = { operation: id, params, query, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  if (row.body === undefined) return call;
  const bodyFlags = given.filter((flag) => flag.part === 'body');
  if (row.bodyOptional && input.body === undefined && bodyFlags.length === 0) return call;
  const bodyText =
    input.body === undefined
      ? await bodyOfFlags(row, bodyFlags, input, read)
      : await wholeBody(input.body, input.clear === undefined ? bodyFlags[0]?.name : 'clear', read);
  return { ...call, bodyText, mediaType: row.mediaType ?? 'application/json' };
}

/** Returns the path parameters of the arguments. Throws the fault `usage`. */
export function pathParams(row: Operation, values: readonly string[]): Readonly<Record<string, string>> {
  const names = Object.keys(row.params?.properties ?? {});
  const params = Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
  for (const [name, value] of Object.entries(params)) {
    if (value === '') throw new Fault('usage', `<${name}> must not be empty`);
  }
  const path = row.path.replace(/\{(\w+)\}/g, (_whole, name: string) => params[name] ?? '');
  const namesake = Object.values(OPERATIONS).find((other) => other.method === row.method && other.path === path);
  if (namesake === undefined || namesake.path === row.path) return params;
  // Reject a word that would turn the HTTP path into that of another operation.
  throw new Fault('usage', 'this word is an API path, not an id', {
    hint: `run \`vault ${namesake.cli.command.join(' ')}\`, or name an application with this name by its id`,
  });
}

function queryEntries(flag: MemberFlag, typed: readonly string[]): readonly (readonly [string, string])[] {
  if (flag.kind === 'age') return typed.map((value) => [flag.member, timeOfAge(flag, value)] as const);
  if (flag.kind !== 'pairs') return splitLists(flag, typed).map((value) => [flag.member, value] as const);
  return typed.map((pair) => {
    const [name, value] = splitPair(flag, pair);
    return [`${flag.member}.${name}`, value] as const;
  });
}

async function wholeBody(typed: string, other: string | undefined, read: ReadText): Promise<string> {
  if (other !== undefined) throw new Fault('usage', `only one of --body and --${other} can be given`);
  if (typed !== '-' && !typed.startsWith('@'))
    throw new Fault('usage', '--body must be @file, or - for standard input');
  return read('--body', typed);
}

/** Resolves to the JSON text of the members that flags give. Rejects with the fault `usage`. */
export async function bodyOfFlags(
  row: Operation,
  bodyFlags: readonly MemberFlag[],
  input: CommandInput,
  read: ReadText,
): Promise<string> {
  if (row.body?.properties === undefined) return read('--body', '-');
  const clearing = readClearing(row, input.clear ?? []);
  const isMissing = (member: string) => !bodyFlags.some((flag) => flag.member === member);
  const missing = (row.body?.required ?? []).filter(isMissing).map((member) => alternatives(row, member));
  if (missing.length > 0) {
    const hint = row.cli.replacesRights
      ? 'an update replaces all members; use `vault apps edit` to keep the others'
      : 'pass the whole body with --body @file; --help lists all flags';
    throw new Fault('usage', `${missing.join(' and ')} must be given`, { hint });
  }
  if (bodyFlags.length === 0 && clearing.size === 0) {
    const hint = `name a member, e.g. ${exampleFlag(row)}, or pass the whole body with --body @file`;
    throw new Fault('usage', 'no member is given', { hint });
  }
  const texts = new Map<string, string>();
  for (const flag of memberFlags(row).filter((one) => one.part === 'body')) {
    const text = await memberText(flag, input.members[flag.name], clearing, read);
    if (text === undefined) continue;
    if (texts.has(flag.member) && input.members[flag.name] !== undefined) {
      throw new Fault('usage', `only one of ${alternatives(row, flag.member)} can be given`);
    }
    texts.set(flag.member, text);
  }
  return printObject(gatherSpread(row, [...texts]));
}

type Texts = readonly (readonly [member: string, text: string])[];

function printObject(members: Texts): string {
  return `{${members.map(([member, text]) => `${JSON.stringify(member)}:${text}`).join(',')}}`;
}

/** Moves members such as `settings.x` into the object `settings`, the operation's spread member. */
function gatherSpread({ cli: { spread } }: Operation, members: Texts): Texts {
  const isInner = ([member]: Texts[number]) => member.startsWith(`${spread}.`);
  const inner = members.filter(isInner).map(([member, text]) => [member.slice(`${spread}.`.length), text] as const);
  if (spread === undefined || inner.length === 0) return members;
  return [...members.filter((each) => !isInner(each)), [spread, printObject(inner)]];
}

async function memberText(
  flag: MemberFlag,
  typed: readonly string[] | undefined,
  clearing: Clearing,
  read: ReadText,
): Promise<string | undefined> {
  const cleared = clearing.get(flag.member);
  if (cleared === 'whole') {
    if (typed === undefined) return 'null';
    throw new Fault('usage', `only one of --${flag.name} and --clear ${flag.member} can be given`);
  }
  return typed === undefined && cleared === undefined ? undefined : flagToJson(flag, typed ?? [], read, cleared);
}

/** Returns an argument or a flag that bodies of this kind often use: `--metadata k=v`, `--name <name>`. */
function exampleFlag(row: Operation): string {
  const [argument] = row.cli.arguments ?? [];
  if (argument !== undefined) return `<${argument}>`;
  const flags = memberFlags(row).filter((flag) => flag.part === 'body');
  const pairs = flags.find((flag) => flag.kind === 'pairs');
  return pairs === undefined ? `--${flags[0]?.name} …` : `--${pairs.name} k=v`;
}

/** Returns the flags of one member: `--data or --text`. */
function alternatives(row: Operation, member: string): string {
  if (row.cli.arguments?.includes(member)) return `<${member}>`;
  return memberFlags(row)
    .filter((flag) => flag.part === 'body' && flag.member === member)
    .map((flag) => `--${flag.name}`)
    .join(' or ');
}
