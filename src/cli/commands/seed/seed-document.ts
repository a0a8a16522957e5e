import type { CreateApplication } from '../../../contract/application.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { TokenType } from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { createTextReader } from '../../files/text-reader.ts';
import type { Environment } from '../../flags/global-flags.ts';
import { checkItems, checkSchema } from './check-items.ts';
import { type GeneratedKind, generateData, KINDS } from './generate-data.ts';
import { asText, itemIds, itemsIn, readSeedFile, type SeedItem, type SeedText, seedName } from './read-seed-file.ts';
import { resolveReferences, resolversFor } from './references.ts';
import { createSeedFlaws, invalidSeed } from './seed-flaws.ts';

/** Returns the position of an item or one of its members, for errors: `seed.yaml:12: tokens.visa.data.number`. */
export type SourcePosition = SeedItem['position'];

export interface SeedApp {
  readonly item: string;
  readonly position: SourcePosition;
  readonly body: JsonObject & Pick<CreateApplication, 'name' | 'type'>;
}

export interface SeedToken {
  readonly item: string;
  readonly id: string;
  /** Whether the token's data is generated. */
  readonly generated: boolean;
  readonly type: TokenType;
  readonly position: SourcePosition;
  /** Returns the body of the create request. Its references need the ids of applications, by item. */
  readonly body: (appIds: ReadonlyMap<string, string>) => JsonObject;
}

/** The checked contents of all seed files. */
export interface SeedDocument {
  readonly name: string;
  /** Returns the position of the name. */
  readonly position: SourcePosition;
  readonly tenant: { readonly position: SourcePosition; readonly body: JsonObject } | undefined;
  readonly apps: readonly SeedApp[];
  readonly tokens: readonly SeedToken[];
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
        ? new Fault(error.code, error.message.replace(`${name}: the file after @`, name), { cause: error })
        : error;
    });
    texts.push(await readSeedFile(name, text));
  }
  return createSeedDocument(texts, env, seed);
}

/** Checks the files of one seed. Throws `invalid_data`, which lists all errors that need no vault to find. */
export function createSeedDocument(texts: readonly SeedText[], env: Environment, seed: number): SeedDocument {
  const unreadable = texts.flatMap((text) => text.unreadable);
  // Stop here: references to the items of an unreadable file cannot be checked.
  if (unreadable.length > 0) throw invalidSeed(unreadable);
  const flaws = createSeedFlaws(texts);
  const written = texts.flatMap((text) => itemsIn(text));
  const resolverOf = resolversFor(written, env, flaws);
  const resolved = texts.map((text) => {
    const value = resolveReferences(text.value, resolverOf(text, new Map()));
    checkSchema(text, value, flaws);
    return { text, value };
  });
  const name = seedName(resolved[0]?.value ?? null);
  for (const { text, value } of resolved) {
    const own = seedName(value);
    if (own !== name) flaws.add(text, 'seed', `the files belong to different seeds: ${name}, ${own}`);
  }
  const items = resolved.flatMap(({ text, value }) => itemsIn(text, value));
  checkItems(items, name, flaws);
  flaws.throwAny();

  const tokensOf = (item: SeedItem, at: number): readonly SeedToken[] => {
    const { text, value } = written[at] ?? item;
    const bodyOf: BodyOf = (appIds) => resolveReferences(value, resolverOf(text, appIds), item.path) as JsonObject;
    return item.kind === 'tokens' ? seedTokens(item, seed, bodyOf) : [];
  };
  return {
    name,
    position: () => texts[0]?.positionOf('seed') ?? '',
    tenant: items.filter(({ kind }) => kind === 'tenant').map(({ value, position }) => ({ body: value, position }))[0],
    apps: items.filter(({ kind }) => kind === 'apps').map(seedApp),
    tokens: items.flatMap(tokensOf),
  };
}

function seedApp({ item, position, value }: SeedItem): SeedApp {
  const type = value['type'] as CreateApplication['type'];
  return { item, position, body: { ...value, name: asText(value['name']) ?? item, type } };
}

type BodyOf = (appIds: ReadonlyMap<string, string>) => JsonObject;

function seedTokens(token: SeedItem, seed: number, bodyOf: BodyOf): readonly SeedToken[] {
  const { item, position, value } = token;
  const kind = asText(value['generate']) as GeneratedKind | undefined;
  const type = (kind === undefined ? value['type'] : KINDS[kind].type) as TokenType;
  return itemIds(token).map((id, at): SeedToken => {
    const data = kind === undefined ? {} : { data: generateData(kind, `${seed}\0data\0${item}\0${at + 1}`) };
    const body: BodyOf = (appIds) => {
      const { id: _id, type: _type, generate: _generate, count: _count, ...others } = bodyOf(appIds);
      return { id, type, ...others, ...data };
    };
    return { item, id, generated: kind !== undefined, type, position, body };
  });
}
