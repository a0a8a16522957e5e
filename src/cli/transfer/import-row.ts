import { createHash } from 'node:crypto';

/** A token to make: the body of Create Token as it is sent, and where it stood. */
export interface ImportRow {
  readonly line: number;
  readonly body: string;
}

/** What must be known of a body besides. */
export interface RowFacts {
  readonly id?: string;
  /** `mask: null`: the token has no mask although its type has one. Create Token cannot say that; a patch does. */
  readonly withoutMask: boolean;
}

/** Of a body that is no JSON object, nothing: the vault says what is wrong with it. */
export function factsOf(body: string): RowFacts {
  // Most rows have neither, and need not be parsed twice.
  if (!body.includes('"id"') && !body.includes('"mask"')) return { withoutMask: false };
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed !== 'object' || parsed === null) return { withoutMask: false };
    const withoutMask = 'mask' in parsed && parsed.mask === null;
    // An id with an expression in it is made by the vault, and another one each time.
    const isPlain = 'id' in parsed && typeof parsed.id === 'string' && !parsed.id.includes('{{');
    return { ...(isPlain && { id: String(parsed.id) }), withoutMask };
  } catch {
    return { withoutMask: false };
  }
}

/**
 * The id that a row without one gets from a journal: the same in each run of that journal, and nobody else's. A version 8 UUID
 * (RFC 9562 §5.8) of the journal's secret and the row's line.
 */
export function derivedId(secret: string, line: number): string {
  const bytes = createHash('sha256').update(`${secret}\n${line}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The same body with an id, which it must not have yet. */
export function withId(body: string, id: string): string {
  return body.replace(/^\s*\{/, () => `{"id":${JSON.stringify(id)},`);
}
