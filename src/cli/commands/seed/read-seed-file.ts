import type { Document, Node } from 'yaml';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { JsonNumber } from '../../../core/json/kind.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { asObject } from '../../output/result-view.ts';
import { MAX_SEED_TOKENS } from './seed-schema.ts';

/** The maximum number of values in a file, because aliases can expand a short file to any size. */
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 64;

/** A seed file as JSON, and the places of its members. */
export type SeedText = Awaited<ReturnType<typeof readSeedFile>>;

/** Returns the dotted path of a member or an array item. */
export const memberPath = (path: string, step: string | number): string =>
  path === '' ? `${step}` : `${path}.${step}`;

/**
 * Parses a seed file as YAML 1.2, which includes JSON. Keeps the order of members, and the exact digits of numbers that
 * a double would change.
 */
export async function readSeedFile(file: string, text: string) {
  const {
    default: { LineCounter, parseDocument },
  } = await import('yaml');
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    prettyErrors: false,
    uniqueKeys: true,
    // With `silent`, the parser would drop every document after the first.
    logLevel: 'error',
  });
  const form = file.toLowerCase().endsWith('.json') ? 'JSON' : 'YAML';
  // Report only the kind of a mistake, because the parser's message may quote the file.
  const mistakes = document.errors.map(({ pos, code }) => ({
    line: counter.linePos(pos[0]).line,
    message: `not ${form}: ${code.toLowerCase().replaceAll('_', ' ')}`,
  }));
  // The parser may report one mistake several times.
  const unreadable = mistakes.filter(({ line }, at) => mistakes.findIndex((other) => other.line === line) === at);
  const lines = new Map<string, number>();
  let value: Json = null;
  try {
    const note: Note = (path, offset) => lines.set(path, counter.linePos(offset).line);
    if (unreadable.length === 0) value = await toJson(document, note);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    unreadable.push({ line: 1, message: error.message });
  }
  return {
    file,
    /** null when the file is invalid. */
    value,
    /** The syntax errors. Lines count from 1. */
    unreadable,
    /** Returns the line of a member by its dotted path, or of its nearest enclosing member in the file; from 1. */
    lineOf: (path: string): number => {
      for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
        const line = lines.get(at);
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
}

type Note = (path: string, offset: number) => void;

async function toJson(document: Document, note: Note): Promise<Json> {
  const {
    default: { isAlias, isMap, isScalar, isSeq },
  } = await import('yaml');
  /** The nodes by anchor. An anchor precedes its aliases; a later anchor of the same name replaces an earlier one. */
  const anchors = new Map<string, Node>();
  let count = 0;

  function convert(node: Node | null | undefined, path: string, depth: number): Json {
    count += 1;
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
        if (value?.range) note(own, value.range[0]);
        return convert(value, own, depth + 1);
      });
    }
    if (isMap(node)) {
      const members = new Map<string, Json>();
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : '';
        const own = memberPath(path, name);
        if (isScalar(key) && key.range) note(own, key.range[0]);
        members.set(name, convert(value as Node | null, own, depth + 1));
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

/** Returns the items of one kind in a file, in order. Returns an empty object for an item that is not an object. */
export function membersAt(value: Json, member: 'apps' | 'tokens'): readonly (readonly [string, JsonObject])[] {
  const items = asObject(asObject(value)?.[member] ?? null);
  if (items === undefined) return [];
  return memberNames(items).map((name) => [name, asObject(items[name] ?? null) ?? {}]);
}

/** The names of the items of a seed, across its files. */
export type ItemNames = ReturnType<typeof namesOf>;

export function namesOf(texts: readonly SeedText[]) {
  const tokens = texts.flatMap(({ value }) => membersAt(value, 'tokens'));
  return {
    apps: new Set(texts.flatMap(({ value }) => membersAt(value, 'apps').map(([item]) => item))),
    /** The ids of tokens by item, before references in them are resolved. */
    tokenIds: new Map(tokens.map(([item, token]) => [item, idOf(item, token)])),
  };
}

/** Returns the name of the seed that a file defines. */
export function seedName(value: Json): string {
  return textOf(asObject(value)?.['seed']) ?? 'default';
}

function idOf(item: string, token: JsonObject): string {
  return textOf(token['id']) ?? item;
}

/** Returns the ids of an item: its own, or those of its generated tokens. */
export function idsOf(item: string, token: JsonObject): readonly string[] {
  const { generate, count = 1 } = token;
  const base = idOf(item, token);
  if (generate === undefined) return [base];
  const length = typeof count === 'number' && count >= 1 && count <= MAX_SEED_TOKENS ? Math.trunc(count) : 1;
  return Array.from({ length }, (_, at) => `${base}-${at + 1}`);
}

export const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
