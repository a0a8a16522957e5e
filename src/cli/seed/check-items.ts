import type { Json, JsonObject } from '../../contract/json.ts';
import { TOKEN_TYPES, type TokenType } from '../../contract/token-types.ts';
import { type ApplicationDefinition, checkApplication } from '../../core/access/check-application.ts';
import { validateData } from '../../core/token-types/validate-data.ts';
import { checkTokenId } from '../../core/tokens/token-id.ts';
import { asObject } from '../output/result-view.ts';
import { checkExpressions } from './check-expressions.ts';
import type { MemberPath } from './check-schema.ts';
import { type GeneratedKind, KINDS } from './generate-data.ts';
import { type AddFlaw, addMembers, addRefused } from './member-flaws.ts';
import type { SeedText } from './read-seed-file.ts';
import type { SeedFlaws } from './seed-flaws.ts';
import { idsOf, membersAt, seedName, textOf } from './seed-items.ts';
import { MAX_SEED_TOKENS } from './seed-schema.ts';

/** What a file of a seed must not say because another says it. */
export function checkTwice(texts: readonly SeedText[], flaws: SeedFlaws): void {
  const seen = new Map<string, SeedText>();
  for (const text of texts) {
    for (const path of itemPaths(text)) {
      const item = path.join('.');
      const other = seen.get(item);
      if (other !== undefined) flaws.add(text, path, `stands in ${other.file}, too`);
      else seen.set(item, text);
    }
    const [own, first] = [seedName(text.value), seedName(texts[0]?.value ?? null)];
    if (own !== first) flaws.add(text, ['seed'], `the files are of different seeds: ${first}, ${own}`);
  }
}

function itemPaths({ value }: SeedText): readonly MemberPath[] {
  const items = (['apps', 'tokens'] as const).flatMap((kind) => membersAt(value, kind).map(([item]) => [kind, item]));
  return asObject(value)?.['tenant'] === undefined ? items : [['tenant'], ...items];
}

/** What the vault would refuse of the items and a schema does not say: it is told before anything is made. */
export async function checkItems(text: SeedText, value: Json, flaws: SeedFlaws): Promise<void> {
  for (const [item, app] of membersAt(value, 'apps')) {
    // Of one with unknown words it cannot be asked.
    if (flaws.has(text, ['apps', item])) continue;
    const add: AddFlaw = (path, message) => flaws.add(text, ['apps', item, ...path], message);
    await addRefused(add, () => checkApp(app));
  }
  for (const [item, token] of membersAt(value, 'tokens')) {
    const add: AddFlaw = (path, message) => {
      const whole = ['tokens', item, ...path];
      if (path.length === 0 || !flaws.has(text, whole)) flaws.add(text, whole, message);
    };
    checkSource(token, add);
    checkData(token, add);
    await checkExpressions(token, add, (member) => flaws.has(text, ['tokens', item, member]));
  }
}

/** Throws the problem that the vault would. */
function checkApp(app: JsonObject): void {
  checkApplication({
    type: app['type'] as ApplicationDefinition['type'],
    permissions: (app['permissions'] ?? []) as ApplicationDefinition['permissions'],
    rules: (app['rules'] ?? []) as readonly JsonObject[] as ApplicationDefinition['rules'],
    can_create_expiring_applications: app['can_create_expiring_applications'] as boolean | undefined,
  });
}

/** `data` and a type, or `generate`. */
function checkSource(token: JsonObject, add: AddFlaw): void {
  const kind = textOf(token['generate']);
  if (kind === undefined) {
    for (const name of ['type', 'data']) if (!Object.hasOwn(token, name)) add([], `${name} must be given`);
    if (token['count'] !== undefined) add(['count'], 'is for `generate` only');
    return;
  }
  if (Object.hasOwn(token, 'data')) add(['data'], 'only one of data and generate can be given');
  const made = Object.hasOwn(KINDS, kind) ? KINDS[kind as GeneratedKind].type : undefined;
  const type = textOf(token['type']);
  if (made !== undefined && type !== undefined && type !== made) add(['type'], `${kind} makes tokens of type ${made}`);
}

function checkData({ type, data, generate }: JsonObject, add: AddFlaw): void {
  const known = textOf(type);
  if (generate !== undefined || data === undefined || known === undefined || !Object.hasOwn(TOKEN_TYPES, known)) return;
  addMembers(validateData(known as TokenType, data), add);
}

/** The ids of all tokens: each once, and one that the vault takes. */
export function checkIds(parts: readonly { readonly text: SeedText; readonly value: Json }[], flaws: SeedFlaws): void {
  const ids = new Set<string>();
  let count = 0;
  for (const { text, value } of parts) {
    for (const [item, token] of membersAt(value, 'tokens')) {
      const path = ['tokens', item];
      // Its name, which is its id, was told of.
      if (flaws.hasAt(text, path)) continue;
      for (const id of idsOf(item, token)) {
        count += 1;
        if (count === MAX_SEED_TOKENS + 1) flaws.add(text, path, `a seed has at most ${MAX_SEED_TOKENS} tokens`);
        const message =
          id.length < 3 ? 'an id has at least 3 characters: give one, or a longer name' : checkTokenId(id);
        if (ids.has(id)) flaws.add(text, [...path, 'id'], `another token of the seed has the id ${id}`);
        else if (message !== undefined && !flaws.has(text, [...path, 'id'])) flaws.add(text, path, message);
        ids.add(id);
      }
    }
  }
}
