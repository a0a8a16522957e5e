import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { Fault } from '../../core/fault.ts';
import { JsonNumber } from '../../core/json/kind.ts';
import { nearestHint } from '../../core/nearest-name.ts';

/** A member's name, or an index of an array. */
export type Step = string | number;

/** `name`, `[0]` or `["any name"]`; a dot precedes later names. */
const STEP = /\.?(?<name>[^.[\]"]+)|\[(?<place>\d+)\]|\["(?<quoted>[^"]*)"\]/y;

/** Parses `data.cards[0]["odd.name"]`. Throws the fault `usage`. */
export function parsePath(path: string): readonly Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const groups = STEP.exec(path)?.groups;
    if (groups === undefined) throw new Fault('usage', '--field must be a path such as id, data.number or data[0].id');
    steps.push(groups['place'] === undefined ? (groups['name'] ?? groups['quoted'] ?? '') : Number(groups['place']));
  }
  if (steps.length > 0 && !path.startsWith('.')) return steps;
  throw new Fault('usage', '--field must be a path such as id, data.number or data[0].id');
}

/** Formats a path as a user types it. */
export function printPath(steps: readonly Step[]): string {
  return steps.map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('');
}

/** Returns the value at the path, or undefined. */
export function selectField(value: Json, steps: readonly Step[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || at instanceof JsonNumber) return undefined;
    const container = at as Readonly<Record<Step, Json>>;
    if (Array.isArray(at) !== (typeof step === 'number') || !Object.hasOwn(container, step)) return undefined;
    at = container[step];
  }
  return at;
}

/**
 * Rejects a path that no result can have. Runs before anything is sent: a misspelt field would lose the key of a
 * created application.
 */
export function checkField(result: Schema | undefined, steps: readonly Step[]): void {
  if (result === undefined) throw new Fault('usage', '--field: there is no result to print');
  let schema: Schema | undefined = result;
  for (const [at, step] of steps.entries()) {
    if (schema === undefined || (schema.type === undefined && schema.enum === undefined)) return;
    const known: readonly string[] = Object.keys(schema.properties ?? {});
    const next: Schema | undefined =
      typeof step === 'number'
        ? schema.items
        : Object.hasOwn(schema.properties ?? {}, step)
          ? schema.properties?.[step]
          : others(schema);
    if (next === undefined) {
      const hint = itemHint(result, steps) ?? nearestHint(String(step), known);
      const path = printPath(steps.slice(0, at + 1));
      throw new Fault('usage', `--field: the result has no ${path}`, { hint });
    }
    schema = next;
  }
}

function others(schema: Schema): Schema | undefined {
  if (schema.type !== 'object' || schema.additionalProperties === false) return undefined;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

/** Handles a path into a list that names no item: `id`, `data.id`. */
function itemHint({ properties = {} }: Schema, steps: readonly Step[]): string | undefined {
  const known = properties['data']?.items?.properties ?? {};
  const path = steps[0] === 'data' ? steps.slice(1) : steps;
  const [first] = path;
  if (typeof first !== 'string') return undefined;
  // Members below `data` have no known names, so any member shows the form.
  const [example] = Object.hasOwn(known, first) || steps[0] !== 'data' ? [first] : Object.keys(known);
  if (example === undefined || !Object.hasOwn(known, example)) return undefined;
  const shown = example === first ? path : [example];
  const ofEach = Object.hasOwn(properties, 'pagination')
    ? `; with --all, ${printPath(shown)} is that of each item`
    : '';
  return `${printPath(['data', 0, ...shown])} is that of the first item${ofEach}`;
}
