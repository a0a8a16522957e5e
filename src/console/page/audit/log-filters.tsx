import { OPERATIONS } from '../../../contract/operations.ts';
import { Check, DateField, Select } from '../parts/controls.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { HolderCommand, holderRun } from '../parts/holder-command.tsx';
import { exactTime, wholeNumber } from '../parts/numbers.ts';
import { FIRST_PAGE, go, here, route } from '../route.ts';
import { aboutSession } from '../session.ts';
import type { LogFilter } from './log-entries.ts';

/** The output of `vault audit verify`. */
interface Verified {
  readonly ok: boolean;
  readonly entries?: number;
  readonly head?: string;
  readonly first_bad?: { readonly sequence: number; readonly what: string };
}

const verify = holderRun<Verified>('verify');

const OPERATION_IDS = Object.keys(OPERATIONS).sort();

interface LogFiltersOptions {
  readonly filter: LogFilter;
  /** The names of applications, by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** Shows the filters of the log, and the button that verifies the whole log. */
export function LogFilters({ filter, names }: LogFiltersOptions) {
  const { entity = '', actor = '', operation = '', denied } = filter;
  const addressOf = (changed: LogFilter & { readonly live?: string }) => here({ ...FIRST_PAGE, ...changed });
  return (
    <>
      <header>
        <h1>Audit</h1>
        <FilterBar
          text={entity}
          hint="id of a token or an application"
          apply={(typed) => addressOf({ entity: typed })}
        />
        <Choice name="actor" chosen={actor} options={[...names]} choose={(id) => go(addressOf({ actor: id }))} />
        <Choice
          name="operation"
          chosen={operation}
          options={OPERATION_IDS.map((id) => [id, id])}
          choose={(id) => go(addressOf({ operation: id }))}
        />
      </header>
      <section class="tools" aria-label="View">
        <Check isOn={denied !== undefined} turn={(isOn) => go(addressOf({ denied: isOn ? '1' : '' }))}>
          denied only
        </Check>
        <Check isOn={route.value.query['live'] !== 'off'} turn={(isOn) => go(addressOf({ live: isOn ? '' : 'off' }))}>
          live
        </Check>
        <HolderCommand
          label="Verify"
          run={verify}
          command={{ text: 'vault audit verify', needs: 'file' }}
          isGood={({ ok }) => ok}
          show={verdictOf}
        />
        <span class="holder">
          {BOUNDS.map(([label, name]) => (
            <DateField
              key={name}
              label={label}
              type="datetime-local"
              value={localTime(filter[name])}
              choose={(typed) => go(addressOf({ [name]: typed && new Date(typed).toISOString() }))}
            />
          ))}
        </span>
        {aboutSession()?.audit_level === 'mutations' && <span class="note">This vault does not record reads.</span>}
      </section>
    </>
  );
}

const BOUNDS = [
  ['From', 'since'],
  ['To', 'until'],
] as const;

/** Returns a time in the form of a date field. */
const localTime = (iso: string | undefined): string => (iso ? exactTime(iso).slice(0, 19).replace(' ', 'T') : '');

function verdictOf({ ok, entries = 0, head = '', first_bad: bad }: Verified) {
  if (!ok) return `entry ${bad?.sequence}: ${bad?.what}`;
  return (
    <>
      verified {wholeNumber(entries)} entries, head <code title={head}>{head.slice(0, 8)}</code>
    </>
  );
}

interface ChoiceOptions {
  readonly name: string;
  readonly chosen: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly choose: (value: string) => void;
}

/**
 * A select with the given options. If the chosen value is not among the options, as for a deleted application, adds it.
 */
function Choice({ name, chosen, options, choose }: ChoiceOptions) {
  const isOther = chosen !== '' && !options.some(([value]) => value === chosen);
  return (
    <Select
      aria-label={name}
      value={chosen}
      options={[['', `any ${name}`], ...(isOther ? [[chosen, chosen] as const] : []), ...options]}
      choose={choose}
    />
  );
}
