import type { SentBody } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import type { Limits } from '../../contract/limits.ts';
import type { Operation } from '../../contract/operations.ts';
import { isLonger } from '../is-longer.ts';
import { JsonSyntaxError } from '../json/json-syntax-error.ts';
import { parseJson } from '../json/parse.ts';
import { Problem } from '../problem.ts';

/**
 * Performs step 4 of the request path: checks the size and the encoding, and parses the JSON without loss. Returns
 * undefined for an operation without a body. Throws `body_too_large` or `malformed_json`.
 */
export function parseBody(row: Operation, sent: SentBody, limits: Limits): Json | undefined {
  const text = sent.bodyText ?? '';
  if (sent.bodyFault === 'too_large' || isLonger(text, limits.body)) {
    throw new Problem('body_too_large', { detail: `The body is larger than the limit of ${limits.body} bytes.` });
  }
  if (sent.bodyFault === 'not_utf8') throw new Problem('malformed_json', { detail: 'The body is not valid UTF-8.' });
  if (!row.body) {
    if (text === '') return undefined;
    throw new Problem('malformed_json', { detail: 'The operation takes no body.' });
  }
  if (text === '') throw new Problem('malformed_json', { detail: 'The body is empty.' });
  try {
    return parseJson(text, { maxDepth: limits.depth });
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new Problem('malformed_json', {
      detail: `The body is not valid JSON: ${error.reason} at character ${error.position + 1}.`,
    });
  }
}

/**
 * Performs step 3 of the request path: returns the problem with the content type of a body (§4.1, decisions §1), else
 * undefined.
 */
export function checkMediaType(row: Operation, sent: string | undefined): Problem | undefined {
  const wanted = row.mediaType ?? 'application/json';
  const [essence, ...parameters] = (sent ?? '').split(';').map((part) => part.trim().toLowerCase());
  const isUtf8 = parameters.every((each) => !each.startsWith('charset=') || /^charset="?utf-8"?$/.test(each));
  if (essence === wanted && isUtf8) return undefined;
  return new Problem('unsupported_media_type', { detail: `The operation takes a body of content type ${wanted}.` });
}
