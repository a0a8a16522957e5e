import { decodeUtf8 } from '../../decode-utf8.ts';
import { FilterFailure } from '../expression-error.ts';
import { defineFilter } from '../filter.ts';
import { assertOutput, stepsOfText } from '../limits.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The characters that `encodeURIComponent` keeps and Liquid encodes. */
const KEPT = /[!'()*]/g;
const ENTITIES = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));

/** Returns the result of a function of the platform, which throws for text that it cannot convert. */
function converted(convert: () => string, expects: string): string {
  try {
    return convert();
  } catch {
    throw new FilterFailure(`needs ${expects}`);
  }
}

function urlEncoded(text: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const encoded = converted(() => encodeURIComponent(text), 'text without lone surrogates');
  return encoded.replaceAll('%20', '+').replace(KEPT, hex);
}

/** Creates a filter that converts text to one that is at least as long. */
function encoding(encode: (text: string) => string) {
  return defineFilter({
    input: 'liquid_text',
    apply: (text, _args, tools) => {
      assertOutput(text.length);
      tools.spend(4 * stepsOfText(text));
      return encode(text);
    },
  });
}

function decoding(decode: (text: string) => string) {
  return defineFilter({
    input: 'liquid_text',
    apply: (text, _args, tools) => {
      tools.spend(4 * stepsOfText(text));
      return decode(text);
    },
  });
}

/** The Liquid filters that encode and decode text, as UTF-8. */
export const ENCODING_FILTERS = {
  base64_encode: encoding((text) => Buffer.from(text).toString('base64')),
  base64_decode: decoding((text) => {
    if (!BASE64.test(text)) throw new FilterFailure('needs text in Base64');
    const decoded = decodeUtf8(Buffer.from(text, 'base64'));
    if (decoded === undefined) throw new FilterFailure('needs Base64 of text in UTF-8');
    return decoded;
  }),
  /** Encodes a blank as `+`, as forms do. */
  url_encode: encoding(urlEncoded),
  url_decode: decoding((text) =>
    converted(() => decodeURIComponent(text.replaceAll('+', ' ')), 'text with valid percent escapes'),
  ),
  escape: encoding((text) => text.replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character)),
};
