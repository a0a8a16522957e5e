import type { Document, Node } from 'yaml';
import type { Json } from '../../contract/json.ts';
import { Fault } from '../../core/fault.ts';
import { JsonNumber } from '../../core/json/json-number.ts';
import { objectOfMembers } from '../../core/json/member-names.ts';
import type { MemberPath } from './check-schema.ts';

/** The largest number of values in a file: aliases can make a short file endless. */
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 64;

/** A seed file as JSON, and where its members stand. */
export interface SeedText {
  readonly file: string;
  /** null where it cannot be read. */
  readonly value: Json;
  /** Why it cannot be read: lines from 1. */
  readonly unreadable: readonly { readonly line: number; readonly message: string }[];
  /** The line of a member, or of the nearest one around it that is written in the file; from 1. */
  lineOf(path: MemberPath): number;
}

/**
 * Reads YAML 1.2, and with it JSON. Nothing is lost on the way: numbers that a double would change keep their lexeme, and
 * the order of members stays.
 */
export async function readSeedFile(file: string, text: string): Promise<SeedText> {
  const { LineCounter, parseDocument } = await import('yaml');
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    prettyErrors: false,
    uniqueKeys: true,
    logLevel: 'silent',
  });
  const form = file.toLowerCase().endsWith('.json') ? 'JSON' : 'YAML';
  // The parser's own words may quote the file: only what kind of mistake it is, is told.
  const mistakes = document.errors.map(({ pos, code }) => ({
    line: counter.linePos(pos[0]).line,
    message: `not ${form}: ${code.toLowerCase().replaceAll('_', ' ')}`,
  }));
  // Of one mistake the parser may say several things.
  const unreadable = mistakes.filter(({ line }, at) => mistakes.findIndex((other) => other.line === line) === at);
  if (unreadable.length > 0) return { file, value: null, unreadable, lineOf: () => 1 };
  const lines = new Map<string, number>();
  let value: Json;
  try {
    value = await toJson(document, (path, offset) => lines.set(path.join('\0'), counter.linePos(offset).line));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { file, value: null, unreadable: [{ line: 1, message: error.message }], lineOf: () => 1 };
  }
  return {
    file,
    value,
    unreadable,
    lineOf: (path) => {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(path.slice(0, length).join('\0'));
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
}

type Note = (path: MemberPath, offset: number) => void;

async function toJson(document: Document, note: Note): Promise<Json> {
  const { isAlias, isMap, isScalar, isSeq } = await import('yaml');
  /** An anchor stands before its aliases, and a later one of its name takes its place. */
  const anchors = new Map<string, Node>();
  let count = 0;

  function convert(node: Node | null | undefined, path: MemberPath): Json {
    count += 1;
    if (count > MAX_VALUES || path.length > MAX_DEPTH) throw new Fault('invalid_data', 'too many values, or too deep');
    if (node == null) return null;
    if (isAlias(node)) {
      const named = anchors.get(node.source);
      if (named === undefined) throw new Fault('invalid_data', 'an alias without its anchor');
      return convert(named, path);
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq(node)) return node.items.map((item, at) => convertAt(item as Node | null, [...path, at]));
    if (isMap(node)) {
      const members = new Map<string, Json>();
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : '';
        const own = [...path, name];
        if (isScalar(key) && key.range) note(own, key.range[0]);
        members.set(name, convert(value as Node | null, own));
      }
      return objectOfMembers(members);
    }
    return isScalar(node) ? scalar(node.value, node.source) : null;
  }

  function convertAt(node: Node | null, path: MemberPath): Json {
    if (node?.range) note(path, node.range[0]);
    return convert(node, path);
  }

  return convert(document.contents as Node | null, []);
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function scalar(value: unknown, source: string | undefined): Json {
  if (typeof value === 'number') {
    const lexeme = source !== undefined && JSON_NUMBER.test(source) ? source : undefined;
    if (lexeme !== undefined && lexeme !== String(value)) return new JsonNumber(lexeme);
    // .inf and .nan are no JSON; they stay the text that they are written as.
    return Number.isFinite(value) ? value : (source ?? null);
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  return source ?? null;
}
