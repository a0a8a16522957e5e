import type { Filter } from './filter.ts';
import { ALIAS_FILTERS } from './filters/alias.ts';
import { ARITHMETIC_FILTERS } from './filters/arithmetic.ts';
import { CARD_FILTERS } from './filters/card.ts';
import { CAST_FILTERS } from './filters/cast.ts';
import { ENCODING_FILTERS } from './filters/encoding.ts';
import { LIST_FILTERS } from './filters/list.ts';
import { MASK_FILTERS } from './filters/mask.ts';
import { TEXT_FILTERS } from './filters/text.ts';

/** All filters of the language (decisions §4). Callers send the names, so look them up with `Object.hasOwn`. */
export const FILTERS: Readonly<Record<string, Filter>> = {
  ...MASK_FILTERS,
  ...CARD_FILTERS,
  ...CAST_FILTERS,
  ...ALIAS_FILTERS,
  ...TEXT_FILTERS,
  ...LIST_FILTERS,
  ...ARITHMETIC_FILTERS,
  ...ENCODING_FILTERS,
};
