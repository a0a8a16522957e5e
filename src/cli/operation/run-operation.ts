import type { Command } from 'commander';
import type { Call, Client } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import { PERMISSIONS, type Permission, type PermissionRow } from '../../contract/permissions.ts';
import { Fault } from '../../core/fault.ts';
import { canPrompt } from '../credential/prompt.ts';
import { readApiKey } from '../credential/read-credential.ts';
import { assembleCall, type CommandInput } from '../derive/assemble-call.ts';
import { takesAll } from '../derive/member-flags.ts';
import { memberNamer } from '../derive/name-member.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { report, reportFailure, reportProblem } from '../exit/report-failure.ts';
import { createTextReader } from '../files/text-reader.ts';
import {
  type Environment,
  FLAGS,
  flagValue,
  type GlobalFlags,
  isSwitchedOn,
  type OperationFlags,
  typedFlags,
} from '../flags/global-flags.ts';
import { chooseTarget, openTarget } from '../flags/target.ts';
import { createListPrinter, createPrinter, partOf } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { selectField } from '../output/select-field.ts';
import { withProfile } from '../profiles/with-profile.ts';

/** Runs the operation of a command line. Resolves to the exit code. Checks what it can before it sends anything. */
export async function runOperation(id: OperationId, typed: CommandInput, command: Command): Promise<ExitCode> {
  const row: Operation = OPERATIONS[id];
  const flags = typedFlags<OperationFlags>(command);
  const env = await withProfile(flags, process.env);
  const follow = wantsFollow(row, flags, env, typed);
  const all = wantsAll(row, flags, env, typed);
  if (all && follow) throw new Fault('usage', 'only one of --all and --follow can be given');
  const many = all || follow;
  const shown = shownAs(flags, env);
  if (shown !== undefined) {
    const flag = follow ? '--follow' : `--${allFlag(typed)}`;
    if (many) throw new Fault('usage', `${flag} sends many requests: --curl and --dry-run print one`);
    const { showRequest } = await import('./show-request.ts');
    const input = await complete(id, row, typed);
    try {
      for (const call of await assembleCalls(id, input)) await showRequest(call, shown, flags, env);
      return 0;
    } catch (error) {
      return reportFailure(error, env, memberNamer(id, input));
    }
  }

  const view = viewOf(row);
  if (row.cli.confirm !== undefined && row.cli.columns.includes('key')) refuseLostKey(flags, env);
  const print = many ? undefined : createPrinter(flags, env, view);
  const listPrinter = many ? await createListPrinter(flags, env, view, follow) : undefined;
  const target = chooseTarget(flags, env);
  const apiKey = await readApiKey(flags, env);
  const input = await complete(id, row, typed);
  const calls = (await assembleCalls(id, input)).map((one) => ({ ...one, apiKey }));
  const [call] = calls;
  if (call === undefined) throw new TypeError('unreachable: no call');
  const nameMember = memberNamer(id, input);
  const consequence = isSwitchedOn(flags.yes, env, FLAGS.confirm.yes) ? undefined : row.cli.confirm;
  // Without a terminal, fail before the vault is opened.
  if (consequence !== undefined && !canPrompt()) await confirm(consequence, calls);
  const client = await openTarget(target, flags, env, many || calls.length > 1 ? 'many' : 'one');
  try {
    if (listPrinter !== undefined && follow) {
      return await (await import('./follow-list.ts')).followList(client, call, listPrinter, nameMember);
    }
    if (listPrinter !== undefined) {
      const { onlyName } = input;
      const isWanted = (item: Json) => onlyName === undefined || selectField(item, ['name']) === onlyName;
      return await (await import('./list-all.ts')).listAll(client, call, listPrinter, nameMember, isWanted);
    }
    if (row.cli.several) {
      const ofApplications = namesApplication(row);
      return await (await import('./call-each.ts')).callEach(client, {
        calls,
        ofApplications,
        consequence,
        nameMember,
      });
    }
    const keyOut = row.cli.columns.includes('key') ? flagValue(flags.keyOut, env, FLAGS.keyOut.keyOut) : undefined;
    const keyFile =
      keyOut === undefined ? undefined : await (await import('../credential/key-out.ts')).reserveKeyFile(keyOut);
    try {
      const named = namesApplication(row)
        ? await (await import('./resolve-application.ts')).resolveApplication(client, call)
        : call;
      if (consequence !== undefined && !('status' in named)) await confirm(consequence, [named], client);
      const existing = input.ifMissing
        ? await (await import('./resolve-application.ts')).existingApplication(client, call)
        : undefined;
      const rights = row.cli.replacesRights && !('status' in named) ? await import('./removed-rights.ts') : undefined;
      const before = 'status' in named ? undefined : await rights?.readBefore(client, named);
      const reply = existing ?? ('status' in named ? named : await client.call(named));
      if (reply.status >= 400) return reportProblem(reply, nameMember);
      if (existing !== undefined) {
        report('an application has this name; nothing was created', 'create another key with `vault apps keys create`');
        await print?.(existing.bodyText ?? '');
        return 0;
      }
      if (row.body?.properties?.['permissions'] !== undefined) warnOfGrants(call.bodyText);
      rights?.warnOfRemoved(before, reply);
      if (reply.bodyText === undefined) return 0;
      const bodyText = keyFile === undefined ? reply.bodyText : await keyFile.take(reply.bodyText);
      await print?.(bodyText).catch((error: unknown) => {
        throw row.audit.effect === 'none' ? error : withChangeMadeHint(error);
      });
      return 0;
    } finally {
      await keyFile?.discard();
    }
  } finally {
    await client.close();
  }
}

