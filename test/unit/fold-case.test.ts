import { expect, test } from 'vitest';
import { foldCase } from '../../src/core/tokens/indexes.ts';
import { readTable } from '../vectors/read-vectors.ts';

const textOf = (points: string) =>
  String.fromCodePoint(...points.split(' ').map((point) => Number.parseInt(point, 16)));

/** The code points that full case folding maps to several, with the result. */
const FULL = readTable('case-folding').map(({ fields }) => fields.map(textOf) as [string, string]);

/** Every code point but the surrogates, as a text. */
const ALL = Array.from({ length: 0x11_0000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point));
/** Unassigned, or for private use: six sevenths of the code points. */
const UNASSIGNED = /[\p{Cn}\p{Co}]/u;
const CHARACTERS = ALL.filter((one) => !UNASSIGNED.test(one));

const CASED = CHARACTERS.filter((one) => /[\p{CWCF}\p{CWL}\p{CWU}\p{CWT}]/u.test(one));

test.each(FULL)('%s folds as %s, by the full case folding of Unicode', (one, folded) => {
  expect(foldCase(one)).toBe(foldCase(folded));
});

test('unassigned code points, and those for private use, fold as themselves', () => {
  const rest = ALL.filter((one) => UNASSIGNED.test(one)).join('');
  expect([rest.length > 1_500_000, foldCase(rest) === rest]).toEqual([true, true]);
});

test('every character folds as its upper case, its lower case and its decomposition', () => {
  const others = CHARACTERS.filter((one) => {
    const folded = foldCase(one);
    const variants = [one.toUpperCase(), one.toLowerCase(), one.normalize('NFD'), folded];
    return variants.some((variant) => foldCase(variant) !== folded);
  });
  expect(others).toEqual([]);
});

test('all characters that the regular expressions of this Unicode version compare as equal fold alike', () => {
  const all = CASED.join('');
  const others = CASED.flatMap((one) =>
    (all.match(new RegExp(one, 'giu')) ?? []).filter((variant) => foldCase(variant) !== foldCase(one)),
  );
  expect([CASED.length > 2_800, others]).toEqual([true, []]);
});

test('of other characters, only the dotless i folds as another', () => {
  const full = new Map(FULL);
  const forms = new Map<string, string[]>();
  for (const one of CHARACTERS) {
    const folded = foldCase(one);
    const form = (full.get(one) ?? one).normalize('NFC');
    const known = forms.get(folded);
    if (known === undefined) forms.set(folded, [form]);
    else if (!known.includes(form)) known.push(form);
  }
  expect([...forms.keys()].filter((folded) => UNASSIGNED.test(folded))).toEqual([]);
  const others = [...forms.values()].flatMap(([first = '', ...more]) =>
    more.filter((form) => !new RegExp(`^(?:${first})$`, 'iu').test(form)),
  );
  expect(others).toEqual(['ı']);
});
