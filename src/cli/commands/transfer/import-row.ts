import { createHash } from 'node:crypto';
import { parseText } from '../../../client/decode-problem.ts';
import type { Json } from '../../../contract/json.ts';
import { isSameJson } from '../../../core/json/stringify.ts';
import { MachineDate } from '../../../core/timers.ts';
import { objectOf } from '../../output/result-view.ts';

/** A token to create: the body of the Create Token request, and its line in the input. */
export interface ImportRow {
  readonly line: number;
  readonly body: string;
  /** Whether the journal generated the id. An existing token with such an id comes from this row. */
  readonly hasDerivedId?: boolean;
  /** Whether the row was a token as a reply shows it, so that its data may be masked. */
  readonly isRead?: boolean;
  /** The reason to reject the row without sending it. */
  readonly refused?: string;
}

/** Returns whether a body can be part of a batch: one create request creates its token completely. */
export function isWholeRequest(body: string): boolean {
  const parsed = parseText(body);
  if (typeof parsed !== 'object' || parsed === null) return false;
  return Object.hasOwn(parsed, 'type') && Object.hasOwn(parsed, 'data') && !factsOf(body).withoutMask;
}

/**
 * Returns the id of a body, and whether it has `mask: null`: no mask, not even that of its type. Only a patch after the
 * create can do that. Accepts a body that is not a JSON object, so that the vault reports the error.
 */
export function factsOf(body: string): { readonly id?: string; readonly withoutMask: boolean } {
  // Skip the parse for most rows, which have neither member.
  if (!body.includes('"id"') && !body.includes('"mask"')) return { withoutMask: false };
  const parsed = parseText(body);
  if (typeof parsed !== 'object' || parsed === null) return { withoutMask: false };
  const withoutMask = 'mask' in parsed && parsed.mask === null;
  // Ignore an id with an expression: the vault generates a new id from it for each create.
  const isPlain = 'id' in parsed && typeof parsed.id === 'string' && !parsed.id.includes('{{');
  return { ...(isPlain && { id: String(parsed.id) }), withoutMask };
}

/**
 * Returns the id for a row without one: a version 8 UUID (RFC 9562 §5.8) derived from the journal's secret and the
 * row's line. It is the same in each run of a journal, and differs between journals.
 */
export function derivedId(secret: string, line: number): string {
  const bytes = createHash('sha256').update(`${secret}\n${line}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Returns the body with the id added. The body must not have an id. */
export function withId(body: string, id: string): string {
  return body.replace(/^\s*\{/, () => `{"id":${JSON.stringify(id)},`);
}

/**
 * Returns whether a token, as read, matches a Create Token body: type, data, metadata, named containers and expiry.
 * Does not compare members that the API never returns (masks, expressions).
 */
export function isSameToken(body: string, shown: string): boolean {
  const [sent, found] = [objectOf(body), objectOf(shown)];
  return (
    isSameJson(sent['type'] ?? null, found['type'] ?? null) &&
    isSameJson(sent['data'] ?? null, found['data'] ?? null) &&
    isSameJson(sent['metadata'] ?? {}, found['metadata'] ?? {}) &&
    sameContainers(sent['containers'], found['containers']) &&
    sameTime(sent['expires_at'], found['expires_at'])
  );
}

function sameContainers(sent: Json | undefined, found: Json | undefined): boolean {
  if (!Array.isArray(sent) || !Array.isArray(found)) return sent === undefined || sent === null;
  const sorted = (list: readonly Json[]) => [...new Set(list.map((item) => String(item).toLowerCase()))].sort().join();
  return sorted(sent) === sorted(found);
}

/** Returns whether two times are the same moment, in any format. True for a format that only the vault reads. */
function sameTime(sent: Json | undefined, found: Json | undefined): boolean {
  if (typeof sent !== 'string' || typeof found !== 'string') return (sent ?? undefined) === (found ?? undefined);
  const [left, right] = [MachineDate.parse(sent), MachineDate.parse(found)];
  return Number.isNaN(left) || left === right || !/^\d{4}-/.test(sent);
}
