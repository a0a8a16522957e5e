import type { ComponentChildren } from 'preact';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';
import { QUERY_FIELDS } from '../../../core/search/parse-query.ts';
import { FilterBar } from '../parts/filter-bar.tsx';
import type { Offered } from '../parts/offers.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { address, FIRST_PAGE, here } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';
import { Dates } from './dates.tsx';
import { dayOf, rangeText } from './days-in-query.ts';
import { addressOf, isUuid, NO_FILTER, type ParsedFilter, parseFilter, queryOf } from './filter.ts';

/** Shows the filter of a list of tokens, which accepts the query language and what people paste. */
export function TokenFilterBar({ text = '' }: { readonly text: string | undefined }) {
  return (
    <FilterBar
      text={text}
      hint="type:card  customer=42  an id, a fingerprint or four digits"
      apply={async (typed) =>
        (await openOf(typed)) ?? here({ ...FIRST_PAGE, ...NO_FILTER, ...addressOf(queryOf(typed)) })
      }
      offersAt={offersAt}
      menu={(typed, choose) => isHeld('token:search') && <Dates query={queryOf(typed.trim())} choose={choose} />}
    />
  );
}

interface FilteredOptions {
  /** The query; undefined for one that the page has forgotten. */
  readonly text: string | undefined;
  readonly children: (filter: ParsedFilter) => ComponentChildren;
}

/** Shows the list of a filter, or why the filter cannot be answered. */
export function Filtered({ text, children }: FilteredOptions) {
  const filter = text === undefined ? FORGOTTEN : parseFilter(text);
  if (typeof filter === 'string') return <Wrong>{filter}</Wrong>;
  return filter.list === undefined && !isHeld('token:search') ? <Wrong>{NEEDS_SEARCH}</Wrong> : children(filter);
}

const FORGOTTEN = 'The address keeps no filter with a value. Type it again.';
const NEEDS_SEARCH =
  'This filter needs a key with token:search. Others join by AND: id: type: container:/…/* fingerprint: metadata.KEY:';

/** Resolves to the address of the token, or else of the application, with this UUID. */
async function openOf(typed: string): Promise<string | undefined> {
  if (!isUuid(typed)) return undefined;
  const tokens = await vault.listTokensByCursor({ query: { id: [typed], size: 1, transform: 'redact' } });
  if (tokens.data.length > 0) return address('tokens', { q: `id:${typed}`, token: typed });
  if (!isHeld('application:read')) return undefined;
  const application = await vault.getApplication({ params: { id: typed } }).catch(() => undefined);
  return application && address('applications', { app: typed });
}

const FIELDS = QUERY_FIELDS.map((field) => (field === 'metadata' ? 'metadata.' : `${field}:`));
const OPERATORS = ['AND ', 'OR ', 'NOT '];
const DAY_MS = 86_400_000;
/** The ranges that the page suggests for a date, in days from today. */
const RANGES: readonly (readonly [label: string, from: number | undefined, to: number | undefined])[] = [
  ['today', 0, undefined],
  ['the last 7 days', -6, undefined],
  ['the last 30 days', -29, undefined],
  ['more than 30 days ago', undefined, -30],
  ['before the next 30 days end', undefined, 30],
];

/** Returns the terms of the query language that complete the text before the cursor. */
function offersAt(before: string): Offered {
  const [, field = '', typed = ''] = /(?:^|[\s(!-])(type:|\w+_at:|)([\w.[]*)$/.exec(before) ?? [];
  if (field === 'type:') return { typed, offers: startingWith(typed, Object.keys(TOKEN_TYPES)) };
  if (field !== '') return { typed, offers: typed === '' ? RANGES.map(rangeOffer) : [] };
  return { typed, offers: typed === '' ? [] : startingWith(typed, [...FIELDS, ...OPERATORS]) };
}

const startingWith = (typed: string, all: readonly string[]) =>
  all.filter((each) => each.startsWith(typed) && each !== typed).map((text) => ({ text }));

function rangeOffer([label, from, to]: (typeof RANGES)[number]) {
  const [first = '', last = ''] = [from, to].map((days) =>
    days === undefined ? undefined : dayOf(Date.now() + days * DAY_MS),
  );
  const text = rangeText({ from: first, to: last });
  return { text, label: `${label}  ${text}` };
}
