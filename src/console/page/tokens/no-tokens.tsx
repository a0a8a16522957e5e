import { AsCommand } from '../parts/as-command.tsx';
import { address, FIRST_PAGE, here } from '../route.ts';
import { isHeld } from '../session.ts';
import { NO_FILTER, type ParsedFilter } from './filter.ts';

/** Shows why a list has no rows, and what to do. */
export function NoTokens({ filter }: { readonly filter: ParsedFilter }) {
  if (filter.text !== '') {
    return (
      <div class="empty">
        <p>No token matches the filter.</p>
        {filter.hasData && (
          <p>
            A search finds values only in search indexes. Cards have none by default. To search by the last four digits,
            add one: <code>vault tokens patch ID --search-index '{CARD_INDEX}'</code>
          </p>
        )}
        <p>
          <a class="button" href={here({ ...FIRST_PAGE, ...NO_FILTER, token: undefined, order: undefined })}>
            Show all tokens
          </a>
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>The vault has no tokens yet.</p>
      {isHeld('token:create') && (
        <p>
          <a class="button main" href={address('tokens', { draft: 'new' })}>
            New token
          </a>
        </p>
      )}
      <AsCommand
        of={{
          text: 'vault tokens create --type card --data \'{"number":"4242424242424242"}\'',
          needs: 'token:create',
        }}
      />
    </div>
  );
}

const CARD_INDEX = '{{ data.number | last4 }}';
