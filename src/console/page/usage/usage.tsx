import { useLoaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { Wrong } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';
import { address } from '../route.ts';
import { vault } from '../vault.ts';
import { Columns } from './columns.tsx';

const MONTHS = 12;

/** Shows the number of tokens and of active tokens. */
export function Usage() {
  const { value, error } = useLoaded('usage', async (signal) => {
    const [{ token_report: report }, { months }] = await Promise.all([
      vault.getUsageReport({ signal }),
      vault.getActivity({ query: { months: MONTHS }, signal }),
    ]);
    return { report, months };
  });
  const types = Object.entries(value?.report.metrics_by_type ?? {})
    .map(([type, { count }]) => ({ type, count }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
  const largest = types[0]?.count ?? 1;
  const active = value?.report.monthly_active_tokens ?? 0;
  const included = value?.report.included_monthly_active_tokens ?? 0;
  return (
    <div class="list">
      <header>
        <h1>Usage</h1>
      </header>
      <Wrong>{error}</Wrong>
      {value !== undefined && (
        <div class="scroller cards">
          <section class="card">
            <h2>Tokens by type</h2>
            <p class="figure">{wholeNumber(types.reduce((sum, { count }) => sum + count, 0))}</p>
            <Table
              class="shares"
              caption="Tokens by type"
              heads={['Type', 'Tokens', 'Share']}
              rows={types.map(({ type, count }) => [
                <a key="type" href={address('tokens', { q: `type:${type}` })}>
                  {type}
                </a>,
                wholeNumber(count),
                <svg key="share" class="bar" aria-hidden="true" width="100%" height="12">
                  <rect width={`${Math.max(0.5, (100 * count) / largest)}%`} height="12" rx="2" />
                </svg>,
              ])}
            />
            {types.length === 0 && (
              <p>
                No tokens yet.{' '}
                <a class="button" href={address('tokens', { draft: 'new' })}>
                  New token
                </a>
              </p>
            )}
            <AsCommand of={{ operation: 'getUsageReport' }} />
          </section>
          <section class="card">
            <h2>Active by month</h2>
            <p class="figure">
              {wholeNumber(active)} <span class="note">of {wholeNumber(included)} included this month</span>
            </p>
            <Columns
              items={value.months.map(({ month, active_tokens }) => ({ name: month, value: active_tokens }))}
              limit={included}
            />
            <p class="note">
              A token is active in the month in which it is created or shown, also by lists here, even if deleted later.
            </p>
            <AsCommand of={{ operation: 'getActivity', query: { months: MONTHS } }} />
          </section>
        </div>
      )}
    </div>
  );
}
