import type { Document, Node, Pair } from 'yaml';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { JsonNumber, memberNames, objectOfMembers } from '../../../core/json/kind.ts';
import { asObject } from '../../output/result-view.ts';
import { MAX_GENERATED } from './seed-schema.ts';

/** The maximum number of values in a file, because aliases can expand a short file to any size. */
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 64;

/** A seed file as JSON, and the positions of its members. */
export type SeedText = Awaited<ReturnType<typeof readSeedFile>>;

/** Returns the dotted path of a member or an array item. */
export const memberPath = (path: string, step: string | number): string =>
  path === '' ? `${step}` : `${path}.${step}`;

/**
 * Parses a seed file as YAML 1.2 with merge keys (`<<`), which includes JSON. Keeps the order of members, and the exact
 * digits of numbers that a double would change. Leaves out the members `x-…` of the file, which hold anchors.
 */
export async function readSeedFile(file: string, text: string) {
  const {
    default: { LineCounter, parseDocument },
  } = await import('yaml');
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    prettyErrors: false,
    // With `silent`, the parser would drop every document after the first.
    logLevel: 'error',
    merge: true,
    // The values of `!!set`, `!!binary` and others are no JSON.
    resolveKnownTags: false,
  });
  const form = file.toLowerCase().endsWith('.json') ? 'JSON' : 'YAML';
  const lineAt = (offset: number): number => counter.linePos(offset).line;
  // Report only the kind of a mistake, because the parser's message may quote the file. Unknown tags are warnings.
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, code }) => {
    const kind = code === 'TAG_RESOLVE_FAILED' ? 'unknown tag; quote a text that starts with !' : code.toLowerCase();
    return { line: lineAt(pos[0]), message: `not ${form}: ${kind.replaceAll('_', ' ')}` };
  });
  // The parser may report one mistake several times.
  const unreadable = mistakes.filter(({ line }, at) => mistakes.findIndex((other) => other.line === line) === at);
  const lines = new Map<string, number>();
  let value: Json = null;
  let reached = 0;
  try {
    const note: Note = (offset, path) => {
      reached = offset;
      if (path !== undefined && !lines.has(path)) lines.set(path, lineAt(offset));
    };
    if (unreadable.length === 0) value = await toJson(document, note);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    unreadable.push({ line: lineAt(reached), message: error.message });
  }
  const lineOf = (path: string): number => {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
      const line = lines.get(at);
      if (line !== undefined) return line;
    }
    return 1;
  };
  return {
    file,
    /** null when the file is invalid. */
    value: withoutExtensions(value),
    /** The syntax errors, with file and line. */
    unreadable: unreadable.map(({ line, message }) => `${file}:${line}: ${message}`),
    /** Returns the line of a member by its dotted path, or of its nearest enclosing member in the file; from 1. */
    lineOf,
    /** Returns `seed.yaml:12: tokens.visa.data`; for the whole file, `seed.yaml:1`. */
    positionOf: (path: string): string => `${file}:${lineOf(path)}${path === '' ? '' : `: ${path}`}`,
  };
}

function withoutExtensions(value: Json): Json {
  const object = asObject(value);
  if (object === undefined) return value;
  const names = memberNames(object).filter((name) => !name.startsWith('x-'));
  return objectOfMembers(new Map(names.map((name) => [name, object[name] ?? null])));
}

/** Notes the offset that the conversion has reached, and that the member or item with this path begins there. */
type Note = (offset: number, path?: string) => void;

