import type { Command } from 'commander';
import { decodeProblem, parseText } from '../../client/decode-problem.ts';
import type { Call, Client, Reply } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import { PERMISSIONS, type Permission, type PermissionRow } from '../../contract/permissions.ts';
import { Fault } from '../../core/fault.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import type { Credential } from '../../keyring/credential.ts';
import { canPrompt } from '../credential/prompt.ts';
import { findApiKey, readApiKey, readCredential } from '../credential/read-credential.ts';
import { assembleCall, type CommandInput } from '../derive/assemble-call.ts';
import { type MemberFlag, memberFlags, takesAll } from '../derive/member-flags.ts';
import { memberNamer } from '../derive/name-member.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { RefusedReply } from '../exit/refused-reply.ts';
import { report, reportFailure } from '../exit/report-failure.ts';
import { createTextReader } from '../files/text-reader.ts';
import { FLAGS, type FlagsOf, type Line, readFlags, typedLine } from '../flags/global-flags.ts';
import { chooseTarget, openTarget, type Target } from '../flags/target.ts';
import { createListPrinter, createPrinter, partOf } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';
import { withProfile } from '../profiles/with-profile.ts';

/** The flags that only operations have, besides those of their members. */
type OperationFlags = FlagsOf<
  typeof FLAGS.request & typeof FLAGS.list & typeof FLAGS.follow & typeof FLAGS.tenant & typeof FLAGS.archive
>;

interface OperationLine extends Line<OperationFlags> {
  readonly row: Operation;
}

/** Runs the operation of a command line. Resolves to the exit code. Checks what it can before it sends anything. */
export async function runOperation(id: OperationId, typed: CommandInput, command: Command): Promise<ExitCode> {
  const row: Operation = OPERATIONS[id];
  const line = { ...(await withProfile(typedLine<OperationFlags>(command))), row };
  const follow = wantsFollow(line, typed);
  const all = wantsAll(line, typed);
  if (all && follow) throw new Fault('usage', 'only one of --all and --follow can be given');
  const many = all || follow;
  const shown = shownAs(line);
  if (shown !== undefined) {
    const flag = follow ? '--follow' : `--${allFlag(typed)}`;
    if (many) throw new Fault('usage', `${flag} sends many requests: --curl and --dry-run print one`);
    const { showRequest } = await import('./show-request.ts');
    const input = await complete(id, row, typed);
    try {
      const calls = await lookUpNames(line, await assembleCalls(id, input));
      const { withoutRepeats } = await import('./call-each.ts');
      for (const call of withoutRepeats(calls)) await showRequest(call, shown, line);
      return 0;
    } catch (error) {
      return reportFailure(error, line.env, memberNamer(id, input));
    }
  }

  const view = viewOf(row, typed.members);
  const keyOut = row.cli.columns.includes('key') ? readFlags(FLAGS.keyOut, line).keyOut : undefined;
  if (row.cli.confirm !== undefined && row.cli.columns.includes('key')) refuseLostKey(line);
  const print = many ? undefined : createPrinter(line, view);
  const listPrinter = many ? await createListPrinter(line, view, follow) : undefined;
  const target = chooseTarget(line);
  const apiKey = await keyFor(line, target);
  // A form is long: ask for the passphrase first, and find out whether it is right.
  const credential = target.url === undefined && isForm(row, typed) ? await readCredential(target, line) : undefined;
  const input = await complete(id, row, typed);
  const calls = (await assembleCalls(id, input)).map((one) => ({ ...one, apiKey }));
  const [call] = calls;
  if (call === undefined) throw new TypeError('unreachable: no call');
  const nameMember = memberNamer(id, input);
  const consequence = line.flags.yes ? undefined : row.cli.confirm;
  // Without a terminal, fail before the vault is opened.
  if (consequence !== undefined && !canPrompt()) await confirm(consequence, calls);
  const client = await openClient(line, target, apiKey, { all, many: many || calls.length > 1, credential });
  const ofApplications = namesApplication(row);
  try {
    if (row.cli.several) {
      const { callEach } = await import('./call-each.ts');
      return await callEach(client, calls, ofApplications, consequence, nameMember);
    }
    const named = ofApplications
      ? await (await import('./resolve-application.ts')).resolveApplication(client, call)
      : call;
    if (listPrinter !== undefined && follow) {
      return await (await import('./follow-list.ts')).followList(client, named, listPrinter);
    }
    if (listPrinter !== undefined) {
      const { onlyName } = input;
      const isWanted = (item: Json) => onlyName === undefined || selectField(item, ['name']) === onlyName;
      await (await import('./list-all.ts')).listAll(client, named, listPrinter, isWanted);
      return 0;
    }
    const existing = input.ifMissing
      ? await (await import('./resolve-application.ts')).existingApplication(client, call)
      : undefined;
    if (existing !== undefined) {
      report(
        'an application has this name; nothing was created',
        'create another key with `vault apps keys create NAME`',
      );
      await print?.(stringifyJson(existing));
      return 0;
    }
    const send = async (): Promise<string> => {
      if (consequence !== undefined) await confirm(consequence, [named], client);
      const rights = row.cli.replacesRights ? await import('./removed-rights.ts') : undefined;
      const before = await rights?.readBefore(client, named);
      const reply = await client.call(named);
      if (reply.status >= 400) throw new RefusedReply(reply, hintsFor(row, reply, call));
      if (row.body?.properties?.['permissions'] !== undefined) warnOfGrants(call.bodyText);
      rights?.warnOfRemoved(before, reply);
      return reply.bodyText ?? '';
    };
    const bodyText =
      keyOut === undefined ? await send() : await (await import('../credential/key-out.ts')).withKeyFile(keyOut, send);
    if (bodyText === '') return 0;
    await print?.(bodyText).catch((error: unknown) => {
      throw row.audit.effect === 'none' ? error : withChangeMadeHint(error);
    });
    return 0;
  } catch (error) {
    return reportFailure(error, line.env, nameMember);
  } finally {
    await client.close();
  }
}

