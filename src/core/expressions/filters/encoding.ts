import { decodeUtf8 } from '../../bytes.ts';
import { defineFilter } from '../filter.ts';
import { assertOutput, FilterFailure, stepsOfText } from '../limits.ts';

/** Base64 in its standard alphabet (RFC 4648 §4). The padding may be missing. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** The characters that `encodeURIComponent` keeps and Liquid encodes. */
const KEPT = /[!'()*]/g;
const ENTITIES = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));

/** Throws `FilterFailure` for half of a surrogate pair, which UTF-8 cannot represent. */
function assertUnicode(text: string): void {
  if (!text.isWellFormed()) throw new FilterFailure('needs text without lone surrogates');
}

function urlEncoded(text: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  assertUnicode(text);
  return encodeURIComponent(text).replaceAll('%20', '+').replace(KEPT, hex);
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
  base64_encode: encoding((text) => {
    assertUnicode(text);
    return Buffer.from(text).toString('base64');
  }),
  base64_decode: decoding((text) => {
    if (!BASE64.test(text)) throw new FilterFailure('needs text in Base64, in its standard alphabet');
    const decoded = decodeUtf8(Buffer.from(text, 'base64'));
    if (decoded === undefined) throw new FilterFailure('needs Base64 of text in UTF-8');
    return decoded;
  }),
  /** Encodes a blank as `+`, as forms do. */
  url_encode: encoding(urlEncoded),
  url_decode: decoding((text) => {
    try {
      return decodeURIComponent(text.replaceAll('+', ' '));
    } catch {
      throw new FilterFailure('needs text with valid percent escapes');
    }
  }),
  escape: encoding((text) => text.replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character)),
};
