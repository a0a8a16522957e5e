import type { Limits } from '../../contract/limits.ts';
import { JsonText } from '../json/json-text.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { TokenRecord } from '../ports.ts';
import { invalid } from '../problem.ts';
import type { TokenContents } from './opened-token.ts';
import { showToken } from './show-token.ts';

/** What a page of one token has around it. */
const ENVELOPE = 256;

/** What the sealed values of a token do not tell of its size in a reply: names of members, ids, times, the defaults of its type. */
const UNSEALED = 8 * 1024;

/**
 * Throws `invalid_request` for a token that no reply could show. Each merge patch may bring as much as a body holds: what grew
 * beyond a response would be written, answered as if it were not, and be in the way of every list that it stands in.
 */
export function checkSize(record: TokenRecord, contents: TokenContents, limits: Limits): void {
  if (mayBeBytes(record) <= limits.response) return;
  const { data, masked = '', details, definition } = contents;
  const dataBytes = Buffer.byteLength(data);
  const longer = new JsonText(Buffer.byteLength(masked) > dataBytes ? masked : data);
  const shown = stringifyJson(showToken(record, details, longer, definition));
  if (Buffer.byteLength(shown) + ENVELOPE <= limits.response) return;
  const { mask } = definition;
  const member = mask !== undefined && Buffer.byteLength(stringifyJson(mask)) > dataBytes ? 'mask' : 'data';
  throw invalid(member, `makes the token larger than a response may be: ${limits.response} bytes`);
}

/** An estimate, never too small, that costs nothing: text that is sealed has at least two thirds of the bytes that it has in UTF-8. */
function mayBeBytes({ data, masked, details, definition }: TokenRecord): number {
  return 1.5 * (data.length + (masked?.length ?? 0) + details.length + definition.length) + UNSEALED;
}
