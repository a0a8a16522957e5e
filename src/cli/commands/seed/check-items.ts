import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType } from '../../../contract/token-types.ts';
import { type ApplicationDefinition, checkApplication } from '../../../core/access/check-application.ts';
import { type MemberErrors, Problem } from '../../../core/problem.ts';
import { memberErrors } from '../../../core/request/member-errors.ts';
import { checkSyntax } from '../../../core/tokens/derive.ts';
import { parseExpiresAt } from '../../../core/tokens/expires-at.ts';
import { checkTokenId } from '../../../core/tokens/token-id.ts';
import { validateData } from '../../../core/tokens/validate-data.ts';
import { asObject } from '../../output/result-view.ts';
import { type GeneratedKind, KINDS } from './generate-data.ts';
import { asText, itemIds, type SeedItem, type SeedText, tokenAppName } from './read-seed-file.ts';
import type { SeedFlaws } from './seed-flaws.ts';
import { SEED_SCHEMA } from './seed-schema.ts';
import { SEED_VALIDATOR } from './seed-validator.generated.js';

/** The members of a token that hold expressions. */
const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression'] as const;

/** The members of an application in a seed, after the schema has checked them. */
type AppMembers = JsonObject & Partial<ApplicationDefinition> & Pick<ApplicationDefinition, 'type'>;

/** Adds a flaw of an item, unless the member has one. `path` is the dotted path of the member inside the item. */
type AddFlaw = (path: string, message: string) => void;

/** Adds a flaw for each schema error. Skips members with a flaw, which may hold the placeholder of a reference. */
export function checkSchema(text: SeedText, value: Json, flaws: SeedFlaws): void {
  if (SEED_VALIDATOR(value)) return;
  const isObject = asObject(value) !== undefined;
  for (const [path, messages] of Object.entries(memberErrors(SEED_SCHEMA, SEED_VALIDATOR.errors ?? [], value))) {
    if (!isObject) flaws.add(text, '', messages.join('; '));
    else if (!flaws.has(text, path)) flaws.add(text, path, messages.join('; '));
  }
}

/** Adds the flaws of items that the schema cannot express. */
export function checkItems(items: readonly SeedItem[], seed: string, flaws: SeedFlaws): void {
  const paths = new Map<string, SeedText>();
  const [names, ids] = [new Set([tokenAppName(seed)]), new Set<string>()];
  for (const one of items) {
    const { text, kind, item, path, value } = one;
    const isFlawed = (member: string): boolean => flaws.has(text, `${path}.${member}`);
    const add: AddFlaw = (member, message) => {
      if (!isFlawed(member)) flaws.add(text, `${path}.${member}`, message);
    };
    const other = paths.get(path);
    paths.set(path, text);
    if (other !== undefined) flaws.add(text, path, `also appears in ${other.file}`);
    else if (kind === 'apps') {
      // `checkApplication` expects well-formed members.
      if (!flaws.has(text, path))
        addRejected(add, () => checkApplication({ permissions: [], rules: [], ...(value as AppMembers) }));
      const name = asText(value['name']) ?? item;
      if (names.has(name)) flaws.add(text, path, `another application of the seed has the name ${name}`);
      names.add(name);
    } else if (kind === 'tokens') {
      checkToken(value, add, isFlawed);
      // A token's name is the default of its id.
      if (!flaws.hasAt(text, path) && !isFlawed('id'))
        checkIds(itemIds(one), ids, add, (message) => flaws.add(text, path, message));
    }
  }
}

function checkToken(token: JsonObject, add: AddFlaw, isFlawed: (member: string) => boolean): void {
  const [kind, type] = [asText(token['generate']), asText(token['type'])];
  if (kind === undefined) {
    for (const name of ['type', 'data']) if (!Object.hasOwn(token, name)) add(name, 'is required');
    if (token['count'] !== undefined) add('count', 'works only with `generate`');
    if (token['data'] !== undefined && type !== undefined && Object.hasOwn(TOKEN_TYPES, type))
      addErrors(add, validateData(type as TokenType, token['data']));
  } else {
    if (Object.hasOwn(token, 'data')) add('data', 'only one of data and generate can be given');
    const made = Object.hasOwn(KINDS, kind) ? KINDS[kind as GeneratedKind].type : type;
    if (type !== undefined && type !== made) add('type', `must be ${made}, the type of generated ${kind} tokens`);
  }
  for (const member of EXPRESSIONS) {
    if (token[member] !== undefined && !isFlawed(member))
      addRejected(add, () => checkSyntax({ [member]: token[member] }));
  }
  const { expires_at } = token;
  // Accept past times, because only the vault knows its clock.
  if (typeof expires_at === 'string') addRejected(add, () => parseExpiresAt(expires_at, -Infinity));
}

/** Adds flaws for ids that the vault rejects or that the seed repeats. */
function checkIds(own: readonly string[], ids: Set<string>, add: AddFlaw, addToItem: (message: string) => void): void {
  for (const id of own) {
    const short = 'the id needs at least 3 characters: give the token an `id:` or a longer name';
    const message = id.length < 3 ? short : checkTokenId(id);
    if (ids.has(id)) add('id', `another token of the seed has the id ${id}`);
    else if (message !== undefined) addToItem(message);
    ids.add(id);
  }
}

function addErrors(add: AddFlaw, errors: MemberErrors | undefined): void {
  for (const [path, messages] of Object.entries(errors ?? {})) add(path, messages.join('; '));
}

/** Adds the member errors of the problem that `check` throws. */
function addRejected(add: AddFlaw, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    addErrors(add, error.errors);
  }
}
