import type { Call, SentBody } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import type { Limits } from '../../contract/limits.ts';
import type { Operation } from '../../contract/operations.ts';
import { isLonger } from '../bytes.ts';
import { JsonSyntaxError, parseJson } from '../json/parse.ts';
import { Problem } from '../problem.ts';

type MediaType = Pick<Call, 'mediaType' | 'contentCoding'>;

const BYTE_ORDER_MARK = '\ufeff';

/**
 * Performs step 4 of the request path: checks the size and the encoding, skips a byte order mark, and parses the JSON
 * without loss. Returns undefined for an operation without a body, which accepts `{}`, `null` and an empty form,
 * because some clients send one with every request, and for an omitted body. Throws `body_too_large`,
 * `malformed_json` or, for an operation with an optional body, `unsupported_media_type`.
 */
export function parseBody(row: Operation, sent: SentBody, limits: Limits, mediaType?: string): Json | undefined {
  const text = sent.bodyText?.startsWith(BYTE_ORDER_MARK) ? sent.bodyText.slice(1) : (sent.bodyText ?? '');
  if (sent.bodyFault === 'too_large' || isLonger(text, limits.body)) {
    throw new Problem('body_too_large', { detail: `The body is larger than the limit of ${limits.body} bytes.` });
  }
  if (!row.body) {
    if (sent.bodyFault === undefined && isEmptyBody(text, mediaType)) return undefined;
    throw new Problem('malformed_json', { detail: 'The operation takes no body.' });
  }
  if (row.bodyOptional) {
    if (sent.bodyFault === undefined && isEmptyBody(text, mediaType)) return undefined;
    checkContentType(row, mediaType);
  }
  if (sent.bodyFault === 'not_utf8') throw new Problem('malformed_json', { detail: 'The body is not valid UTF-8.' });
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
 * Returns whether a body is empty: blanks, `null`, an object without members, or a form without parts, which
 * consists of its last boundary (RFC 2046 §5.1.1).
 */
function isEmptyBody(text: string, mediaType = ''): boolean {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null' || /^\{[ \t\r\n]*\}$/.test(trimmed)) return true;
  const [, boundary] = /^multipart\/form-data *;.*boundary="?([^";]+)"?/i.exec(mediaType) ?? [];
  return boundary !== undefined && trimmed === `--${boundary.trim()}--`;
}

/** The charsets whose bodies are UTF-8. */
const CHARSETS: readonly string[] = ['utf-8', 'utf8', 'us-ascii'];

/**
 * Performs step 3 of the request path: throws `unsupported_media_type` for the content coding or the content type of a
 * body (§4.1, decisions §1). The problem names the rejected value. The type of an optional body is checked later, by
 * `parseBody`.
 */
export function checkMediaType(row: Operation, { mediaType, contentCoding }: MediaType): void {
  if (contentCoding !== undefined) {
    throw unsupported(`The content coding ${named(contentCoding)} is not supported; send the body without one.`);
  }
  if (!row.bodyOptional) checkContentType(row, mediaType);
}

function checkContentType(row: Operation, mediaType: string | undefined): void {
  const wanted = row.mediaType ?? 'application/json';
  if (mediaType === undefined || mediaType.trim() === '') {
    throw unsupported(`The operation accepts the content type ${wanted}; the request names none.`);
  }
  const [essence = '', ...parameters] = mediaType.split(';').map((part) => part.trim().toLowerCase());
  if (essence !== wanted) {
    throw unsupported(
      `The operation accepts the content type ${wanted}, not ${named(essence, 'the one of the request')}.`,
    );
  }
  const charsets = parameters.flatMap((each) => /^charset="?([^"]*)"?$/.exec(each)?.[1] ?? []);
  const other = charsets.find((charset) => !CHARSETS.includes(charset));
  if (other !== undefined) throw unsupported(`The charset ${named(other)} is not supported; send the body in utf-8.`);
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported_media_type', { detail });
}

/** Returns the value of a header for a problem: short, and without characters that could change a terminal. */
function named(value: string, otherwise = 'of the request'): string {
  return /^[ -~]{1,100}$/.test(value) ? value : otherwise;
}
