import { useState } from 'preact/hooks';
import type { Application, Token } from '../../../client/create-client.ts';
import { explainAccess } from '../../../core/access/explain-access.ts';
import { grantsOf } from '../applications.ts';
import { useLoaded } from '../loaded.ts';
import { Button } from '../parts/controls.tsx';
import { dataSummary } from '../parts/data-summary.ts';
import { upTo } from '../parts/numbers.ts';
import { Sees, Wrong } from '../parts/pieces.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { CONTAINERS_COLUMN, ID_COLUMN } from '../parts/token-id.tsx';
import { Turner } from '../parts/turner.tsx';
import { here, route } from '../route.ts';
import { askPage, askTotal, type ParsedFilter } from '../tokens/filter.ts';
import { NoTokens } from '../tokens/no-tokens.tsx';
import { vault } from '../vault.ts';

const OUTCOMES = ['reveal', 'mask', 'redact', 'nothing'] as const;
type Outcome = (typeof OUTCOMES)[number];

interface SeenOptions {
  readonly application: Application;
  /** The further applications to compare. */
  readonly others: readonly Application[];
  readonly all: readonly Application[];
  readonly filter: ParsedFilter;
}

/** Shows a page of tokens with the transform of the application, and one column for each further application. */
export function SeenTokens({ application, others, all, filter }: SeenOptions) {
  const { start, token } = route.value.query;
  const page = useLoaded(`${filter.text} ${start ?? ''}`, (signal) => askPage(filter, start, signal));
  const total = useLoaded(filter.text, (signal) => askTotal(filter, signal));
  const { tokens = [], next } = page.value ?? {};
  const seesOf = askerOf(application, all);
  return (
    <>
      <div class="counts">
        On this page:
        {OUTCOMES.map((outcome) => (
          <span key={outcome}>
            <Sees as={outcome} /> <b>{tokens.filter((each) => seesOf(each) === outcome).length}</b>
          </span>
        ))}
        <CountAll id={application.id} />
      </div>
      <Wrong>{page.error}</Wrong>
      {page.value !== undefined && tokens.length === 0 && <NoTokens filter={filter} />}
      <Rows
        caption={`Tokens as ${[application, ...others].map(({ name }) => name).join(', ')} sees them`}
        rows={tokens}
        idOf={({ id }) => id}
        hrefOf={({ id }) => here({ app: application.id, token: id })}
        open={token}
        hasCopy
        columns={[
          { head: 'Token', ...ID_COLUMN },
          { head: 'Containers', ...CONTAINERS_COLUMN, rank: 'extra' },
          ...(others.length === 0 ? aloneColumns(seesOf) : columnsOf([application, ...others], all)),
        ]}
        isLoading={page.isLoading}
      />
      <Turner
        next={next}
        shown={tokens.length}
        total={total.value}
        isLoading={page.isLoading}
        command={
          token === undefined
            ? { operation: 'measureReach', body: { application_id: application.id } }
            : { operation: 'explainAccess', body: { application_id: application.id, token_id: token } }
        }
      />
    </>
  );
}

/** Returns a function that decides which transform the application gets for a token. */
function askerOf(application: Application, all: readonly Application[]): (token: Token) => Outcome {
  const grants = grantsOf(application, all);
  return ({ id, containers = [] }) => explainAccess(grants, 'token:read', { id, containers }).transform ?? 'nothing';
}

function aloneColumns(seesOf: (token: Token) => Outcome): readonly Column<Token>[] {
  return [
    { head: 'Sees', show: (token) => <Sees as={seesOf(token)} />, size: 'badge' },
    { head: 'Data', show: (token) => <SeenData as={seesOf(token)} masked={dataSummary(token.data)} />, size: 'masked' },
  ];
}

const columnsOf = (compared: readonly Application[], all: readonly Application[]): readonly Column<Token>[] =>
  compared.map((each) => {
    const seesOf = askerOf(each, all);
    return { head: each.name, show: (token) => <Sees as={seesOf(token)} /> };
  });

function SeenData({ as, masked }: { readonly as: Outcome; readonly masked: string }) {
  if (as === 'reveal') return <span title="plaintext: open the row to reveal it">••••••••</span>;
  if (as === 'mask') return <code>{masked}</code>;
  return as === 'redact' ? <i>omitted</i> : null;
}

/** Shows a button that counts the tokens that each rule of an application governs. */
function CountAll({ id }: { readonly id: string }) {
  const [asked, setAsked] = useState<string>();
  const isAsked = asked === id;
  const { value, error, isLoading } = useLoaded(isAsked ? id : undefined, (signal) =>
    vault.measureReach({ body: { application_id: id }, signal }),
  );
  if (!isAsked) {
    return <Button onClick={() => setAsked(id)}>Count all</Button>;
  }
  if (error !== undefined) return <Wrong>{error}</Wrong>;
  if (isLoading || value === undefined) return <span role="status">Counting…</span>;
  return (
    <span role="status">
      In total:
      {value.reach.map(({ source, priority, transform, tokens, capped }) => (
        <span class="count" key={`${priority} ${transform}`}>
          {source === 'rule' ? `rule ${priority}` : source === 'permission' ? 'plain' : ''} <Sees as={transform} />{' '}
          <b>{upTo(tokens, capped)}</b>
        </span>
      ))}
    </span>
  );
}
