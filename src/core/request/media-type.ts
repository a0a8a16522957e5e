import type { Operation } from '../../contract/operations.ts';
import { Problem } from '../problem.ts';

/** Step 3 of the one path: a body must have the content type that its operation takes (§4.1, decisions §1). */
export function checkMediaType(row: Operation, sent: string | undefined, hasBody: boolean): void {
  if (!row.body && !hasBody) return;
  const wanted = row.mediaType ?? 'application/json';
  const [essence, ...parameters] = (sent ?? '').split(';').map((part) => part.trim().toLowerCase());
  const fits = essence === wanted && parameters.every((parameter) => parameter === '' || isUtf8(parameter));
  if (fits) return;
  throw new Problem('unsupported_media_type', { detail: `The operation takes a body of content type ${wanted}.` });
}

function isUtf8(parameter: string): boolean {
  return !parameter.startsWith('charset=') || /^charset="?utf-8"?$/.test(parameter);
}
