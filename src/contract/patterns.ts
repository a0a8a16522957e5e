/** The patterns that the schemas share. Each is anchored and has no nested quantifier. */
export const UUID = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';

/** The characters that plain texts exclude, for a class of a pattern. */
export const NOT_PLAIN = '\\u0000-\\u001f\\u007f\\ud800-\\udfff';

/**
 * The pattern of every id, name, container and metadata text: no C0 control characters, no DEL and no lone surrogates.
 */
export const PLAIN_TEXT = `^[^${NOT_PLAIN}]*$` as const;

/**
 * An API key: `key_` and 32 characters of base 58, of which 26 are random (152 bits) and 6 are a 32-bit checksum.
 * Secret scanners may use this pattern.
 */
export const API_KEY = '^key_[1-9A-HJ-NP-Za-km-z]{32}$';

/**
 * The characters of an API key that a client sends in a header. Clients omit any other key; an invalid and a missing
 * key get the same 401.
 */
export const SENDABLE = '^[\\x21-\\x7e]+$';

/** The prefix of the header names, case-insensitive. Default: `SVC` (`SVC-API-KEY`, `SVC-TRACE-ID`). */
export const HEADER_PREFIX = '^[A-Za-z][A-Za-z0-9-]{0,63}$';

/** An idempotency key: printable ASCII without blanks at the ends, which HTTP removes from the value of a header. */
export const IDEMPOTENCY_KEY = '^(?! )[ -~]{1,200}(?<! )$';

/** The message for an invalid idempotency key. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 200 printable ASCII characters, with no blank at either end';

/**
 * A container: `/`, or segments of letters, digits, `-` and `_` between slashes (decisions §5). The vault converts it
 * to lower case.
 */
export const CONTAINER = {
  type: 'string',
  maxLength: 255,
  pattern: '^(?!.*//)/([A-Za-z0-9_/-]*/)?$',
  examples: ['/pci/high/'],
} as const;

/** The `name` of an application or a tenant (§8). */
export const NAME = { type: 'string', minLength: 1, maxLength: 200, pattern: PLAIN_TEXT } as const;

/** An id that the vault assigns. */
export const ENTITY_ID = { type: 'string', pattern: UUID } as const;

/** The tenant id of a record. */
export const OWN_TENANT_ID = { ...ENTITY_ID, description: 'The id of the tenant.' } as const;

/** A time in a response: ISO 8601 with milliseconds, and UTC written as `+00:00` (decisions §1). */
export const TIME = { type: 'string', format: 'date-time', examples: ['2026-03-01T09:30:00.000+00:00'] } as const;

/** The members that name the first and the last writer of a record, and the times of their changes. */
export const CHANGES = {
  created_by: { ...ENTITY_ID, description: 'The id of the application that created the record.' },
  created_at: { ...TIME, description: 'The time of the creation.' },
  modified_by: { ...ENTITY_ID, description: 'The id of the application that last changed the record.' },
  modified_at: { ...TIME, description: 'The time of the last change.' },
} as const;

/** The names of these members, in order. */
export const CHANGE_NAMES = ['created_by', 'created_at', 'modified_by', 'modified_at'] as const;
