import type { Call } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import type { BodyOf, Operation, OperationId, ParamsOf, QueryOf } from '../../contract/operations.ts';
import type { Schema } from '../../contract/schema.ts';
import { MemberMap } from '../json/member-map.ts';
import { invalid, type MemberErrors, Problem } from '../problem.ts';
import { VALIDATORS, type Validator } from '../validators.generated.js';
import { dropNulls } from './drop-nulls.ts';
import { memberErrors } from './member-errors.ts';
import { readQuery } from './read-query.ts';

type BodyValidators = typeof import('../body-validators.generated.js').BODY_VALIDATORS;

/** What a handler is given: every part is what the row's schema says. */
export interface Request<Id extends OperationId> {
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
}

/**
 * Step 5 of the one path: the three parts against the row's schemas; all that is wrong is reported at once. Of a row with
 * a body `loadBodyValidators` must have come to its end.
 */
export function validate<Id extends OperationId>(
  id: Id,
  row: Operation,
  call: Call,
  body: Json | undefined,
): Request<Id> {
  if (call.paramFault !== undefined) throw invalid(call.paramFault, 'is not validly percent-encoded');
  if (call.queryFault !== undefined) throw invalid(call.queryFault, 'is not validly percent-encoded');
  const validators = VALIDATORS[id];
  const params: Json = Object.assign(new MemberMap(), call.params);
  const query = readQuery(row.query, call.query);
  // In a merge patch null means "remove" (RFC 7396), everywhere else "absent" (decisions §1).
  const keepsNulls = row.mediaType === 'application/merge-patch+json';
  const sentBody = row.body && body !== undefined && !keepsNulls ? dropNulls(row.body, body) : body;
  const errors = [
    check(validators.params, row.params, params),
    check(validators.query, row.query, query),
    check(row.body && loadedBodyValidators()[id], row.body, sentBody),
  ];
  if (errors.some((found) => found !== undefined)) {
    // Without a prototype a member that is called `__proto__` is one like any other, and stays.
    throw new Problem('invalid_request', { errors: Object.assign(Object.create(null), ...errors) });
  }
  // The validators were compiled from the schemas that these types are inferred from.
  return { params, query, body: sentBody } as Request<Id>;
}

let bodyValidators: BodyValidators | undefined;

/** Those of bodies are most of what is compiled of the schemas, and a read has none. */
export async function loadBodyValidators(): Promise<void> {
  bodyValidators ??= (await import('../body-validators.generated.js')).BODY_VALIDATORS;
}

function loadedBodyValidators(): BodyValidators {
  if (bodyValidators === undefined) throw new Error('unreachable: whoever validates a body has loaded what it takes');
  return bodyValidators;
}

function check(validator: Validator | undefined, schema: Schema | undefined, value: unknown): MemberErrors | undefined {
  if (!validator || !schema || validator(value)) return undefined;
  return memberErrors(schema, validator.errors ?? []);
}
