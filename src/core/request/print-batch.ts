import type { Limits } from '../../contract/limits.ts';
import { isLonger } from '../is-longer.ts';
import { JsonText, type Printable, stringifyJson } from '../json/stringify.ts';
import { Problem } from '../problem.ts';

/** Returns a reply as JSON text. Throws `result_too_large` for a text above the size limit of a response. */
export function printBatch(reply: Printable, { response }: Limits): JsonText {
  const text = stringifyJson(reply);
  if (isLonger(text, response)) throw tooLarge();
  return new JsonText(text);
}

export function tooLarge(): Problem {
  return new Problem('result_too_large', {
    detail: 'The result exceeds the size limit of a response; send fewer items in one request.',
  });
}
