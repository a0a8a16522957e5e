import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { Fault } from '../../core/fault.ts';
import { JsonNumber } from '../../core/json/kind.ts';
import { nearestHint } from '../../core/nearest-name.ts';

/** A step of a path: the name of a member, or an index of an array. */
export type Step = string | number;

/** Matches a step: `name`, `[0]` or `["any name"]`. A dot precedes a name after the first. */
const STEP = /\.?(?<name>[^.[\]"]+)|\[(?<index>\d+)\]|\["(?<quoted>[^"]*)"\]/y;

const FORM = 'must be a path such as id, data.number or data[0].id';

/** Returns the steps of a path such as `data.cards[0]["odd.name"]`. Throws the fault `usage` for a malformed path. */
export function parsePath(path: string, flag = '--field'): readonly Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const groups = STEP.exec(path)?.groups;
    if (groups === undefined) throw new Fault('usage', `${flag} ${FORM}`);
    steps.push(groups['index'] === undefined ? (groups['name'] ?? groups['quoted'] ?? '') : Number(groups['index']));
  }
  if (steps.length > 0 && !path.startsWith('.')) return steps;
  throw new Fault('usage', `${flag} ${FORM}`);
}

/** Returns a path as a user types it. */
export function printPath(steps: readonly Step[]): string {
  return steps.map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('');
}

/** Returns the value at a path; undefined if there is none. */
export function selectField(value: Json, steps: readonly Step[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || at instanceof JsonNumber) return undefined;
    const container = at as Readonly<Record<Step, Json>>;
    if (Array.isArray(at) !== (typeof step === 'number')) return undefined;
    at = container[step];
  }
  return at;
}

/**
 * Throws the fault `usage` for a path that no result can have. Call it before the request: a misspelt field would
 * otherwise lose the key of a new application.
 */
export function checkField(result: Schema | undefined, steps: readonly Step[]): void {
  if (result === undefined) throw new Fault('usage', '--field: there is no result to print');
  const unknown = findUnknown(result, steps);
  if (unknown === undefined) return;
  const { step, path, known } = unknown;
  const hint = itemHint(result, steps) ?? nearestHint(String(step), known);
  throw new Fault('usage', `--field: the result has no ${path}`, { hint });
}

/** Returns the first step of a path that no value of the schema has; undefined if a value can have the whole path. */
export function findUnknown(whole: Schema, steps: readonly Step[]) {
  let schema: Schema | undefined = whole;
  for (const [at, step] of steps.entries()) {
    if (schema === undefined || (schema.type === undefined && schema.enum === undefined)) return undefined;
    const { properties = {} }: Schema = schema;
    const next: Schema | undefined =
      typeof step === 'number' ? schema.items : Object.hasOwn(properties, step) ? properties[step] : others(schema);
    if (next === undefined) return { step, path: printPath(steps.slice(0, at + 1)), known: Object.keys(properties) };
    schema = next;
  }
  return undefined;
}

function others(schema: Schema): Schema | undefined {
  if (schema.type !== 'object' || schema.additionalProperties === false) return undefined;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

/** Returns a hint for a path into a list that names no item, such as `id` or `data.id`; undefined for other paths. */
function itemHint({ properties = {} }: Schema, steps: readonly Step[]): string | undefined {
  const known = properties['data']?.items?.properties ?? {};
  const path = steps[0] === 'data' ? steps.slice(1) : steps;
  const [first] = path;
  if (typeof first !== 'string') return undefined;
  // Members below `data` have no known names, so any member shows the form.
  const [example] = Object.hasOwn(known, first) || steps[0] !== 'data' ? [first] : Object.keys(known);
  if (example === undefined || !Object.hasOwn(known, example)) return undefined;
  const shown = example === first ? path : [example];
  const ofEach = Object.hasOwn(properties, 'pagination') ? `; with --all, use ${printPath(shown)} for each item` : '';
  return `use ${printPath(['data', 0, ...shown])} for the first item${ofEach}`;
}
