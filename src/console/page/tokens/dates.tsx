import { useState } from 'preact/hooks';
import type { RangeField } from '../../../core/search/parse-query.ts';
import { DateField, Form, Select } from '../parts/controls.tsx';
import { Menu } from '../parts/menu.tsx';
import { exactTime } from '../parts/numbers.ts';
import { daysIn, NO_DAYS, withDays } from './days-in-query.ts';

interface DatesOptions {
  readonly query: string;
  readonly choose: (query: string) => void;
}

/** Shows a menu with the days of a query. */
export function Dates({ query, choose }: DatesOptions) {
  return (
    <Menu name="Dates" class="dates">
      <DatesForm key={query} query={query} choose={choose} />
    </Menu>
  );
}

const FIELDS: readonly (readonly [field: RangeField, name: string])[] = [
  ['created_at', 'Created'],
  ['modified_at', 'Changed'],
  ['expires_at', 'Expires'],
];

function DatesForm({ query, choose }: DatesOptions) {
  const [first] = FIELDS.find(([each]) => daysIn(query, each)) ?? ['created_at'];
  const [field, setField] = useState<RangeField>(first);
  const [days, setDays] = useState(daysIn(query, first) ?? NO_DAYS);

  function apply(form: HTMLFormElement) {
    form.closest('details')?.removeAttribute('open');
    choose(withDays(query, field, days));
  }

  return (
    <Form onSend={apply}>
      <Select
        aria-label="Date"
        value={field}
        options={FIELDS}
        choose={(chosen) => {
          setField(chosen);
          setDays(daysIn(query, chosen) ?? NO_DAYS);
        }}
      />
      <DateField label="From" type="date" value={days.from} choose={(from) => setDays({ ...days, from })} />
      <DateField label="To" type="date" value={days.to} min={days.from} choose={(to) => setDays({ ...days, to })} />
      <p class="note">Whole days in your time zone ({exactTime(new Date().toISOString()).slice(20)}).</p>
      <button type="submit" class="main">
        Apply
      </button>
    </Form>
  );
}