/**
 * Resolves to the API key of the calls; to undefined if there is none and the holder of the vault's key calls. Rejects
 * with the fault `usage` for a missing key, and for the flags of the holder with a key.
 */
async function keyFor(line: OperationLine, target: Target): Promise<string | undefined> {
  const { row, flags } = line;
  const apiKey = row.cli.keyHolder && target.url === undefined ? await findApiKey(line) : await readApiKey(line);
  const flag = (['tenant', 'archive'] as const).find((name) => flags[name] !== undefined);
  if (!row.cli.keyHolder || flag === undefined || apiKey === undefined) return apiKey;
  throw new Fault('usage', `--${flag} works only without an API key, which reads the log of its own tenant`, {
    hint: 'name a file or a database, and unset VAULT_API_KEY and VAULT_API_KEY_FILE',
  });
}

interface Use {
  readonly all: boolean;
  readonly many: boolean;
  readonly credential?: Credential | undefined;
}

/** Opens the target: for the holder of the vault's key if there is no API key. */
async function openClient(
  line: Line,
  target: Target,
  apiKey: string | undefined,
  { all, many, credential }: Use,
): Promise<Client> {
  if (apiKey !== undefined || target.url !== undefined) {
    return openTarget(target, line, many ? 'many' : 'one', { credential });
  }
  return (await import('./open-holder.ts')).openHolder(target, line, all);
}

/** Resolves to calls that name applications by their ids. Opens the vault only if a call has a name. */
async function lookUpNames(line: OperationLine, calls: readonly Call[]): Promise<readonly Call[]> {
  if (!namesApplication(line.row)) return calls;
  const { mayNameApplication, resolveApplication } = await import('./resolve-application.ts');
  if (!calls.some(mayNameApplication)) return calls;
  const target = chooseTarget(line);
  const apiKey = await keyFor(line, target);
  const client = await openClient(line, target, apiKey, { all: false, many: true });
  try {
    const named: Call[] = [];
    for (const call of calls) {
      named.push({ ...(await resolveApplication(client, { ...call, apiKey })), apiKey: undefined });
    }
    return named;
  } finally {
    await client.close();
  }
}

/** Resolves to the calls of a command line: one for each value of a repeated argument, else one. */
async function assembleCalls(id: OperationId, input: CommandInput): Promise<readonly Call[]> {
  const { several }: Operation['cli'] = OPERATIONS[id].cli;
  const inputs = several ? [...new Set(input.arguments)].map((value) => ({ ...input, arguments: [value] })) : [input];
  const read = createTextReader();
  const calls: Call[] = [];
  for (const one of inputs) calls.push(await assembleCall(id, one, read));
  return calls;
}

async function confirm(consequence: string, calls: readonly Call[], client?: Client): Promise<void> {
  await (await import('./confirm-calls.ts')).confirmCalls(consequence, calls, client);
}

/** Returns the operation's hints for a problem. */
function hintsFor({ cli: { hints = {} } }: Operation, { bodyText }: Reply, call: Call): Operation['cli']['hints'] {
  const given = parseText(call.bodyText ?? '{}');
  const isGiven = (path: string) => Object.hasOwn(Object(given), path.split('.', 1)[0] ?? '');
  const lacks = Object.keys(decodeProblem(bodyText)?.errors ?? {}).some((path) => !isGiven(path));
  const { invalid_request: _about, ...others } = hints;
  return lacks ? hints : others;
}

/** Throws the fault `usage` if the output would leave out a key that replaces another one. */
function refuseLostKey(line: Line): void {
  const { field, quiet } = partOf(line);
  const { columns } = line.flags;
  const isChosen = columns === undefined || columns.split(',').some((one) => one.trim() === 'key');
  const isShown = !quiet && (field === undefined || field === 'key') && isChosen;
  if (isShown || readFlags(FLAGS.keyOut, line).keyOut !== undefined) return;
  const given = quiet ? '--quiet' : isChosen ? `--field ${field}` : `--columns ${columns}`;
  throw new Fault('usage', `${given} would leave out the new API key`, {
    hint: 'keep the key with --key-out FILE, or print it with --field key; the vault shows it only once',
  });
}

