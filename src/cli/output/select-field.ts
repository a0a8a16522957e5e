import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { Fault } from '../../core/fault.ts';
import { JsonNumber } from '../../core/json/json-number.ts';
import { nearestName } from '../../core/nearest-name.ts';

/** A member's name, or a place in an array. */
export type Step = string | number;

/** `name`, `[0]` or `["any name"]`; names after the first are behind a dot. */
const STEP = /\.?(?<name>[^.[\]"]+)|\[(?<place>\d+)\]|\["(?<quoted>[^"]*)"\]/y;

/** Takes `data.cards[0]["odd.name"]` apart. Throws the fault `usage`. */
export function parsePath(path: string): readonly Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const groups = STEP.exec(path)?.groups;
    if (groups === undefined) throw new Fault('usage', '--field is a path such as id, data.number or data[0].id');
    steps.push(groups['place'] === undefined ? (groups['name'] ?? groups['quoted'] ?? '') : Number(groups['place']));
  }
  if (steps.length > 0 && !path.startsWith('.')) return steps;
  throw new Fault('usage', '--field is a path such as id, data.number or data[0].id');
}

/** What stands at the path, or undefined. */
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
 * Refuses a path that no result can have. Asked before anything is sent: a created application whose key was to be
 * printed by a misspelt name would be lost.
 */
export function checkField(result: Schema | undefined, steps: readonly Step[]): void {
  if (result === undefined) throw new Fault('usage', '--field: there is no result to print');
  let schema: Schema | undefined = result;
  for (const step of steps) {
    if (schema === undefined || (schema.type === undefined && schema.enum === undefined)) return;
    const known: readonly string[] = Object.keys(schema.properties ?? {});
    const next: Schema | undefined =
      typeof step === 'number'
        ? schema.items
        : Object.hasOwn(schema.properties ?? {}, step)
          ? schema.properties?.[step]
          : others(schema);
    if (next === undefined) throw refusal(step, known);
    schema = next;
  }
}

function others(schema: Schema): Schema | undefined {
  if (schema.type !== 'object' || schema.additionalProperties === false) return undefined;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

function refusal(step: Step, known: readonly string[]): Fault {
  const near = nearestName(String(step), known);
  const list = known.length === 0 ? undefined : `known are ${known.join(', ')}`;
  const hint = near === undefined ? list : `did you mean ${near}?`;
  return new Fault('usage', `--field: the result has no member ${step}`, hint === undefined ? {} : { hint });
}
