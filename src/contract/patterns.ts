/** Patterns shared by the schemas. Each is anchored and has no nested quantifier. */
export const UUID = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';

/**
 * No C0 control characters, no DEL and no lone surrogates: the rule for every id, name, container and metadata text.
 */
export const PLAIN_TEXT = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$';

/** `key_` + 26 characters of base 58 (152 bits of randomness, and a 32-bit checksum in the last 6). For secret scanners. */
export const API_KEY = '^key_[1-9A-HJ-NP-Za-km-z]{32}$';

/** The prefix of the header names, in any case; `SVC` by default: `SVC-API-KEY`, `SVC-TRACE-ID`. */
export const HEADER_PREFIX = '^[A-Za-z][A-Za-z0-9-]{0,63}$';

/** An idempotency key: printable ASCII. HTTP removes blanks at the ends of a header's value. */
export const IDEMPOTENCY_KEY = '^(?! )[ -~]{1,200}(?<! )$';

/** The message for an invalid key. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 200 printable ASCII characters, with no blank at either end';

/** `/`, or segments of letters, digits, `-` and `_` between slashes (decisions §5). Input is lower-cased. */
export const CONTAINER = {
  type: 'string',
  maxLength: 255,
  pattern: '^(?!.*//)/([A-Za-z0-9_/-]*/)?$',
  examples: ['/pci/high/'],
} as const;

/** `name` of an application or a tenant (§8). */
export const NAME = { type: 'string', minLength: 1, maxLength: 200, pattern: PLAIN_TEXT } as const;

/** An id that the vault assigns. */
export const ENTITY_ID = { type: 'string', pattern: UUID } as const;

/** The tenant of a record. */
export const OWN_TENANT_ID = { ...ENTITY_ID, description: 'The id of its tenant.' } as const;

/** ISO 8601 in responses: milliseconds, UTC written `+00:00` (decisions §1). */
export const TIME = { type: 'string', format: 'date-time', examples: ['2026-03-01T09:30:00.000+00:00'] } as const;

/** The first and the last writer of a record, and the times. */
export const CHANGES = {
  created_by: { ...ENTITY_ID, description: 'The id of the application that created it.' },
  created_at: { ...TIME, description: 'When it was created.' },
  modified_by: { ...ENTITY_ID, description: 'The id of the application that changed it last.' },
  modified_at: { ...TIME, description: 'When it was changed last.' },
} as const;
