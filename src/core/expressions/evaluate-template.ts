import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { printValue } from '../json/stringify.ts';
import type { Arguments, FilterTools } from './filter.ts';
import {
  ExpressionError,
  FilterFailure,
  MAX_OUTPUT,
  spendOutput,
  stepsOfReading,
  stepsOfText,
  type WorkBudget,
} from './limits.ts';
import { readArgument } from './parameters.ts';
import type { FilterCall, Output, PathOperand, Template } from './parse-template.ts';

/** The values available to expressions (decisions §4). `metadata` is available only in `fingerprint_expression`. */
export interface Scope {
  readonly data: Json;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

const TOO_LONG = 'the expression returns more than 64 KiB';

/**
 * Returns the result of a template: one output alone keeps the type of its value, any other template gives a string.
 * Throws `ExpressionError`.
 */
export function evaluateTemplate(template: Template, scope: Scope, tools: FilterTools): Json {
  const [first, second] = template;
  if (typeof first === 'object' && second === undefined) return evaluateOutput(first, scope, tools);
  let text = '';
  let bytes = 0;
  for (const part of template) {
    const printed = typeof part === 'string' ? part : printValue(evaluateOutput(part, scope, tools));
    text += printed;
    // Count each part once: counting the growing text would take quadratic time.
    bytes += Buffer.byteLength(printed);
    if (bytes > MAX_OUTPUT) throw new ExpressionError(TOO_LONG, typeof part === 'string' ? 0 : part.position);
  }
  return text;
}

/**
 * Checks a template without evaluating it. Throws `ExpressionError` for a template that fails outside of `id` for all
 * data.
 */
export function checkTemplate(template: Template, readsMetadata: boolean): void {
  for (const part of template) {
    if (typeof part === 'string') continue;
    const { operand, calls } = part;
    if (operand.kind === 'path') checkScope(operand, readsMetadata);
    for (const call of calls) {
      refuseRandom(call);
      for (const argument of call.open) checkScope(argument.operand, readsMetadata);
    }
  }
}

function checkScope({ root, position }: PathOperand, readsMetadata: boolean): void {
  if (root === 'metadata' && !readsMetadata) throw outOfScope(position);
}

function evaluateOutput(output: Output, scope: Scope, tools: FilterTools): Json {
  let value = output.operand.kind === 'path' ? read(output.operand, scope, tools) : output.operand.value;
  for (const call of output.calls) value = callFilter(call, value, scope, tools);
  // `callFilter` has already checked the output of a filter.
  if (output.calls.length === 0) positioned('the expression', output.position, () => spendOutput(value, tools));
  return value;
}

/**
 * Returns the value at a path; null when the data has no such member. Reads own members only, so no path reaches a
 * prototype.
 */
function read(path: PathOperand, scope: Scope, work: WorkBudget): Json {
  let value: Json | undefined = path.root === 'data' ? scope.data : scope.metadata;
  if (value === undefined) throw outOfScope(path.position);
  return positioned('the path', path.position, () => {
    for (const key of path.keys) value = readKey(value ?? null, key, work);
    return value ?? null;
  });
}

/** Returns the result of `work`. Converts its `FilterFailure` into the error of the part `name` of the expression. */
function positioned<T>(name: string, position: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FilterFailure) throw new ExpressionError(`${name} ${error.reason}`, position);
    throw error;
  }
}

/** The steps of calling a filter, besides those of its input and its result. */
const CALLING = 16;

function callFilter(call: FilterCall, input: Json, scope: Scope, tools: FilterTools): Json {
  const { name, filter, position } = call;
  if (tools.random === undefined) refuseRandom(call);
  return positioned(name, position, () => {
    const args = call.open.length === 0 ? call.args : closeArguments(call, scope, tools);
    tools.spend(CALLING + stepsOfReading(input));
    const result = filter.run(input, args, tools);
    spendOutput(result, tools);
    return result;
  });
}

function refuseRandom({ name, filter, position }: FilterCall): void {
  if (!filter.random) return;
  throw new ExpressionError(`${name} returns random results, which are allowed only in id`, position);
}

function closeArguments(call: FilterCall, scope: Scope, tools: FilterTools): Arguments {
  const args: Record<string, unknown> = { ...call.args };
  for (const { parameter, operand } of call.open) {
    const kind = call.filter.parameters[parameter]?.kind ?? 'value';
    const value = read(operand, scope, tools);
    tools.spend(stepsOfReading(value));
    args[parameter] = readArgument(call.name, parameter, kind, value, operand.position);
  }
  return args;
}

const INDEX = /^-?\d{1,15}$/;

function outOfScope(position: number): ExpressionError {
  return new ExpressionError('metadata is available only in fingerprint_expression', position);
}

/**
 * Returns the member `key` of a value, or null. As in Liquid, `size`, `first` and `last` of arrays and `size` of a text
 * are computed; in an object these names are ordinary members.
 */
function readKey(value: Json, key: string | number, work: WorkBudget): Json {
  if (isJsonArray(value)) {
    if (key === 'size') return value.length;
    if (key === 'first') return value[0] ?? null;
    if (key === 'last') return value.at(-1) ?? null;
    return typeof key === 'number' || INDEX.test(key) ? (value.at(Number(key)) ?? null) : null;
  }
  if (typeof value === 'string') {
    if (key !== 'size') return null;
    work.spend(stepsOfText(value));
    return [...value].length;
  }
  return isJsonObject(value) && Object.hasOwn(value, key) ? (value[key] ?? null) : null;
}
