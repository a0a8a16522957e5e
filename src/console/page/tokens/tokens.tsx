import { signal } from '@preact/signals';
import type { Token } from '../../../client/create-client.ts';
import { useKeys } from '../keys.ts';
import { useLoaded } from '../loaded.ts';
import { commandOf } from '../parts/command-of.ts';
import { dataSummary } from '../parts/data-summary.ts';
import { FilterBar } from '../parts/filter-bar.tsx';
import { AsCommand, BriefTime, Key, Wrong } from '../parts/pieces.tsx';
import { Rows } from '../parts/rows.tsx';
import { TokenId } from '../parts/token-id.tsx';
import { Turner } from '../parts/turner.tsx';
import { address, go, route } from '../route.ts';
import { isHeld } from '../session.ts';
import { ChangeToken } from './change-token.tsx';
import { addressable, type FilterTerms, parseFilter } from './filter.ts';
import { NewTokenForm } from './new-token-form.tsx';
import { askPage, askTotal, listQuery, TOKEN_PAGE_SIZE } from './token-page.ts';
import { TokenPane } from './token-pane.tsx';
import { TypeCounts } from './type-counts.tsx';

/** The text of the filter, including the terms `find:`, which the address must not contain. */
const found = signal('');

/** Shows the list of tokens, page by page. The address contains the filter and the cursor. */
export function Tokens() {
  const { q = '', start, at = '0', token, draft } = route.value.query;
  const text = addressable(found.value) === q ? found.value : q;
  const filter = parseFilter(text);
  const here = { q, start, at, token };
  const create = () => go(address('tokens', { ...here, draft: 'new' }));
  const mayCreate = isHeld('token:create');
  const isList = draft === undefined;
  useKeys(mayCreate && isList ? { n: create } : {});
  if (draft === 'new') return <NewTokenForm closed={address('tokens', here)} />;
  if (draft === 'change' && token !== undefined) return <ChangeToken id={token} closed={address('tokens', here)} />;
  return (
    <>
      <div class="list">
        <header>
          <h1>Tokens</h1>
          <FilterBar
            text={text}
            hint="type:card  in:/pci/  customer=1042  id:…"
            apply={(typed) => {
              found.value = typed;
              return address('tokens', { q: addressable(typed), token });
            }}
          />
          {mayCreate && (
            <button type="button" onClick={create}>
              New token <Key name="n" />
            </button>
          )}
        </header>
        <TypeCounts q={q} />
        {typeof filter === 'string' ? (
          <Wrong>{filter}</Wrong>
        ) : (
          <TokenList filter={filter} text={text} q={q} start={start} at={Number(at)} token={token} />
        )}
      </div>
      {token !== undefined && (
        <TokenPane
          id={token}
          closed={address('tokens', { q, start, at })}
          change={address('tokens', { ...here, draft: 'change' })}
        />
      )}
    </>
  );
}

interface ListOptions {
  readonly filter: FilterTerms;
  readonly text: string;
  readonly q: string;
  readonly start: string | undefined;
  /** The number of tokens before this page, which are newer. */
  readonly at: number;
  readonly token: string | undefined;
}

function TokenList({ filter, text, q, start, at, token }: ListOptions) {
  const page = useLoaded(`${text} ${start ?? ''}`, (signal) => askPage(filter, start, signal));
  const total = useLoaded(text, (signal) => askTotal(filter, signal));
  const { tokens = [], next } = page.value ?? {};
  const hasAny = text !== '';
  if (page.value !== undefined && tokens.length === 0 && at === 0) {
    return (
      <div class="empty">
        <p>
          {hasAny ? 'No token matches the filter.' : 'The vault has no tokens yet. Create one here, or in a terminal:'}
        </p>
        <AsCommand
          text={
            hasAny ? listCommand(filter) : 'vault tokens create --type card --data \'{"number":"4242424242424242"}\''
          }
        />
      </div>
    );
  }
  return (
    <>
      <Wrong>{page.error}</Wrong>
      <div class={page.isLoading ? 'loading' : ''} aria-busy={page.isLoading}>
        <Rows
          caption="Tokens, newest first"
          rows={tokens}
          idOf={({ id }) => id}
          hrefOf={({ id }) => address('tokens', { q, start, at: at === 0 ? undefined : String(at), token: id })}
          open={token}
          hasCopy
          columns={[
            { head: 'Id', show: ({ id }) => <TokenId id={id} />, titleOf: ({ id }) => id, size: 'long' },
            { head: 'Type', show: ({ type }) => type, rank: 'extra', size: 'medium' },
            { head: 'Data, masked', show: codeOf(dataOf), titleOf: dataOf },
            { head: 'Containers', show: codeOf(containersOf), titleOf: containersOf, rank: 'extra' },
            { head: 'Metadata', show: codeOf(metadataOf), titleOf: metadataOf, rank: 'wide' },
            { head: 'Created', show: ({ created_at }) => <BriefTime at={created_at} />, rank: 'less', size: 'short' },
            {
              head: 'Changed',
              show: ({ modified_at }) => <BriefTime at={modified_at} />,
              rank: 'widest',
              size: 'short',
            },
            { head: 'Expires', show: ({ expires_at }) => <BriefTime at={expires_at} />, rank: 'wide', size: 'short' },
          ]}
        />
      </div>
      <Turner
        screen="tokens"
        query={{ q, token }}
        position={{
          at,
          start,
          next,
          shown: tokens.length,
          size: TOKEN_PAGE_SIZE,
          total: total.value,
          isLoading: page.isLoading,
        }}
        command={listCommand(filter)}
      />
    </>
  );
}

const dataOf = ({ data }: Token): string => dataSummary(data);
const containersOf = ({ containers = [] }: Token): string => containers.join('  ');
const metadataOf = ({ metadata = {} }: Token): string =>
  Object.entries(metadata)
    .map((pair) => pair.join('='))
    .join('  ');

/** Shows a text of each token as code. */
const codeOf = (textOf: (token: Token) => string) => (token: Token) => <code>{textOf(token)}</code>;

function listCommand(filter: FilterTerms): string {
  const { find } = filter;
  if (find !== undefined) return 'vault tokens search \'data:"…"\' --transform mask';
  return commandOf({ operation: 'listTokens', query: { ...listQuery(filter), transform: 'mask' } });
}
