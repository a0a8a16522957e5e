import type { CreateApplication } from '../../../contract/application.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import type { TokenType } from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import type { Environment } from '../../global-flags.ts';
import { asObject } from '../../output/result-view.ts';
import { createTextReader } from '../../text-reader.ts';
import { checkIds, checkItems, checkSchema, checkTwice } from './check-items.ts';
import { type GeneratedKind, generateData, KINDS } from './generate-data.ts';
import { idsOf, membersAt, namesOf, readSeedFile, type SeedText, seedName, textOf } from './read-seed-file.ts';
import { PLAIN_ID, type ResolveWith, resolveReferences, resolverOf } from './references.ts';
import { createSeedFlaws, invalidSeed, placeOf } from './seed-flaws.ts';

/** Returns the place of an item or one of its members, for errors: `seed.yaml:12: tokens.visa.data.number`. */
export type Place = (member?: string) => string;

export interface SeedApp {
  readonly item: string;
  readonly place: Place;
  readonly body: JsonObject & Pick<CreateApplication, 'name' | 'type'>;
}

export interface SeedToken {
  readonly item: string;
  readonly id: string;
  /** The id of the item's first token. */
  readonly firstId: string;
  /** Whether the token's data is generated. */
  readonly generated: boolean;
  readonly type: TokenType;
  readonly place: Place;
  /** Returns the body of the create request. Its references need the ids of applications, by item. */
  readonly body: (appIds: ReadonlyMap<string, string>) => JsonObject;
}

/** The checked contents of all seed files. */
export interface SeedDocument {
  readonly name: string;
  readonly tenant: { readonly place: Place; readonly body: JsonObject } | undefined;
  readonly apps: readonly SeedApp[];
  readonly tokens: readonly SeedToken[];
  /** The seed number of generated data; undefined without generated data. */
  readonly generatedFrom: number | undefined;
}

/**
 * Reads and checks the files of one seed; `-` is standard input. Throws the fault `usage` for a missing file, and
 * `invalid_data` for wrong contents.
 */
export async function loadSeed(files: readonly string[], env: Environment, seed: number): Promise<SeedDocument> {
  const readText = createTextReader();
  const texts = [];
  for (const file of files) {
    const name = file === '-' ? '<stdin>' : file;
    const text = await readText(name, file === '-' ? '-' : `@${file}`).catch((error: unknown) => {
      throw error instanceof Fault
        ? new Fault('usage', error.message.replace(`${name}: the file after @`, name), { cause: error })
        : error;
    });
    texts.push(await readSeedFile(name, text));
  }
  return createSeedDocument(texts, env, seed);
}

/** Checks the files of one seed. Rejects with `invalid_data`, which lists all errors that need no vault to find. */
export async function createSeedDocument(
  texts: readonly SeedText[],
  env: Environment,
  seed: number,
): Promise<SeedDocument> {
  const unreadable = texts.flatMap(({ file, unreadable: mistakes }) =>
    mistakes.map(({ line, message }) => `${file}:${line}: ${message}`),
  );
  // Stop here: references to the items of an unreadable file cannot be checked.
  if (unreadable.length > 0) throw invalidSeed(unreadable);
  const flaws = createSeedFlaws(texts);
  checkTwice(texts, flaws);
  const known = { env, ...namesOf(texts) };
  const parts = texts.map((text) => {
    const resolveWith = resolverOf(text, known, flaws);
    const value = resolveReferences(
      text.value,
      resolveWith(() => PLAIN_ID),
    );
    checkSchema(text, value, flaws);
    return { text, value, resolveWith };
  });
  for (const { text, value } of parts) checkItems(text, value, flaws);
  checkIds(parts, flaws);
  flaws.throwAny();

  const apps = parts.flatMap(({ text, value }) =>
    membersAt(value, 'apps').map(([item, app]) => ({
      item,
      place: itemPlace(text, `apps.${item}`),
      body: { ...app, name: textOf(app['name']) ?? item, type: app['type'] as CreateApplication['type'] },
    })),
  );
  const tokens = parts.flatMap(({ text, value, resolveWith }) =>
    membersAt(value, 'tokens').flatMap(([item, token]) => seedTokens(text, item, token, seed, resolveWith)),
  );
  const tenant = parts.flatMap(({ text, value }) => {
    const body = asObject(asObject(value)?.['tenant'] ?? null);
    return body === undefined ? [] : [{ body, place: itemPlace(text, 'tenant') }];
  })[0];
  const name = parts.map(({ value }) => seedName(value))[0] ?? seedName(null);
  const generatedFrom = tokens.some(({ generated }) => generated) ? seed : undefined;
  return { name, tenant, apps, tokens, generatedFrom };
}

function seedTokens(
  text: SeedText,
  item: string,
  token: JsonObject,
  seed: number,
  resolveWith: ResolveWith,
): readonly SeedToken[] {
  const path = `tokens.${item}`;
  const written = asObject(asObject(asObject(text.value)?.['tokens'] ?? null)?.[item] ?? null) ?? {};
  const kind = textOf(token['generate']) as GeneratedKind | undefined;
  const type = (kind === undefined ? token['type'] : KINDS[kind].type) as TokenType;
  return idsOf(item, token).map((id, at, [firstId = id]): SeedToken => {
    const data = kind === undefined ? {} : { data: generateData(kind, `${seed}\0data\0${item}\0${at + 1}`) };
    const body: SeedToken['body'] = (appIds) => {
      const resolve = resolveWith((app) => appIds.get(app) ?? '');
      const others = memberNames(written).flatMap((name) => {
        const value = written[name] ?? null;
        return OWN_MEMBERS.has(name) ? [] : [[name, resolveReferences(value, resolve, `${path}.${name}`)] as const];
      });
      return objectOfMembers(
        new Map<string, Json>([...Object.entries({ id, type }), ...others, ...Object.entries(data)]),
      );
    };
    return { item, id, firstId, generated: kind !== undefined, type, place: itemPlace(text, path), body };
  });
}

/** The members of an item that are not copied to the request. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'generate', 'count']);

const itemPlace =
  (text: SeedText, path: string): Place =>
  (member) =>
    placeOf(text, member === undefined ? path : `${path}.${member}`);
