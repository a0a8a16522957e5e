import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { AccessRule } from '../../../client/create-client.ts';
import type { Transform } from '../../../contract/permissions.ts';
import { clock } from '../dev/clock-state.ts';
import { outage } from '../outage.ts';
import { Button } from './controls.tsx';
import { exactTime, relativeTime, shortTime } from './numbers.ts';

/** Shows a time relative to the clock of the vault, with the exact time as its title. */
export function Time({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return null;
  const ms = Date.parse(at) - Date.now() - (clock.value?.offset_ms ?? 0);
  return (
    <time dateTime={at} title={at}>
      {relativeTime(ms)}
    </time>
  );
}

/** Shows another time after a text: ` · ends in 5 minutes`. */
export function TimeAfter({ what, at }: { readonly what: string; readonly at: string | undefined }) {
  return at === undefined ? null : (
    <>
      {` · ${what} `}
      <Time at={at} />
    </>
  );
}

/** Shows a time with its date and zone. */
export function ExactTime({ at }: { readonly at: string }) {
  const text = exactTime(at);
  return (
    <span class="when">
      {text.slice(0, 19)}
      <span class="zone">{text.slice(19)}</span>
    </span>
  );
}

/** Shows a time with its date and zone, and relative to the clock of the vault. */
export function When({ at }: { readonly at: string }) {
  return (
    <>
      <ExactTime at={at} />{' '}
      <span class="soft">
        (<Time at={at} />)
      </span>
    </>
  );
}

/** Shows the transform that an application gets. */
export function Sees({ as = 'nothing' }: { readonly as?: Transform | 'nothing' | undefined }) {
  return <span class={`sees ${as}`}>{as}</span>;
}

/** Returns a time relative to the clock of the vault, for a narrow column: `5 min ago`. */
export const briefTime = (at: string | undefined): string =>
  at === undefined ? '' : shortTime(Date.parse(at) - Date.now() - (clock.value?.offset_ms ?? 0));

interface FactsOptions {
  readonly of: Readonly<Record<string, ComponentChildren>>;
  readonly class?: 'facts' | 'keys';
}

/** Shows values with their terms, without those that are undefined or empty. */
export function Facts({ of, class: name = 'facts' }: FactsOptions) {
  return (
    <dl class={name}>
      {Object.entries(of).map(
        ([term, fact]) =>
          fact !== undefined &&
          fact !== '' && (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{fact}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function Tags({ of = [] }: { readonly of?: readonly string[] | undefined }) {
  return (
    <span class="tags">
      {of.map((tag) => (
        <code class="tag" key={tag}>
          {tag}
        </code>
      ))}
    </span>
  );
}

/**
 * Shows a button that copies `text`. Shows nothing on plain HTTP from another machine, where pages have no clipboard.
 */
export function CopyButton({
  text,
  children = 'Copy',
  ...more
}: Parameters<typeof Button>[0] & { readonly text: string }) {
  return (
    isSecureContext && (
      <Button class="quiet" {...more} onClick={() => copy(text)}>
        {children}
      </Button>
    )
  );
}

export function copy(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => toast('Copied'),
    () => toast('The browser refused to copy.'),
  );
}

/** Shows an error. Screen readers announce it. */
export function Wrong({ children }: { readonly children: ComponentChildren }) {
  // During an outage, one notice reports it for the whole page.
  return children && outage.value === undefined ? (
    <p class="wrong" role="alert">
      {children}
    </p>
  ) : null;
}

/** Shows a rule in one line: its containers or conditions, its transform and its description. */
export function RuleText({
  rule: { container, conditions = [], transform, description },
}: {
  readonly rule: AccessRule;
}) {
  const where = container ?? conditions.map((each) => `${each.attribute} ${each.operator} ${each.value}`).join(' and ');
  return (
    <>
      <code>{where}</code> <Sees as={transform} /> <i>{description}</i>
    </>
  );
}

const SHOWN_MS = 3_000;
const text = signal('');
let timer = 0;

/** Shows a short note for three seconds. */
export function toast(note: string): void {
  text.value = note;
  clearTimeout(timer);
  timer = setTimeout(() => (text.value = ''), SHOWN_MS);
}

export function Toast() {
  return (
    <p class="toast" role="status">
      {text.value}
    </p>
  );
}
