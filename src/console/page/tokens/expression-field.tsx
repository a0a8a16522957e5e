import { FormField } from '../parts/form-field.tsx';
import { useOffers } from '../parts/offers.tsx';

/** The maximum number of suggested filters. */
const MAX_OFFERED = 8;

/** Matches the name and arguments of a filter after a `|` inside `{{`. */
const FILTER = /\{\{(?:(?!\}\}).)*\|\s*([a-z_0-9]*)(\s*:[^|{}]*)?$/s;

/** Shows a field for expressions. After `{{ data |`, it suggests filters and shows their arguments. */
export function ExpressionField(options: Parameters<typeof FormField>[0]) {
  const { name, value, onInput } = options;
  const offers = useOffers({ name, label: 'Filters', value, onInput, offersAt, takesFirst: true });
  const { known } = offers.found;
  return (
    <FormField {...options} onInput={offers.onType} control={offers.control}>
      {known !== undefined && <p class="signature code">{FILTER_SIGNATURES[known]}</p>}
      {offers.list}
    </FormField>
  );
}

/** Returns the filters that complete the text before the cursor, or the filter that it names. */
function offersAt(before: string) {
  const [, typed = '', rest] = FILTER.exec(before) ?? [undefined, ' '];
  const known = Object.hasOwn(FILTER_SIGNATURES, typed) ? typed : undefined;
  const isNaming = rest === undefined && known === undefined;
  const found = isNaming ? Object.keys(FILTER_SIGNATURES).filter((each) => each.startsWith(typed)) : [];
  return {
    typed,
    known,
    offers: found.slice(0, MAX_OFFERED).map((text) => ({ text, label: FILTER_SIGNATURES[text] })),
  };
}
