import { useLayoutEffect, useState } from 'preact/hooks';
import type { Token } from '../../../client/create-client.ts';
import { useLoaded } from '../loaded.ts';
import { KeyButton } from '../parts/controls.tsx';
import { dataSummary } from '../parts/data-summary.ts';
import { wholeNumber } from '../parts/numbers.ts';
import { Wrong } from '../parts/pieces.tsx';
import { Rows, timeColumn } from '../parts/rows.tsx';
import { CONTAINERS_COLUMN, ID_COLUMN } from '../parts/token-id.tsx';
import { Turner } from '../parts/turner.tsx';
import { address, FIRST_PAGE, go, here, route } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';
import { ChangeToken } from './change-token.tsx';
import { askPage, askTotal, listCommand, type ParsedFilter, queryAt } from './filter.ts';
import { NewTokenForm } from './new-token-form.tsx';
import { NoTokens } from './no-tokens.tsx';
import { SelectedTokens } from './selected-tokens.tsx';
import { Filtered, TokenFilterBar } from './token-filter.tsx';
import { TokenPane } from './token-pane.tsx';

/** Shows the list of tokens, page by page. The address contains the filter and the cursor. */
export function Tokens() {
  const { token, draft } = route.value.query;
  const text = queryAt(route.value.query);
  const create = () => go(here({ draft: 'new' }));
  if (draft === 'new') return <NewTokenForm />;
  if (draft === 'change' && token !== undefined) return <ChangeToken id={token} />;
  return (
    <>
      <div class="list">
        <header>
          <h1>Tokens</h1>
          <TokenFilterBar text={text} />
          {isHeld('token:create') && <KeyButton name="New token" shortcut="n" act={create} />}
        </header>
        <TypeCounts q={text} />
        <Filtered text={text}>{(filter) => <TokenList filter={filter} />}</Filtered>
      </div>
      {token !== undefined && <TokenPane id={token} />}
    </>
  );
}

function TokenList({ filter }: { readonly filter: ParsedFilter }) {
  const { start, at, token } = route.value.query;
  const order = route.value.query['order'] === 'oldest' ? 'oldest' : undefined;
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const { text } = filter;
  const page = useLoaded(`${text} ${order} ${start ?? ''}`, (signal) => askPage(filter, start, signal, order));
  useLayoutEffect(() => select(new Set()), [text]);
  const total = useLoaded(text, (signal) => askTotal(filter, signal));
  const { tokens = [], next } = page.value ?? {};
  if (page.value !== undefined && tokens.length === 0 && at === undefined) return <NoTokens filter={filter} />;
  return (
    <>
      <Wrong>{page.error}</Wrong>
      <Rows
        caption={`Tokens, ${order ?? 'newest'} first`}
        rows={tokens}
        idOf={({ id }) => id}
        hrefOf={({ id }) => here({ token: id })}
        open={token}
        hasCopy
        selection={{ ids: selected, set: select }}
        columns={[
          { head: 'Id', ...ID_COLUMN },
          { head: 'Type', show: ({ type }) => type, rank: 'extra', size: 'medium' },
          { head: 'Data, masked', show: dataOf, isCode: true, titleOf: dataOf, size: 'masked' },
          { head: 'Containers', ...CONTAINERS_COLUMN, rank: 'less' },
          { head: 'Metadata', show: metadataOf, isCode: true, titleOf: metadataOf, rank: 'wide' },
          timeColumn(<OrderLink order={order} />, ({ created_at }: Token) => created_at, 'less'),
          timeColumn('Changed', ({ modified_at }: Token) => modified_at, 'widest'),
          timeColumn('Expires', ({ expires_at }: Token) => expires_at, 'wide'),
        ]}
        isLoading={page.isLoading}
      />
      <SelectedTokens ids={selected} set={select} />
      <Turner
        next={next}
        shown={tokens.length}
        total={total.value}
        isLoading={page.isLoading}
        command={listCommand(filter, order)}
        isOldestFirst={order === 'oldest'}
      />
    </>
  );
}

const dataOf = ({ data }: Token): string => dataSummary(data);
const metadataOf = ({ metadata = {} }: Token): string =>
  Object.entries(metadata)
    .map((pair) => pair.join('='))
    .join('  ');

/** Shows the order of a list, as a link to the reverse order. */
function OrderLink({ order }: { readonly order: 'oldest' | undefined }) {
  const [first, other] = order === undefined ? ['newest', 'oldest'] : ['oldest', 'newest'];
  return (
    <a
      href={here({ ...FIRST_PAGE, order: order ? '' : 'oldest' })}
      title={`The ${first} first. Show the ${other} first.`}
    >
      Created {order === undefined ? '↓' : '↑'}
    </a>
  );
}

/** Shows the number of tokens of each type, as a link to these tokens. */
function TypeCounts({ q }: { readonly q: string | undefined }) {
  const isAllowed = isHeld('report:read');
  const { value } = useLoaded(isAllowed ? 'usage' : undefined, (signal) => vault.getUsageReport({ signal }));
  const counts = Object.entries(value?.token_report.metrics_by_type ?? {}).filter(([, { count }]) => count > 0);
  const all = counts.reduce((sum, [, { count }]) => sum + count, 0);
  const chips = [
    ['all', '', all] as const,
    ...counts.map(([type, { count }]) => [type, `type:${type}`, count] as const),
  ];
  if (!isAllowed) return null;
  return (
    <ul class="counts" aria-label="Tokens by type">
      {value !== undefined &&
        chips.map(([name, filter, count]) => (
          <li key={name}>
            <a href={address('tokens', { q: filter })} aria-current={q === filter ? 'true' : undefined}>
              {name} <b>{wholeNumber(count)}</b>
            </a>
          </li>
        ))}
    </ul>
  );
}