async function toJson(document: Document, note: Note): Promise<Json> {
  const {
    default: { isAlias, isMap, isScalar, isSeq },
  } = await import('yaml');
  /** The nodes by anchor. An anchor precedes its aliases; a later anchor of the same name replaces an earlier one. */
  const anchors = new Map<string, Node>();
  let count = 0;
  const isMerge = ({ key }: Pair): boolean => isScalar(key) && typeof key.value === 'symbol';

  function convert(node: Node | null | undefined, path: string, depth: number): Json {
    count += 1;
    if (node?.range) note(node.range[0]);
    if (count > MAX_VALUES || depth > MAX_DEPTH)
      throw new Fault('invalid_data', 'the file has too many values or is nested too deeply');
    if (node == null) return null;
    if (isAlias(node)) {
      const named = anchors.get(node.source);
      if (named === undefined) throw new Fault('invalid_data', 'an alias has no anchor');
      return convert(named, path, depth);
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq(node)) {
      return node.items.map((item, at) => {
        const own = memberPath(path, at);
        const value = item as Node | null;
        if (value?.range) note(value.range[0], own);
        return convert(value, own, depth + 1);
      });
    }
    if (isMap(node)) {
      const members = new Map<string, Json>();
      for (const { key, value } of node.items.filter((pair) => !isMerge(pair))) {
        const name = isScalar(key) ? String(key.value) : '';
        const own = memberPath(path, name);
        if (isScalar(key) && key.range) note(key.range[0], own);
        members.set(name, convert(value as Node | null, own, depth + 1));
      }
      for (const { value } of node.items.filter(isMerge)) {
        const merged = convert(value as Node | null, path, depth + 1);
        for (const source of Array.isArray(merged) ? merged : [merged]) {
          const object = asObject(source);
          if (object === undefined) throw new Fault('invalid_data', 'a merge key (<<) needs an object');
          for (const name of memberNames(object)) if (!members.has(name)) members.set(name, object[name] ?? null);
        }
      }
      return objectOfMembers(members);
    }
    return isScalar(node) ? scalar(node.value, node.source) : null;
  }

  return convert(document.contents as Node | null, '', 0);
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function scalar(value: unknown, source: string | undefined): Json {
  if (typeof value === 'number') {
    const lexeme = source !== undefined && JSON_NUMBER.test(source) ? source : undefined;
    if (lexeme !== undefined && lexeme !== String(value)) return new JsonNumber(lexeme);
    // JSON has no .inf and .nan, so keep their text.
    return Number.isFinite(value) ? value : (source ?? null);
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  return source ?? null;
}

/** The tenant, an application or a token in a seed file. */
export type SeedItem = ReturnType<typeof itemsIn>[number];

/** Returns the items of a file, whose references may be resolved in `value`. An item that is no object is empty. */
export function itemsIn(text: SeedText, value: Json = text.value) {
  const all = asObject(value) ?? {};
  const itemAt = (kind: 'tenant' | 'apps' | 'tokens', item: string, path: string, from: JsonObject) => ({
    ...{ text, kind, item, path, value: asObject(from[item] ?? null) ?? {} },
    /** Returns the position of the item or one of its members, for errors: `seed.yaml:12: tokens.visa.data.number`. */
    position: (member = ''): string => text.positionOf(member === '' ? path : `${path}.${member}`),
  });
  const named = (['apps', 'tokens'] as const).flatMap((kind) => {
    const items = asObject(all[kind] ?? null) ?? {};
    return memberNames(items).map((item) => itemAt(kind, item, `${kind}.${item}`, items));
  });
  return all['tenant'] === undefined ? named : [itemAt('tenant', 'tenant', 'tenant', all), ...named];
}

/** Returns the id of a token; for a generated one, without its number. */
export const idOf = ({ item, value }: SeedItem): string => asText(value['id']) ?? item;

/** Returns the ids of an item: its own, or those of its generated tokens. */
export function itemIds(item: SeedItem): readonly string[] {
  const { generate, count = 1 } = item.value;
  if (generate === undefined) return [idOf(item)];
  const length = typeof count === 'number' && count >= 1 && count <= MAX_GENERATED ? Math.trunc(count) : 1;
  return Array.from({ length }, (_, at) => `${idOf(item)}-${at + 1}`);
}

/** Returns the name of the seed that a file defines. */
export const seedName = (value: Json): string => asText(asObject(value)?.['seed']) ?? 'default';

/** Returns the name of the application that creates and changes the tokens of a seed. */
export const tokenAppName = (seed: string): string => `seed: ${seed}`;

export const asText = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
