import type { CreateApplication } from '../../contract/application.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { Fault } from '../../core/fault.ts';
import { memberNames, objectOfMembers } from '../../core/json/member-names.ts';
import { asObject } from '../output/result-view.ts';
import { checkSchema, type MemberPath } from './check-schema.ts';
import { type GeneratedKind, generateData, KINDS } from './generate-data.ts';
import type { SeedText } from './read-seed-file.ts';
import { type Resolve, resolveReferences } from './references.ts';
import { MAX_SEED_TOKENS, SEED_SCHEMA } from './seed-schema.ts';

/** Where an item stands, or a member of it, for what is wrong with it: `seed.yaml:12: tokens.visa.data.number`. */
export type Place = (member?: string) => string;

export interface SeedApp {
  readonly item: string;
  readonly place: Place;
  readonly body: JsonObject & Pick<CreateApplication, 'name' | 'type'>;
}

export interface SeedToken {
  readonly item: string;
  readonly id: string;
  /** Whether the item is one of many. */
  readonly generated: boolean;
  readonly type: TokenType;
  readonly place: Place;
  /** The body of the request that makes it. The ids of applications are known when those are made. */
  readonly body: (appIds: ReadonlyMap<string, string>) => JsonObject;
}

/** What the seed files say together, checked. */
export interface SeedDocument {
  readonly name: string;
  readonly tenant: { readonly place: Place; readonly body: JsonObject } | undefined;
  readonly apps: readonly SeedApp[];
  readonly tokens: readonly SeedToken[];
  /** The number that generated data follows from; undefined where none is generated. */
  readonly generatedFrom: number | undefined;
}

/** What references stand for, when the ids of applications are these. */
type ResolveWith = (idOfApp: (item: string) => string) => Resolve;

/** Stands for the id of an application while that is not known. */
const PLAIN_ID = '00000000-0000-4000-8000-000000000000';

/** Throws the fault `usage`: an item twice, an unknown member, a value of the wrong kind, a reference to nothing. */
export function createSeedDocument(
  texts: readonly SeedText[],
  env: Readonly<Record<string, string | undefined>>,
  seed: number,
): SeedDocument {
  const seen = new Map<string, SeedText>();
  for (const text of texts) for (const item of itemsOf(text)) once(seen, item, text);
  const tokenIds = new Map<string, string>();
  for (const { value } of texts)
    for (const [item, token] of membersAt(value, 'tokens')) tokenIds.set(item, idOf(item, token));
  const appNames = new Set(texts.flatMap(({ value }) => membersAt(value, 'apps').map(([item]) => item)));

  const parts = texts.map((text) => {
    const fail = (path: MemberPath, message: string): never => {
      throw new Fault('usage', `${placeOf(text)(path)}: ${message}`);
    };
    const ofEnvironment: Resolve = (reference, path) => {
      const [kind, item = '', ...rest] = reference.split('.');
      if (kind !== 'env' || rest.length > 0)
        return fail(path, `\${${reference}} cannot be part of an id that others refer to`);
      return env[item] ?? fail(path, `the environment variable ${item} is not set`);
    };
    const resolveWith: ResolveWith = (idOfApp) => (reference, path) => {
      const [kind = '', item = '', member = ''] = reference.split('.');
      if (kind === 'env') return ofEnvironment(reference, path);
      if (kind === 'apps' && member === 'id' && appNames.has(item)) {
        if (path[0] !== 'tokens') fail(path, `\${${reference}} is known to tokens only: applications are made before`);
        if (path[2] === 'id') fail(path, `\${${reference}} cannot be part of an id: another vault has others`);
        return idOfApp(item);
      }
      if (kind === 'tokens' && member === 'id' && tokenIds.has(item)) {
        return String(resolveReferences(tokenIds.get(item) ?? '', ofEnvironment, path));
      }
      return fail(
        path,
        `\${${reference}} names nothing: \${env.NAME}, \${apps.NAME.id} or \${tokens.NAME.id} of an item of the seed`,
      );
    };
    const value = resolveReferences(
      text.value,
      resolveWith(() => PLAIN_ID),
    );
    const [flaw, ...others] = checkSchema(SEED_SCHEMA, value);
    if (flaw !== undefined) {
      const more = others.slice(0, 9).map(({ path, message }) => `${placeOf(text)(path)}: ${message}`);
      throw new Fault(
        'usage',
        `${placeOf(text)(flaw.path)}: ${flaw.message}`,
        more.length === 0 ? {} : { hint: more.join('; ') },
      );
    }
    return { text, value, resolveWith };
  });

  const names = new Set(parts.map(({ value }) => textOf(asObject(value)?.['seed']) ?? 'default'));
  if (names.size > 1) throw new Fault('usage', `the files are of different seeds: ${[...names].join(', ')}`);
  const tenant = parts.flatMap(({ text, value }) => {
    const body = asObject(asObject(value)?.['tenant'] ?? null);
    return body === undefined ? [] : [{ body, place: itemPlace(text, ['tenant']) }];
  })[0];
  const apps = parts.flatMap(({ text, value }) =>
    membersAt(value, 'apps').map(([item, app]) => seedApp(text, item, app)),
  );
  const tokens = parts.flatMap(({ text, value, resolveWith }) =>
    membersAt(value, 'tokens').flatMap(([item, token]) => seedTokens(text, item, token, seed, resolveWith)),
  );
  checkIds(tokens);
  const generates = parts.some(({ value }) =>
    membersAt(value, 'tokens').some(([_item, token]) => token['generate'] !== undefined),
  );
  const generatedFrom = generates ? seed : undefined;
  return { name: [...names][0] ?? 'default', tenant, apps, tokens, generatedFrom };
}

