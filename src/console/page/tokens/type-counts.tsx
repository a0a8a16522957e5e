import { useLoaded } from '../loaded.ts';
import { wholeNumber } from '../parts/numbers.ts';
import { address } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

/** Shows the number of tokens of each type, as a link to these tokens. */
export function TypeCounts({ q }: { readonly q: string | undefined }) {
  const isAllowed = isHeld('report:read');
  const { value } = useLoaded(isAllowed ? 'usage' : undefined, (signal) => vault().getUsageReport({ signal }));
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
