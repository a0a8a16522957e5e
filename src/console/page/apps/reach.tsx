import { VaultError } from '../../../client/create-client.ts';
import type { DraftApplication, ReachPart } from '../../../contract/explanation.ts';
import { type Loaded, useLoaded } from '../loaded.ts';
import type { Errors } from '../parts/form-field.tsx';
import { upTo } from '../parts/numbers.ts';
import { Sees } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

interface Asked {
  readonly application_id?: string;
  readonly application?: DraftApplication;
}

/** The tokens that each rule governs, or the errors of a draft. */
export interface RuleReach {
  readonly parts: readonly ReachPart[];
  readonly errors: Errors;
}

/** Counts the tokens of an application or a draft. Does not count while `asked` is undefined. */
export function useReach(asked: Asked | undefined): Loaded<RuleReach> {
  const question = asked && isHeld('application:read') ? JSON.stringify(asked) : undefined;
  return useLoaded(question, async (signal) => {
    try {
      const { reach } = await vault.measureReach({ body: asked ?? {}, signal });
      return { parts: reach, errors: {} };
    } catch (error) {
      if (!(error instanceof VaultError) || error.status !== 400) throw error;
      const errors = Object.entries(error.errors).map(([path, texts]) => [path.replace('application.', ''), texts]);
      return { parts: [], errors: Object.fromEntries(errors) };
    }
  });
}

interface ReachedOptions {
  readonly reach: Loaded<RuleReach>;
  readonly priority: number;
}

/** Shows the number of tokens that a rule governs. */
export function Reached({ reach: { value, error, isLoading }, priority }: ReachedOptions) {
  const parts = value?.parts.filter((part) => part.priority === priority) ?? [];
  const isUnknown = value === undefined || Object.keys(value.errors).length > 0;
  return (
    <span
      class={isLoading ? 'reached note loading' : 'reached note'}
      title={error ?? 'tokens that the rule governs for token:read'}
    >
      {isUnknown ? '…' : parts.length === 0 ? 'reads no tokens' : parts.map(countOf).join(' + ')}
    </span>
  );
}

const countOf = ({ tokens, capped }: ReachPart): string =>
  `${upTo(tokens, capped)} ${tokens === 1 ? 'token' : 'tokens'}`;

/** Shows the number of tokens that each rule governs, in the order in which the vault tries the rules. */
export function ReachTable({ parts }: { readonly parts: readonly ReachPart[] }) {
  return (
    <Table
      caption="Tokens by governing grant"
      heads={['Because of', 'Sees', 'Tokens']}
      rows={parts.map(({ source, priority, transform, tokens, capped }) => [
        `${SOURCES[source]} ${priority ?? ''}`,
        <Sees key="sees" as={transform} />,
        upTo(tokens, capped),
      ])}
    />
  );
}

const SOURCES = { rule: 'rule', permission: 'plain permission', nothing: 'no grant' } as const;
