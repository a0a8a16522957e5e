import { randomBytes, randomUUID } from 'node:crypto';
import { headerPrefixOf, requestOf } from '../../client/remote.ts';
import type { Call } from '../../contract/call.ts';
import { DEFAULT_LIMITS } from '../../contract/limits.ts';
import { type BodyOf, OPERATIONS, type Operation, type OperationId, type QueryOf } from '../../contract/operations.ts';
import { CREATE_TOKEN } from '../../contract/token.ts';
import { checkApplication } from '../../core/access/check-application.ts';
import { checkUpdate } from '../../core/applications/change.ts';
import { logFiltersOf } from '../../core/audit/list-logs.ts';
import { JsonText, stringifyJson } from '../../core/json/stringify.ts';
import type { Random } from '../../core/ports.ts';
import { collectErrors, createErrors } from '../../core/request/batch.ts';
import { parseBody } from '../../core/request/parse-body.ts';
import { loadBodyValidators, validate, validateBody } from '../../core/request/validate.ts';
import { wallTime } from '../../core/timers.ts';
import { checkNewToken } from '../../core/tokens/create.ts';
import { findReferences } from '../../core/tokens/detokenize.ts';
import { parseApplicationExpiry, parseKeyExpiry } from '../../core/tokens/expires-at.ts';
import { parseSearch } from '../../core/tokens/list.ts';
import { findRequests } from '../../core/tokens/tokenize.ts';
import { checkPatch } from '../../core/tokens/update.ts';

/** The random source of ids that only show whether their expression works. */
const RANDOM: Random = { bytes: (length) => randomBytes(length), id: randomUUID, timeOrderedId: randomUUID };

/** The checks of requests that need no store, key or vault, besides those of the schemas. */
const CHECKS: {
  readonly [Id in OperationId]?: (body: BodyOf<Id>, query: QueryOf<Id>, now: number) => unknown;
} = {
  createToken: (body, _query, now) => checkNewToken(body, now, RANDOM),
  previewToken: (body, _query, now) => checkNewToken(body, now, RANDOM),
  updateToken: (body, _query, now) => checkPatch(body, now),
  async tokenize(body, _query, now) {
    const wrong = createErrors('invalid_request');
    const bodies = await loadBodyValidators();
    for (const one of findRequests(body)) {
      try {
        await checkNewToken(validateBody('createToken', CREATE_TOKEN, one.body, bodies), now, RANDOM);
      } catch (error) {
        collectErrors(one.path, error, wrong);
      }
    }
    wrong.throwIfAny();
  },
  detokenize: (body) => findReferences(body),
  searchTokens: ({ query }) => parseSearch(query),
  // Only the vault can open a cursor.
  searchTokensByCursor: ({ query }) => parseSearch(query),
  listLogs: (_body, query) => logFiltersOf(query),
  createApplicationKey: (body, _query, now) => body?.expires_at !== undefined && parseKeyExpiry(body.expires_at, now),
  createApplication({ permissions = [], rules = [], ...body }, _query, now) {
    checkApplication({ ...body, permissions, rules });
    if (body.type === 'expiring' && body.expires_at !== undefined) parseApplicationExpiry(body.expires_at, now);
  },
  updateApplication: (body) => checkUpdate(body),
};

/**
 * Checks a call as far as possible without a vault. Resolves to the request as JSON: method, path, headers and body,
 * with a placeholder for the API key. Rejects with problems.
 */
export async function dryRun(call: Call, headerPrefix: string | undefined): Promise<string> {
  const row: Operation = OPERATIONS[call.operation];
  const bodies = row.body && (await loadBodyValidators());
  const { body, query } = validate(call.operation, row, call, parseBody(row, call, DEFAULT_LIMITS), bodies);
  await check(call.operation, body, query);
  const prefix = headerPrefixOf(headerPrefix);
  const { method, path, bodyText } = requestOf(call, prefix);
  const headers = {
    [`${prefix}-api-key`]: '$VAULT_API_KEY',
    [`${prefix}-idempotency-key`]: call.idempotencyKey,
    'content-type': call.mediaType,
  };
  return stringifyJson({ method, path, headers, body: bodyText && new JsonText(bodyText.trim()) });
}

function check<Id extends OperationId>(id: Id, body: BodyOf<Id>, query: QueryOf<Id>): unknown {
  const known: ((body: BodyOf<Id>, query: QueryOf<Id>, now: number) => unknown) | undefined = CHECKS[id];
  return known?.(body, query, wallTime());
}