function seedApp(text: SeedText, item: string, app: JsonObject): SeedApp {
  const [name, type] = [textOf(app['name']) ?? item, app['type'] as CreateApplication['type']];
  const body = { ...app, name, type };
  return { item, place: itemPlace(text, ['apps', item]), body };
}

function seedTokens(
  text: SeedText,
  item: string,
  token: JsonObject,
  seed: number,
  resolveWith: ResolveWith,
): readonly SeedToken[] {
  const place = itemPlace(text, ['tokens', item]);
  const { generate, count, ...own } = token;
  const written = asObject(asObject(asObject(text.value)?.['tokens'] ?? null)?.[item] ?? null) ?? {};
  const kind = textOf(generate) as GeneratedKind | undefined;
  if (kind === undefined) {
    for (const name of ['type', 'data'])
      if (!Object.hasOwn(own, name)) throw new Fault('usage', `${place()}: ${name} must be given`);
    if (count !== undefined) throw new Fault('usage', `${place('count')}: is for \`generate\` only`);
  } else if (Object.hasOwn(own, 'data'))
    throw new Fault('usage', `${place('data')}: only one of data and generate can be given`);
  const type = (textOf(own['type']) ?? (kind === undefined ? 'token' : KINDS[kind].type)) as TokenType;
  if (kind !== undefined && type !== KINDS[kind].type) {
    throw new Fault('usage', `${place('type')}: ${kind} makes tokens of type ${KINDS[kind].type}`);
  }
  return Array.from({ length: typeof count === 'number' ? count : 1 }, (_, at): SeedToken => {
    const base = idOf(item, token);
    const id = kind === undefined ? base : `${base}-${at + 1}`;
    const data = kind === undefined ? {} : { data: generateData(kind, `${seed}\0data\0${item}\0${at + 1}`) };
    const body: SeedToken['body'] = (appIds) => {
      const resolve = resolveWith((app) => appIds.get(app) ?? '');
      const others = memberNames(written).flatMap((name) => {
        const value = written[name] ?? null;
        return OWN_MEMBERS.has(name)
          ? []
          : [[name, resolveReferences(value, resolve, ['tokens', item, name])] as const];
      });
      return objectOfMembers(
        new Map<string, Json>([...Object.entries({ id, type }), ...others, ...Object.entries(data)]),
      );
    };
    return { item, id, generated: kind !== undefined, type, place, body };
  });
}

/** Of an item; all others are members of the request. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'generate', 'count']);

function checkIds(tokens: readonly SeedToken[]): void {
  if (tokens.length > MAX_SEED_TOKENS) throw new Fault('usage', `a seed has at most ${MAX_SEED_TOKENS} tokens`);
  const ids = new Set<string>();
  for (const { id, place } of tokens) {
    if (ids.has(id)) throw new Fault('usage', `${place('id')}: another token of the seed has the id ${id}`);
    if (id.length < 3)
      throw new Fault('usage', `${place()}: an id has at least 3 characters: give one, or a longer name`);
    ids.add(id);
  }
}

function idOf(item: string, token: JsonObject): string {
  return textOf(token['id']) ?? item;
}

function once(seen: Map<string, SeedText>, item: string, text: SeedText): void {
  const other = seen.get(item);
  if (other !== undefined) throw new Fault('usage', `${item} stands in ${other.file} and in ${text.file}`);
  seen.set(item, text);
}

function itemsOf({ value }: SeedText): readonly string[] {
  const items = (['apps', 'tokens'] as const).flatMap((kind) =>
    membersAt(value, kind).map(([item]) => `${kind}.${item}`),
  );
  return asObject(value)?.['tenant'] === undefined ? items : ['tenant', ...items];
}

function membersAt(value: Json, member: 'apps' | 'tokens'): readonly (readonly [string, JsonObject])[] {
  const items = asObject(asObject(value)?.[member] ?? null);
  if (items === undefined) return [];
  return memberNames(items).map((name) => [name, asObject(items[name] ?? null) ?? {}]);
}

const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

const placeOf =
  (text: SeedText) =>
  (path: MemberPath): string => {
    const line = `${text.file}:${text.lineOf(path)}`;
    return path.length === 0 ? line : `${line}: ${path.join('.')}`;
  };

/** `data.number` of a problem is a member of the item. */
function itemPlace(text: SeedText, path: MemberPath): Place {
  return (member) => placeOf(text)([...path, ...(member === undefined ? [] : member.split('.').map(numberOf))]);
}

const numberOf = (word: string): string | number => (/^\d+$/.test(word) ? Number(word) : word);
