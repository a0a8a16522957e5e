import { headerPrefixOf, requestOf } from '../../client/remote.ts';
import type { Call } from '../../contract/call.ts';
import { DEFAULT_LIMITS } from '../../contract/limits.ts';
import { type BodyOf, OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import { checkApplication } from '../../core/access/check-application.ts';
import { JsonText, stringifyJson } from '../../core/json/stringify.ts';
import { parseBody } from '../../core/request/parse-body.ts';
import { loadBodyValidators, validate } from '../../core/request/validate.ts';
import { wallTime } from '../../core/timers.ts';
import { parseApplicationExpiry, parseExpiresAt, parseKeyExpiry } from '../../core/tokens/expires-at.ts';
import { checkData } from '../../core/tokens/validate-data.ts';

/** The checks of request bodies that need no store, key or vault. */
const BODY_CHECKS: { readonly [Id in OperationId]?: (body: BodyOf<Id>, now: number) => void } = {
  createToken: checkNewToken,
  previewToken: checkNewToken,
  updateToken({ expires_at }, now) {
    if (typeof expires_at === 'string') parseExpiresAt(expires_at, now);
  },
  createApplicationKey(body, now) {
    if (body?.expires_at !== undefined) parseKeyExpiry(body.expires_at, now);
  },
  createApplication({ permissions = [], rules = [], ...body }, now) {
    checkApplication({ ...body, permissions, rules });
    if (body.type === 'expiring' && body.expires_at !== undefined) parseApplicationExpiry(body.expires_at, now);
  },
};

function checkNewToken({ type, data, expires_at }: BodyOf<'createToken'>, now: number): void {
  checkData(type, data);
  if (expires_at !== undefined) parseExpiresAt(expires_at, now);
}

/**
 * Checks a call as far as possible without a vault. Resolves to the request as JSON: method, path, headers and body,
 * with a placeholder for the API key. Rejects with problems.
 */
export async function dryRun(call: Call, headerPrefix: string | undefined): Promise<string> {
  const row: Operation = OPERATIONS[call.operation];
  const bodies = row.body && (await loadBodyValidators());
  const { body } = validate(call.operation, row, call, parseBody(row, call, DEFAULT_LIMITS), bodies);
  checkBody(call.operation, body);
  const prefix = headerPrefixOf(headerPrefix);
  const { method, path, bodyText } = requestOf(call, prefix);
  const headers = {
    [`${prefix}-api-key`]: '$VAULT_API_KEY',
    [`${prefix}-idempotency-key`]: call.idempotencyKey,
    'content-type': call.mediaType,
  };
  return stringifyJson({ method, path, headers, body: bodyText && new JsonText(bodyText.trim()) });
}

function checkBody<Id extends OperationId>(id: Id, body: BodyOf<Id>): void {
  const check: ((body: BodyOf<Id>, now: number) => void) | undefined = BODY_CHECKS[id];
  check?.(body, wallTime());
}
