import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Call, Reply } from '../../../contract/call.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { OPERATIONS, type Operation } from '../../../contract/operations.ts';
import type { Schema } from '../../../contract/schema.ts';
import { Fault } from '../../../core/fault.ts';
import { memberNames } from '../../../core/json/kind.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { readApiKey } from '../../credential/read-credential.ts';
import { bodyOfFlags, type CommandInput, pathParams } from '../../derive/assemble-call.ts';
import { memberFlags } from '../../derive/member-flags.ts';
import { memberNamer, type NameMember } from '../../derive/name-member.ts';
import { defineMembers } from '../../derive/operation-command.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { accepted } from '../../exit/refused-reply.ts';
import { report, reportProblem } from '../../exit/report-failure.ts';
import { createTextReader } from '../../files/text-reader.ts';
import { addFlags, FLAGS, type Line, typedLine, VAULT_FLAGS } from '../../flags/global-flags.ts';
import { chooseTarget, openTarget } from '../../flags/target.ts';
import { listOf, warnOfRemoved } from '../../operation/removed-rights.ts';
import { resolveApplication } from '../../operation/resolve-application.ts';
import { viewOf, warnOfGrants } from '../../operation/run-operation.ts';
import { createPrinter } from '../../output/print-result.ts';
import { asObject, objectOf } from '../../output/result-view.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import type { Define } from '../subcommand.ts';

const UPDATE: Operation = OPERATIONS.updateApplication;

/** How often a change is made again because another caller changed the application meanwhile. */
const MAX_ATTEMPTS = 20;

/** A change of an application: its members as flags, and the members that it replaces. */
interface Change {
  readonly words: readonly [string, string];
  readonly note: string;
  readonly properties: Readonly<Record<string, Schema>>;
  readonly examples: readonly string[];
  /** Returns the new values of members. `given` holds the typed members, `typed` their words. */
  readonly change: (before: JsonObject, given: JsonObject, typed: CommandInput['members']) => JsonObject;
}

const { name, permissions, rules, can_create_expiring_applications } = OPERATIONS.createApplication.body.properties;

/** Returns a rule without its priority, and with the description that the vault gives it. */
const unranked = (rule: Json): Json => ({ description: '', ...asObject(rule), priority: null });

