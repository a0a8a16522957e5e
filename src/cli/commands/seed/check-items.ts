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
import { idsOf, membersAt, type SeedText, seedName, textOf } from './read-seed-file.ts';
import type { SeedFlaws } from './seed-flaws.ts';
import { MAX_SEED_TOKENS, SEED_SCHEMA } from './seed-schema.ts';
import { SEED_VALIDATOR } from './seed-validator.generated.js';

/** The members of a token that hold expressions. */
const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression'] as const;

/** The members of an application in a seed, after the schema has checked them. */
type AppMembers = JsonObject & Partial<ApplicationDefinition> & Pick<ApplicationDefinition, 'type'>;

/** Adds a flaw of an item. `path` is the dotted path of the member inside the item. */
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

/** Adds flaws for items that several files define, and for files that name another seed. */
export function checkTwice(texts: readonly SeedText[], flaws: SeedFlaws): void {
  const seen = new Map<string, SeedText>();
  for (const text of texts) {
    for (const path of itemPaths(text)) {
      const other = seen.get(path);
      if (other !== undefined) flaws.add(text, path, `also appears in ${other.file}`);
      else seen.set(path, text);
    }
    const [own, first] = [seedName(text.value), seedName(texts[0]?.value ?? null)];
    if (own !== first) flaws.add(text, 'seed', `the files belong to different seeds: ${first}, ${own}`);
  }
}

function itemPaths({ value }: SeedText): readonly string[] {
  const items = (['apps', 'tokens'] as const).flatMap((kind) =>
    membersAt(value, kind).map(([item]) => `${kind}.${item}`),
  );
  return asObject(value)?.['tenant'] === undefined ? items : ['tenant', ...items];
}

/** Adds the flaws of applications and tokens that the schema cannot express. */
export function checkItems(text: SeedText, value: Json, flaws: SeedFlaws): void {
  for (const [item, app] of membersAt(value, 'apps')) {
    // `checkApplication` expects well-formed members.
    if (flaws.has(text, `apps.${item}`)) continue;
    addRejected(
      (path, message) => flaws.add(text, `apps.${item}.${path}`, message),
      () => checkApplication({ permissions: [], rules: [], ...(app as AppMembers) }),
    );
  }
  for (const [item, token] of membersAt(value, 'tokens')) {
    const own = `tokens.${item}`;
    const add: AddFlaw = (path, message) => {
      if (!flaws.has(text, `${own}.${path}`)) flaws.add(text, `${own}.${path}`, message);
    };
    checkSource(token, add);
    checkData(token, add);
    checkExpressions(token, add, (member) => flaws.has(text, `${own}.${member}`));
  }
}

/** Adds a flaw unless a token has either `data` and `type`, or `generate`. */
function checkSource(token: JsonObject, add: AddFlaw): void {
  const kind = textOf(token['generate']);
  if (kind === undefined) {
    for (const name of ['type', 'data']) if (!Object.hasOwn(token, name)) add(name, 'is required');
    if (token['count'] !== undefined) add('count', 'works only with `generate`');
    return;
  }
  if (Object.hasOwn(token, 'data')) add('data', 'only one of data and generate can be given');
  const made = Object.hasOwn(KINDS, kind) ? KINDS[kind as GeneratedKind].type : undefined;
  const type = textOf(token['type']);
  if (made !== undefined && type !== undefined && type !== made)
    add('type', `must be ${made}, the type of generated ${kind} tokens`);
}

function checkData({ type, data, generate }: JsonObject, add: AddFlaw): void {
  const known = textOf(type);
  if (generate !== undefined || data === undefined || known === undefined || !Object.hasOwn(TOKEN_TYPES, known)) return;
  addErrors(validateData(known as TokenType, data), add);
}

/**
 * Adds flaws for invalid expressions and malformed times. Accepts past times, because only the vault knows its clock.
 * Skips members for which `isFlawed` returns true.
 */
function checkExpressions(token: JsonObject, add: AddFlaw, isFlawed: (member: string) => boolean): void {
  for (const member of EXPRESSIONS) {
    if (token[member] === undefined || isFlawed(member)) continue;
    addRejected(add, () => checkSyntax({ [member]: token[member] }));
  }
  const { expires_at } = token;
  if (typeof expires_at !== 'string' || isFlawed('expires_at')) return;
  addRejected(add, () => parseExpiresAt(expires_at, -Infinity));
}

function addErrors(errors: MemberErrors | undefined, add: AddFlaw): void {
  for (const [path, messages] of Object.entries(errors ?? {})) for (const message of messages) add(path, message);
}

/** Adds the member errors of the problem that `check` throws. */
function addRejected(add: AddFlaw, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    addErrors(error.errors, add);
  }
}

/** Adds flaws for token ids that the vault rejects or that the seed repeats, and for too many tokens. */
export function checkIds(parts: readonly { readonly text: SeedText; readonly value: Json }[], flaws: SeedFlaws): void {
  const ids = new Set<string>();
  let count = 0;
  for (const { text, value } of parts) {
    for (const [item, token] of membersAt(value, 'tokens')) {
      const path = `tokens.${item}`;
      // Skip a token whose name has a flaw, because the name is the default of its id.
      if (flaws.hasAt(text, path)) continue;
      for (const id of idsOf(item, token)) {
        count += 1;
        if (count === MAX_SEED_TOKENS + 1) flaws.add(text, path, `a seed has at most ${MAX_SEED_TOKENS} tokens`);
        const message =
          id.length < 3
            ? 'the id needs at least 3 characters: give the token an `id:` or a longer name'
            : checkTokenId(id);
        if (ids.has(id)) flaws.add(text, `${path}.id`, `another token of the seed has the id ${id}`);
        else if (message !== undefined && !flaws.has(text, `${path}.id`)) flaws.add(text, path, message);
        ids.add(id);
      }
    }
  }
}
