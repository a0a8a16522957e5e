import type { Json } from '../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import {
  APPLICATION_TYPES,
  CONDITION,
  PERMISSIONS,
  type PermissionRow,
  TRANSFORMS,
} from '../../contract/permissions.ts';
import { CONTAINER, NAME } from '../../contract/schema.ts';
import {
  type DataRule,
  type MemberRule,
  TOKEN_TYPES,
  type TokenType,
  type ValueRule,
} from '../../contract/token-types.ts';
import { JsonSyntaxError, parseJson } from '../../core/json/parse.ts';
import { checkValue } from '../../core/tokens/validate-data.ts';
import type { CommandInput } from './assemble-call.ts';
import { memberFlags } from './member-flags.ts';

/** The streams for questions. The output is stderr, because stdout carries only results. */
export interface Terminal {
  readonly input?: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Returns the prompts on a terminal. `answer` returns the answer to an earlier question. */
function promptsOn(
  terminal: Terminal,
  prompts: typeof import('@inquirer/prompts'),
  answer: (member: string) => string,
) {
  type Choice = string | { readonly value: string; readonly description?: string };
  return {
    answer,
    select: (message: string, choices: readonly Choice[]) => prompts.select({ message, choices }, terminal),
    input: (config: Parameters<typeof prompts.input>[0]) => prompts.input(config, terminal),
    password: (config: Parameters<typeof prompts.password>[0]) => prompts.password(config, terminal),
    confirm: (message: string) => prompts.confirm({ message, default: false }, terminal),
    checkbox: (message: string, choices: readonly Choice[], required: boolean) =>
      prompts.checkbox({ message, choices, required }, terminal),
  };
}

type Asking = ReturnType<typeof promptsOn>;

/** Asks for one member. Resolves to the answers as flag values, or to an empty list for a skipped member. */
type Question = (asking: Asking) => Promise<readonly string[]>;

const QUESTIONS: Readonly<Record<string, Question>> = {
  'createToken.type': async ({ select }) => [await select('Type of the token', choicesOf(TOKEN_TYPES))],
  'createToken.data': async (asking) => [await askData(asking, asking.answer('type') as TokenType)],
  'createApplication.name': async ({ input }) => [
    await input({ message: 'Name', required: true, validate: (name) => fits(name, NAME) }),
  ],
  'createApplication.type': async ({ select }) => [
    await select('Type of the application', choicesOf(APPLICATION_TYPES)),
  ],
  'createApplication.permissions': askPlainPermissions,
  'createApplication.rules': askRules,
};

/**
 * Prompts for these members of an operation's body, in order. Resolves to the answers by flag name. Rejects with
 * inquirer's `ExitPromptError` on Ctrl-C.
 */
export async function askMembers(
  id: OperationId,
  members: readonly string[],
  terminal: Terminal = { output: process.stderr },
): Promise<CommandInput['members']> {
  const row: Operation = OPERATIONS[id];
  const answers = new Map<string, readonly string[]>();
  const asking = promptsOn(terminal, await import('@inquirer/prompts'), (member) => answers.get(member)?.[0] ?? '');
  for (const member of members) {
    const ask = QUESTIONS[`${id}.${member}`];
    if (ask === undefined) throw new TypeError(`unreachable: nothing asks for ${member}`);
    answers.set(member, await ask(asking));
  }
  const flags = memberFlags(row);
  const given = [...answers].filter(([, values]) => values.length > 0);
  return Object.fromEntries(
    given.map(([member, values]) => [flags.find((flag) => flag.member === member)?.name ?? member, values]),
  );
}

async function askData(asking: Asking, type: TokenType): Promise<string> {
  const rule: DataRule = TOKEN_TYPES[type].data;
  if (rule.kind === 'object') return askObject(asking, rule.members);
  if (type !== 'token')
    return JSON.stringify(await askSecret(asking, TOKEN_TYPES[type].summary, { ...rule, required: true }));
  if ((await asking.select('The value is', ['text', 'JSON'])) === 'text')
    return JSON.stringify(await askSecret(asking, 'Text (may be empty)', { ...rule, required: false }));
  const validate = (text: string) => isJson(text, (value) => checkValue(rule, value));
  return asking.input({ message: 'JSON', required: true, validate });
}

/** Asks for the members of an object. Resolves to its JSON text. An empty answer omits an optional member. */
async function askObject(asking: Asking, members: Readonly<Record<string, MemberRule>>): Promise<string> {
  const parts: string[] = [];
  for (const [name, member] of Object.entries(members)) {
    const message = member.required ? name : `${name} (optional)`;
    const isNumber = member.kind === 'number';
    const typed = await (isNumber ? askNumber : askSecret)(asking, message, member);
    if (typed !== '') parts.push(`${JSON.stringify(name)}:${isNumber ? typed : JSON.stringify(typed)}`);
  }
  return `{${parts.join(',')}}`;
}

/** The rules that an answer must follow. */
type AnswerRule = ValueRule & { readonly required: boolean };

function askNumber({ input }: Asking, message: string, rule: AnswerRule): Promise<string> {
  const validate = (typed: string) =>
    (typed === '' && !rule.required) || (checkValue(rule, Number(typed)) ?? /^\d+$/.test(typed));
  return input({ message, validate }).then((typed) => (typed === '' ? '' : String(Number(typed))));
}

function askSecret({ password }: Asking, message: string, rule: AnswerRule): Promise<string> {
  const validate = (typed: string) =>
    (typed === '' && !rule.required) || (typed === '' ? 'is required' : (checkValue(rule, typed) ?? true));
  return password({ message, mask: '*', validate });
}

/** Asks for the plain permissions. Leaves out those that reveal every token: a flag grants them. */
function askPlainPermissions(asking: Asking): Promise<readonly string[]> {
  if (asking.answer('type') === 'management') return askPermissions(asking, 'Permissions', false);
  return askPermissions(asking, 'Permissions on every token, masked', true, ({ transform }) => transform !== 'reveal');
}

function askPermissions(
  { checkbox, answer }: Asking,
  message: string,
  mayBeNone: boolean,
  isOffered: (row: PermissionRow) => boolean = () => true,
): Promise<readonly string[]> {
  const type = answer('type');
  const rows = Object.entries<PermissionRow>(PERMISSIONS);
  const fitting = rows.filter(([, row]) => row.types.some((one) => one === type) && isOffered(row));
  const choices = fitting.map(([value, row]) => ({ value, description: row.allows }));
  return checkbox(message, choices, !mayBeNone);
}

/** Asks for access rules, at least one if the application has no plain permission. Skips a management application. */
async function askRules(asking: Asking): Promise<readonly string[]> {
  const { confirm, answer } = asking;
  const rules: string[] = [];
  if (answer('type') === 'management') return rules;
  const must = answer('permissions') === '';
  const more = () => confirm(rules.length === 0 ? 'Add an access rule?' : 'Add another rule?');
  while ((must && rules.length === 0) || (await more())) rules.push(await askRule(asking, rules.length + 1));
  return rules;
}

async function askRule(asking: Asking, priority: number): Promise<string> {
  const isExpiring = asking.answer('type') === 'expiring';
  const scope = isExpiring ? { conditions: [await askCondition(asking)] } : { container: await askContainer(asking) };
  const transform = await asking.select('The rule shows data', choicesOf(TRANSFORMS));
  const permissions = await askPermissions(asking, 'The rule allows', false);
  return JSON.stringify({ description: '', priority, ...scope, transform, permissions });
}

function askContainer({ input }: Asking): Promise<string> {
  return input({
    message: 'Container, such as /pci/; / for every token',
    required: true,
    validate: (path) => fits(path, CONTAINER),
  });
}

async function askCondition({ select, input }: Asking): Promise<object> {
  const { attribute, operator, value } = CONDITION.properties;
  return {
    attribute: await select(attribute.description, attribute.enum),
    operator: await select(operator.description, operator.enum),
    value: await input({ message: value.description, required: true, validate: (text) => fits(text, value) }),
  };
}

/** Returns the names of a table as choices, each with its summary. */
function choicesOf(table: Readonly<Record<string, string | { readonly summary: string }>>) {
  return Object.entries(table).map(([value, row]) => ({
    value,
    description: typeof row === 'string' ? row : row.summary,
  }));
}

function fits(text: string, schema: { readonly maxLength: number; readonly pattern: string }): true | string {
  if (text.length > schema.maxLength) return `must have at most ${schema.maxLength} characters`;
  return new RegExp(schema.pattern, 'u').test(text) || 'is malformed or contains characters that are not allowed';
}

function isJson(text: string, check: (value: Json) => string | undefined): true | string {
  try {
    return check(parseJson(text)) ?? true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return `${error.reason} (character ${error.position + 1})`;
    throw error;
  }
}