/** `vault apps grant`: adds rights and keeps the others. */
export const defineAppsGrant = defineChange({
  words: ['apps', 'grant'],
  note: 'Keeps all other rights. A rule in words without priority= comes after the rules of the application.',
  properties: { permissions, rules },
  examples: [
    'vault apps grant backend --permission token:search',
    `vault apps grant backend \\\n    --rule 'container=/pci/ transform=mask permissions=token:read'`,
  ],
  change: (before, given, { rule = [] }) => {
    const held = listOf(before, 'permissions');
    const added = listOf(given, 'permissions').filter((permission) => !held.includes(permission));
    const own = listOf(before, 'rules');
    const last = Math.max(0, ...own.map((one) => Number(asObject(one)?.['priority'])));
    const isNumbered = rule.some((words) => /^\s*[[{@-]|(?:^|\s)priority=/.test(words));
    const isHeld = (one: Json) => own.some((each) => isEqual(unranked(each), unranked(one)));
    const next = isNumbered
      ? listOf(given, 'rules')
      : listOf(given, 'rules')
          .filter((one) => !isHeld(one))
          .map((one, at) => ({ ...asObject(one), priority: last + 1 + at }));
    return { permissions: [...held, ...added], rules: [...own, ...next] };
  },
});

/** `vault apps revoke`: removes rights and keeps the others. */
export const defineAppsRevoke = defineChange({
  words: ['apps', 'revoke'],
  note: 'Keeps all other rights. A permission is also removed from the rules; a rule without permissions is removed.',
  properties: {
    permissions: { ...permissions, description: 'The permissions to remove, held plainly or by rules.' },
    priorities: {
      type: 'array',
      items: { type: 'integer', minimum: 1 },
      description: 'The priorities of the rules to remove.',
    },
  },
  examples: ['vault apps revoke backend --permission token:delete', 'vault apps revoke backend --priority 2'],
  change: (before, given) => {
    const revoked = listOf(given, 'permissions');
    const isKept = (permission: Json) => !revoked.includes(permission);
    const { priorities } = given;
    const removed = (Array.isArray(priorities) ? priorities : []).map(Number);
    const left = listOf(before, 'rules')
      .map((rule) => asObject(rule) ?? {})
      .filter(({ priority }) => !removed.includes(Number(priority)))
      .map((rule) => ({ ...rule, permissions: listOf(rule, 'permissions').filter(isKept) }));
    return {
      permissions: listOf(before, 'permissions').filter(isKept),
      rules: left.filter((rule) => rule.permissions.length > 0),
    };
  },
});

/** `vault apps edit`: replaces the named members and keeps the others. */
export const defineAppsEdit = defineChange({
  words: ['apps', 'edit'],
  note: 'Keeps every member that no flag names. `vault apps update` replaces all. Without flags, opens the members in VISUAL or EDITOR.',
  properties: { name, permissions, rules, can_create_expiring_applications },
  examples: ['vault apps edit backend --name service', 'vault apps edit backend --rule @rules.json'],
  change: (_before, given) => given,
});

function defineChange({ words, note, properties, examples, change }: Change): Define {
  const { params } = UPDATE;
  const { replacesRights, ...cli } = UPDATE.cli;
  const row: Operation = {
    ...UPDATE,
    ...(params !== undefined && { params }),
    body: { type: 'object', properties },
    cli: {
      ...cli,
      command: words,
      examples,
      ...(words[1] === 'edit' && { replacesRights }),
    },
  };
  return (command) => {
    const readInput = defineMembers(command, row);
    command.optionsGroup('Options:');
    addFlags(command, { ...VAULT_FLAGS, ...FLAGS.output });
    command.addHelpText(
      'after',
      `\n${note}\nNeeds the permissions application:read and application:update.\n\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`,
    );
    return () => changeApplication(row, change, readInput(), typedLine(command));
  };
}

/**
 * Reads an application, changes it, and writes it if it has not changed meanwhile; else reads it again. Resolves to the
 * exit code.
 */
async function changeApplication(
  row: Operation,
  change: Change['change'],
  input: CommandInput,
  typed: Line,
): Promise<ExitCode> {
  const line = await withProfile(typed);
  const params = pathParams(UPDATE, input.arguments);
  const print = createPrinter(line, viewOf(UPDATE));
  const target = chooseTarget(line);
  const apiKey = await readApiKey(line);
  const bodyFlags = memberFlags(row).filter((flag) => input.members[flag.name] !== undefined);
  const isEdit = row.cli.command[1] === 'edit';
  const editor = isEdit && bodyFlags.length === 0 ? (await import('./edit-json.ts')).editorOf(line.env) : undefined;
  if (bodyFlags.length === 0 && editor === undefined) {
    const hint = `name a member, such as --${memberFlags(row)[0]?.name}${isEdit ? ', or set EDITOR' : ''}`;
    throw new Fault('usage', 'no member is given', { hint });
  }
  const given =
    editor === undefined ? objectOf(await bodyOfFlags(row, bodyFlags, input, createTextReader())) : undefined;
  const client = await openTarget(target, line, 'many');
  try {
    const read: Call = { operation: 'getApplication', apiKey, params, query: [] };
    const named = await resolveApplication(client, read);
    for (let attempt = 1; ; attempt += 1) {
      const found = accepted(await client.call(named));
      const before = objectOf(found.bodyText);
      const changed =
        given === undefined ? await editMembers(editor ?? '', row, before) : change(before, given, input.members);
      if (Object.entries(changed).every(([member, value]) => isEqual(value, before[member]))) {
        report('the application already is as requested; nothing was changed');
        await print(found.bodyText ?? '');
        return 0;
      }
      requireRights({ ...before, ...changed } as JsonObject);
      const { created_at, created_by } = before;
      const bodyText = stringifyJson({
        modified_at: created_at,
        modified_by: created_by,
        ...before,
        ...changed,
      } as JsonObject);
      const reply = await client.call({
        ...named,
        operation: 'updateApplication',
        mediaType: 'application/json',
        bodyText,
      });
      // Trying again would apply the edited text to a version that the user has not seen.
      if (isStale(reply) && editor === undefined && attempt < MAX_ATTEMPTS) continue;
      if (reply.status >= 400) return reportProblem(reply, namerOf(input, given, before, changed));
      const held = listOf(before, 'permissions');
      const added = listOf(changed, 'permissions').filter((permission) => !held.includes(permission));
      warnOfGrants(stringifyJson({ permissions: added }));
      if (row.cli.replacesRights)
        warnOfRemoved(before, reply, 'use `vault apps grant` to add rights and keep the others');
      await print(reply.bodyText ?? '');
      return 0;
    }
  } finally {
    await client.close();
  }
}

/**
 * Returns a function that replaces a member's path by the flag that set it. A flag either replaces the member's list or
 * appends to the stored list.
 */
function namerOf(
  input: CommandInput,
  given: JsonObject | undefined,
  before: JsonObject,
  changed: JsonObject,
): NameMember {
  const nameMember = memberNamer('updateApplication', input);
  return (path) => {
    const [member = '', at, ...inside] = path.split('.');
    if (given?.[member] === undefined) return path;
    const count = (one: JsonObject) => (Array.isArray(one[member]) ? one[member].length : 0);
    if (count(changed) === count(given)) return nameMember(path);
    if (count(changed) !== count(before) + count(given)) return path;
    return nameMember([member, Number(at) - count(before), ...inside].join('.'));
  };
}

/** Opens the members of an application in an editor. Resolves to their new values; undefined for a removed member. */
async function editMembers(editor: string, row: Operation, before: JsonObject): Promise<JsonObject> {
  const names = Object.keys(row.body?.properties ?? {}).filter((member) => before[member] !== undefined);
  const shown = Object.fromEntries(names.map((member) => [member, before[member] ?? null]));
  const edited = await (await import('./edit-json.ts')).editJson(editor, shown);
  if (edited === undefined) return {};
  const all = new Set([...names, ...memberNames(edited)]);
  return Object.fromEntries([...all].map((member) => [member, edited[member]])) as JsonObject;
}

/** Throws the fault `invalid_data` for an application without permissions and rules. */
function requireRights(application: JsonObject): void {
  const { permissions = [], rules = [] } = application;
  // The vault reports a value that is no list.
  if (![permissions, rules].every((list) => Array.isArray(list) && list.length === 0)) return;
  throw new Fault('invalid_data', 'the application would have no permission left', {
    hint: 'delete it with `vault apps delete`, or its keys with `vault apps keys delete`',
  });
}

function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  return stringifyJson(a ?? null) === stringifyJson(b ?? null);
}

function isStale({ status, bodyText }: Reply): boolean {
  return status === 409 && decodeProblem(bodyText)?.code === 'write_conflict';
}
