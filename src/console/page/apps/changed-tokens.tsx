import type { Token } from '../../../client/create-client.ts';
import { type ExplainedPermission, TOKEN_PERMISSIONS } from '../../../contract/explanation.ts';
import { explainAccess } from '../../../core/access/explain-access.ts';
import { createGrants, type Grants } from '../../../core/access/grants.ts';
import { useLoaded } from '../loaded.ts';
import { wholeNumber } from '../parts/numbers.ts';
import { Sees } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

/** The maximum number of tokens to compare, newest first, and of changed tokens to show. */
const MAX_LOOKED_AT = 1_000;
const MAX_SHOWN = 10;
const PAGE_SIZE = 100;

/** Loads the newest tokens, without data. */
export function useNewestTokens(): readonly Token[] {
  const { value } = useLoaded(isHeld('token:read') ? 'newest' : undefined, async (signal) => {
    const tokens: Token[] = [];
    let start: string | undefined;
    do {
      const query = { transform: 'redact' as const, size: PAGE_SIZE, ...(start !== undefined && { start }) };
      const { data, pagination } = await vault.listTokensByCursor({ query, signal });
      tokens.push(...data);
      start = pagination.next;
    } while (start !== undefined && tokens.length < MAX_LOOKED_AT);
    return tokens;
  });
  return value ?? [];
}

interface ChangedOptions {
  readonly tokens: readonly Token[];
  /** The grants before the change. Undefined for a new application. */
  readonly before: Grants | undefined;
  readonly after: Grants;
}

/**
 * Shows the tokens that the application would see or change differently. Decides with the same function as the vault.
 */
export function ChangedTokens({ tokens, before, after }: ChangedOptions) {
  const changed = tokens.map((token) => ({ token, changes: changesOf(token, before, after) }));
  const shown = changed.filter(({ changes }) => changes.length > 0);
  return (
    <section>
      <h3>
        Tokens that change: {wholeNumber(shown.length)} of the newest {wholeNumber(tokens.length)}
      </h3>
      {shown.length > 0 && (
        <Table
          caption="Permissions on tokens, before and after"
          heads={['Token', 'Before and after']}
          rows={shown.slice(0, MAX_SHOWN).map(({ token, changes }) => [
            <code key="id">{token.id}</code>,
            changes.map(([was, is]) => (
              <div key={is.permission}>
                <code>{is.permission}</code> <Outcome of={was} /> → <Outcome of={is} />
              </div>
            )),
          ])}
        />
      )}
    </section>
  );
}

const NO_GRANTS = createGrants({ permissions: [], rules: [] });
const SHOWS_DATA = ['token:read', 'token:use'];

/** Returns the permissions whose outcome differs, with both outcomes. */
function changesOf({ id, containers = [] }: Token, before: Grants = NO_GRANTS, after: Grants) {
  return TOKEN_PERMISSIONS.map((permission) => {
    const [was, is] = [before, after].map((grants) => explainAccess(grants, permission, { id, containers }));
    return [was, is] as readonly [ExplainedPermission, ExplainedPermission];
  }).filter(([was, is]) =>
    SHOWS_DATA.includes(is.permission) ? was.transform !== is.transform : was.allowed !== is.allowed,
  );
}

function Outcome({ of: { permission, transform, allowed } }: { readonly of: ExplainedPermission }) {
  return SHOWS_DATA.includes(permission) ? <Sees as={transform} /> : <b>{allowed ? 'yes' : 'no'}</b>;
}