/** Returns whether calls name an application: in the path, in the body, or as an actor. */
function namesApplication({ path, body, query }: Operation): boolean {
  const isMember = body?.properties?.['application_id'] ?? query?.properties?.['actor_id'];
  return path.startsWith('/applications/{id}') || isMember !== undefined;
}

/** Warns about permissions in a body that allow more than their names suggest. */
export function warnOfGrants(bodyText = '{}'): void {
  const { permissions = [] } = JSON.parse(bodyText) as { readonly permissions?: readonly Permission[] | null };
  for (const permission of permissions ?? []) {
    const { warning }: PermissionRow = PERMISSIONS[permission];
    if (warning !== undefined) report(warning, 'grant it only to an application that may read every token');
  }
}

/** Returns the view of an operation's results, for the typed members. */
export function viewOf(row: Operation, typed: CommandInput['members'] = {}): ResultView {
  const { result, cli } = row;
  const [first = '', ...others] = cli.columns;
  const isArray = result?.type === 'array';
  const isOnlyList = others.length === 0 && result?.properties?.[first]?.items?.type === 'object';
  return {
    schema: result,
    list: isArray || Object.hasOwn(result?.properties ?? {}, 'pagination'),
    columns: cli.columns,
    rest: true,
    idMember: isArray ? first : undefined,
    nested: isOnlyList ? first : undefined,
    holdsTokens: cli.holdsTokens,
    exactTimes: cli.exactTimes,
    emptyNote: emptyNoteOf(row, typed),
  };
}

function emptyNoteOf(row: Operation, typed: CommandInput['members']): string | undefined {
  const { emptyNote, emptyHints = {}, flags = {} } = row.cli;
  // A poll for newer items needs no remark that there are none.
  if (typed['after'] !== undefined) return undefined;
  const hints = Object.entries(emptyHints).filter(([member]) => typed[flags[member] ?? member] !== undefined);
  const isJoined = ({ part, repeatable, name }: MemberFlag) =>
    part === 'query' && repeatable && typed[name]?.some((text) => text.includes(','));
  const joined = memberFlags(row).find(isJoined);
  const notes = [emptyNote, ...hints.map(([, hint]) => hint), joined && `repeat --${joined.name} for each value`];
  const given = notes.filter((note) => note !== undefined);
  if (given.length === 0) return undefined;
  return [...(emptyNote === undefined ? ['no items'] : []), ...given].join('; ');
}

/** Returns the form in which to show the request instead of sending it; undefined to send it. */
function shownAs({ flags: { curl, dryRun } }: OperationLine): 'curl' | 'dry-run' | undefined {
  if (curl && dryRun) throw new Fault('usage', 'only one of --curl and --dry-run can be given');
  if (curl) return 'curl';
  return dryRun ? 'dry-run' : undefined;
}

function wantsAll({ row, flags }: OperationLine, typed: CommandInput): boolean {
  const isOn = typed.onlyName !== undefined || flags.all === true;
  return takesAll(row) && isOn && isAlone(allFlag(typed), ['page', 'start', 'wait'], typed);
}

function wantsFollow({ row, flags }: OperationLine, typed: CommandInput): boolean {
  const takesFollow = row.query?.properties?.['wait'] !== undefined;
  return takesFollow && flags.follow === true && isAlone('follow', ['page', 'wait', 'start'], typed);
}

/** Returns the flag that makes a list print all pages. */
function allFlag({ onlyName }: CommandInput): 'all' | 'name' {
  return onlyName === undefined ? 'all' : 'name';
}

/** Throws the fault `usage` when a member that selects one page is also given. */
function isAlone(flag: 'all' | 'name' | 'follow', pickers: readonly string[], { members }: CommandInput): true {
  const picker = pickers.find((name) => members[name] !== undefined);
  if (picker === undefined) return true;
  throw new Fault('usage', `only one of --${flag} and --${picker} can be given`);
}

/** Returns whether the command prompts for the members: none was typed, and the operation has a form. */
function isForm(row: Operation, typed: CommandInput): boolean {
  const isBare = Object.keys(typed.members).length === 0 && typed.body === undefined;
  return isBare && row.cli.asks !== undefined && canPrompt();
}

/** Resolves to the input with prompted members, if the command has a form on this terminal. */
async function complete(id: OperationId, row: Operation, typed: CommandInput): Promise<CommandInput> {
  if (row.cli.asks === undefined || !isForm(row, typed)) return typed;
  const { askMembers } = await import('../derive/ask-members.ts');
  return { ...typed, members: await askMembers(id, row.cli.asks) };
}

/** Returns the error. Adds a hint to the fault `usage`: the change was made, and a caller might repeat it. */
function withChangeMadeHint(error: unknown): unknown {
  if (!(error instanceof Fault) || error.code !== 'usage') return error;
  const hint = 'the change was made; only printing it failed';
  return new Fault('usage', error.message, { hint, cause: error });
}
