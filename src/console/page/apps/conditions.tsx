import type { AccessRule } from '../../../client/create-client.ts';
import { Button, Select } from '../parts/controls.tsx';
import { CONTAINERS_LIST } from './known-containers.tsx';

type Condition = NonNullable<AccessRule['conditions']>[number];

interface ConditionsOptions {
  readonly name: string;
  readonly of: readonly Condition[];
  readonly onChange: (conditions: Condition[]) => void;
}

/** Edits the conditions of an expiring application's rule, all of which must hold. */
export function Conditions({ name, of, onChange }: ConditionsOptions) {
  const change = (at: number, part: Partial<Condition>) =>
    onChange(of.map((each, index) => (index === at ? { ...each, ...part } : each)));
  return (
    <>
      {of.map((condition, at) => (
        // Conditions have no id, so use their index as the key.
        <div class="rule-row" key={`${name}-${at}`}>
          <Select
            aria-label="attribute"
            value={condition.attribute}
            options={['container', 'id']}
            choose={(attribute) => change(at, { attribute })}
          />
          <Select
            aria-label="operator"
            value={condition.operator}
            options={[['starts_with', 'starts with'], 'equals']}
            choose={(operator) => change(at, { operator })}
          />
          <input
            name={`${name}-value-${at}`}
            class="code wide"
            aria-label="value"
            list={condition.attribute === 'container' ? CONTAINERS_LIST : ''}
            value={condition.value}
            onInput={({ currentTarget: { value } }) => change(at, { value })}
          />
          <Button
            class="quiet"
            aria-label="Remove the condition"
            disabled={of.length === 1}
            onClick={() => onChange(of.toSpliced(at, 1))}
          >
            ×
          </Button>
        </div>
      ))}
      <Button class="quiet" onClick={() => onChange([...of, { attribute: 'id', operator: 'equals', value: '' }])}>
        + condition
      </Button>
    </>
  );
}
