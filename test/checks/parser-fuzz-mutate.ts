type Change = (text: string, at: number, draw: Draw) => string;

/** Returns a whole number from 0 to below `end`. */
type Draw = (end: number) => number;

/** Characters that parsers may treat specially. */
const ODD = [
  ...['\0', '\v', '\u2028', '\ufeff', '\ud800', '\udc00', '\u00e9', '\u{1f600}', '"', "'", '\\', '\r\n', '-', '0'],
];

const CHANGES: readonly Change[] = [
  (text, at, draw) => text.slice(0, at) + text.slice(at + 1 + draw(8)),
  (text, at, draw) => text.slice(0, at) + text.slice(at, at + 1 + draw(16)).repeat(2 + draw(3)) + text.slice(at),
  (text, at, draw) => text.slice(0, at) + (ODD[draw(ODD.length)] ?? '') + text.slice(at),
  (text, at, draw) => text.slice(0, at) + String.fromCharCode(draw(128)) + text.slice(at + 1),
  (text, at, draw) => {
    const from = draw(text.length + 1);
    return text.slice(0, at) + text.slice(from, from + 1 + draw(24)) + text.slice(at);
  },
  (text, at, draw) => text.slice(0, at) + String(draw(2) === 0 ? draw(20) : draw(2 ** 31) ** 2) + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at, draw) => text.slice(0, at) + '[{('.charAt(draw(3)).repeat(1 + draw(70)) + text.slice(at),
];

/** The maximum length of a text. Longer texts take longer but reach no new code. */
const MAX_LENGTH = 1_200;

/** Returns a text made from one or two corpus texts. The same random numbers give the same text. */
export function mutate(corpus: readonly string[], dictionary: readonly string[], random: () => number): string {
  const draw: Draw = (end) => Math.floor(random() * end);
  const pick = (from: readonly string[]) => from[draw(from.length)] ?? '';
  let text = pick(corpus);
  if (draw(4) === 0) {
    const other = pick(corpus);
    text = text.slice(0, draw(text.length + 1)) + other.slice(draw(other.length + 1));
  }
  for (let changes = 1 + draw(4); changes > 0; changes -= 1) {
    const at = draw(text.length + 1);
    const word = pick(dictionary);
    const change = CHANGES[draw(2 * CHANGES.length)];
    text = change === undefined ? text.slice(0, at) + word + text.slice(at) : change(text, at, draw);
  }
  return text.slice(0, MAX_LENGTH);
}
