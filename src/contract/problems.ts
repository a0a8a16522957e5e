import { object } from './schema.ts';
/** The `title` of a problem: the HTTP reason phrase of its status. */
export const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
} as const;

export type ProblemStatus = keyof typeof TITLES;

interface ProblemRow {
  readonly status: ProblemStatus;
  /** The default text of `detail`. It is fixed and never an exception's message. */
  readonly detail: string;
}

/** All problems that a call may return (RFC 9457, decisions §1). The code is the last part of the body's `type`. */
export const PROBLEMS = {
  invalid_request: { status: 400, detail: 'The request failed validation.' },
  malformed_json: { status: 400, detail: 'The body is not valid JSON.' },
  malformed_http: { status: 400, detail: 'The request is not valid HTTP.' },
  result_too_large: {
    status: 400,
    detail: 'The result exceeds the size limit of a response; request a smaller page.',
  },
  too_expensive: {
    status: 400,
    detail: 'The call takes too long. Request less, or list by cursor (start).',
  },
  unauthenticated: { status: 401, detail: 'The API key is missing, malformed, unknown or no longer valid.' },
  console_locked: { status: 401, detail: 'The console is locked; open it from its link.' },
  console_refused: { status: 403, detail: 'The terminal did not allow this browser.' },
  permission_missing: { status: 403, detail: 'The application does not hold the permission that the operation needs.' },
  no_governing_rule: {
    status: 403,
    detail: 'No permission or access rule of the application gives access to this token.',
  },
  origin_refused: { status: 403, detail: 'A management or private key must not be used from a browser.' },
  token_not_found: { status: 404, detail: 'There is no token with this id.' },
  application_not_found: { status: 404, detail: 'There is no application with this id.' },
  key_not_found: { status: 404, detail: 'The application has no API key with this id.' },
  snapshot_not_found: { status: 404, detail: 'There is no snapshot with this name.' },
  route_not_found: { status: 404, detail: 'The path does not exist.' },
  method_not_allowed: { status: 405, detail: 'The path does not support this method.' },
  request_timeout: { status: 408, detail: 'The request did not arrive in time.' },
  token_id_taken: { status: 409, detail: 'A token with this id exists, or existed, in the tenant.' },
  too_many_keys: { status: 409, detail: 'The application has the maximum of 10 API keys; delete one first.' },
  idempotency_mismatch: {
    status: 409,
    detail: 'This idempotency key belongs to another request; use a new key.',
  },
  idempotency_in_progress: {
    status: 409,
    detail: 'The first request with this idempotency key is running; try again.',
  },
  write_conflict: { status: 409, detail: 'Other writers kept changing the same record; try again.' },
  snapshot_conflict: { status: 409, detail: 'The snapshot already exists, or this vault cannot load it.' },
  body_too_large: { status: 413, detail: 'The body is larger than the limit.' },
  url_too_long: { status: 414, detail: 'The URL is longer than the limit.' },
  unsupported_media_type: {
    status: 415,
    detail: 'The operation does not accept a body of this content type, charset or content coding.',
  },
  wrong_host: {
    status: 421,
    detail: 'This server does not serve the host of the request; `vault serve --host-name` adds a name.',
  },
  too_many_requests: { status: 429, detail: 'Too many requests; slow down.' },
  headers_too_large: { status: 431, detail: 'The headers are larger than the limit.' },
  internal_error: { status: 500, detail: 'The operation could not be completed.' },
  integrity_failure: {
    status: 500,
    detail: 'A stored record is damaged or was altered outside the vault. Run `vault doctor`.',
  },
  vault_busy: { status: 503, detail: 'The vault is busy; try again.' },
  vault_locked: { status: 503, detail: 'The vault is locked.' },
  vault_stopping: { status: 503, detail: 'The vault is stopping.' },
  vault_moved: { status: 503, detail: 'The vault was moved or replaced.' },
  write_unsettled: {
    status: 503,
    detail: 'The connection to the database was lost during the change. The change may or may not be stored.',
  },
  read_only: { status: 503, detail: "The vault's disk is read-only." },
  disk_error: { status: 503, detail: "The vault's disk reports an error." },
  no_space: { status: 507, detail: 'There is no space left for the vault.' },
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The start of every problem's `type`. */
export const PROBLEM_TYPE_PREFIX = 'urn:token-vault:problem:';

/** The body of every error response (RFC 9457 §3.1). A 400 about members also has `errors` by dotted path. */
export const PROBLEM_BODY = object(['type', 'title', 'status', 'detail', 'instance'], {
  type: {
    type: 'string',
    pattern: '^urn:token-vault:problem:[a-z_]+$',
    description: 'A URN that ends in the problem code.',
  },
  title: { type: 'string', description: 'The status in words.' },
  status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
  detail: { type: 'string', description: 'The error, in a sentence.' },
  instance: { type: 'string', description: 'The trace id of the request.' },
  errors: {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'The errors, by dotted path of the member.',
  },
  ids: {
    type: 'array',
    items: { type: 'string' },
    description:
      'For `idempotency_mismatch` of a request that succeeded: the ids of the records that it created or changed.',
  },
});