/** Resolves to the calls of a command line: one for each value of a repeated argument, else one. */
async function assembleCalls(id: OperationId, input: CommandInput): Promise<readonly Call[]> {
  const { several }: Operation['cli'] = OPERATIONS[id].cli;
  const inputs = several ? input.arguments.map((value) => ({ ...input, arguments: [value] })) : [input];
  const read = createTextReader();
  const calls: Call[] = [];
  for (const one of inputs) calls.push(await assembleCall(id, one, read));
  return calls;
}

async function confirm(consequence: string, calls: readonly Call[], client?: Client): Promise<void> {
  await (await import('./confirm-calls.ts')).confirmCalls(consequence, calls, client);
}

/** Throws the fault `usage` if the output would leave out a key that replaces another one. */
function refuseLostKey(flags: OperationFlags & GlobalFlags, env: Environment): void {
  const { field, quiet } = partOf(flags, env);
  const { columns } = flags;
  const isChosen = columns === undefined || columns.split(',').some((one) => one.trim() === 'key');
  const isShown = !quiet && (field === undefined || field === 'key') && isChosen;
  if (isShown || flagValue(flags.keyOut, env, FLAGS.keyOut.keyOut) !== undefined) return;
  const given = quiet ? '--quiet' : isChosen ? `--field ${field}` : `--columns ${columns}`;
  throw new Fault('usage', `${given} would leave out the new API key`, {
    hint: 'keep the key with --key-out FILE, or print it with --field key; the vault shows it only once',
  });
}

/** Returns whether a call names an application, in its path or in its body. */
function namesApplication({ path, body }: Operation): boolean {
  return path.startsWith('/applications/{id}') || body?.properties?.['application_id'] !== undefined;
}

/** Warns about permissions in a body that allow more than their names suggest. */
export function warnOfGrants(bodyText = '{}'): void {
  const { permissions = [] } = JSON.parse(bodyText) as { readonly permissions?: readonly Permission[] | null };
  for (const permission of permissions ?? []) {
    const { warning }: PermissionRow = PERMISSIONS[permission];
    if (warning !== undefined) report(warning, 'grant it only to an application that may read every token');
  }
}

/** Returns whether the only column of a result is a list of objects. */
function isOnlyList(result: Operation['result'], [column = '', ...others]: readonly string[]): boolean {
  return others.length === 0 && result?.properties?.[column]?.items?.type === 'object';
}

/** Returns the view of an operation's results. */
export function viewOf(row: Operation): ResultView {
  const { result, cli } = row;
  const isArray = result?.type === 'array';
  const list = isArray || Object.hasOwn(result?.properties ?? {}, 'pagination');
  return {
    schema: result,
    list,
    columns: cli.columns,
    rest: true,
    ...(isArray && { idMember: cli.columns[0] ?? 'id' }),
    ...(isOnlyList(result, cli.columns) && { nested: cli.columns[0] ?? '' }),
    ...(cli.holdsTokens && { holdsTokens: true }),
  };
}

/** Returns the form in which to show the request instead of sending it; undefined to send it. */
function shownAs(flags: OperationFlags, env: Environment): 'curl' | 'dry-run' | undefined {
  const isTyped = flags.curl !== undefined || flags.dryRun !== undefined;
  const isOn = (name: 'curl' | 'dryRun') => isSwitchedOn(flags[name], isTyped ? {} : env, FLAGS.request[name]);
  if (isOn('curl') && isOn('dryRun')) throw new Fault('usage', 'only one of --curl and --dry-run can be given');
  if (isOn('curl')) return 'curl';
  return isOn('dryRun') ? 'dry-run' : undefined;
}

function wantsAll(row: Operation, flags: OperationFlags, env: Environment, typed: CommandInput): boolean {
  const isOn = typed.onlyName !== undefined || isSwitchedOn(flags.all, env, FLAGS.list.all);
  return takesAll(row) && isOn && isAlone(allFlag(typed), ['page', 'start', 'wait'], typed);
}

function wantsFollow(row: Operation, flags: OperationFlags, env: Environment, typed: CommandInput): boolean {
  const takesFollow = row.query?.properties?.['wait'] !== undefined;
  return (
    takesFollow &&
    isSwitchedOn(flags.follow, env, FLAGS.follow.follow) &&
    isAlone('follow', ['page', 'wait', 'start'], typed)
  );
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

/** Resolves to the input with prompted members, if none was typed and the operation has prompts on this terminal. */
async function complete(id: OperationId, row: Operation, typed: CommandInput): Promise<CommandInput> {
  const isBare = Object.keys(typed.members).length === 0 && typed.body === undefined;
  if (!isBare || row.cli.asks === undefined || !canPrompt()) return typed;
  const { askMembers } = await import('../derive/ask-members.ts');
  return { ...typed, members: await askMembers(id, row.cli.asks) };
}

/** Returns the error. Adds a hint to the fault `usage`: the change was made, and a caller might repeat it. */
function withChangeMadeHint(error: unknown): unknown {
  if (!(error instanceof Fault) || error.code !== 'usage') return error;
  const hint = 'the change was made; only printing it failed';
  return new Fault('usage', error.message, { hint, cause: error });
}
