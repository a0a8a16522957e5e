import type { Json } from '../../contract/json.ts';
import { ExpressionError } from './expression-error.ts';
import type { Arguments, FilterTools } from './filter.ts';
import { FilterFailure } from './filter-failure.ts';
import { exceedsOutput } from './limits.ts';
import { readArgument } from './parameters.ts';
import { printValue } from './print-value.ts';
import { readPath } from './read-path.ts';
import type { FilterCall, Output, Scope, Template } from './template.ts';

const TOO_LONG = 'an expression gives at most 64 KiB';

/** Throws `ExpressionError`. */
export function evaluateTemplate(template: Template, scope: Scope, tools: FilterTools): Json {
  const [first, second] = template;
  if (typeof first === 'object' && second === undefined) return evaluateOutput(first, scope, tools);
  let text = '';
  for (const part of template) {
    text += typeof part === 'string' ? part : printValue(evaluateOutput(part, scope, tools));
    if (exceedsOutput(text)) throw new ExpressionError(TOO_LONG, typeof part === 'string' ? 0 : part.position);
  }
  return text;
}

function evaluateOutput(output: Output, scope: Scope, tools: FilterTools): Json {
  let value = output.operand.kind === 'path' ? readPath(output.operand, scope) : output.operand.value;
  for (const call of output.calls) value = callFilter(call, value, scope, tools);
  // What a filter gives was looked at already.
  if (output.calls.length === 0 && exceedsOutput(value)) throw new ExpressionError(TOO_LONG, output.position);
  return value;
}

function callFilter(call: FilterCall, input: Json, scope: Scope, tools: FilterTools): Json {
  const { name, filter, position } = call;
  if (filter.random && tools.random === undefined) {
    throw new ExpressionError(`${name} gives random results, which are allowed in id only`, position);
  }
  const args = call.open.length === 0 ? call.args : closeArguments(call, scope);
  try {
    tools.spend(workOf(input));
    const result = filter.run(input, args, tools);
    tools.spend(workOf(result));
    if (exceedsOutput(result)) throw new FilterFailure('gives more than 64 KiB');
    return result;
  } catch (error) {
    if (error instanceof FilterFailure) throw new ExpressionError(`${name} ${error.reason}`, position);
    throw error;
  }
}

function closeArguments(call: FilterCall, scope: Scope): Arguments {
  const args: Record<string, unknown> = { ...call.args };
  for (const { parameter, operand } of call.open) {
    const kind = call.filter.parameters[parameter]?.kind ?? 'value';
    args[parameter] = readArgument(call.name, parameter, kind, readPath(operand, scope), operand.position);
  }
  return args;
}

function workOf(value: Json): number {
  if (typeof value === 'string' || Array.isArray(value)) return 1 + value.length;
  return 1;
}
