import type { AccessRule, Application, Token } from '../../../client/create-client.ts';
import { type Permission, TRANSFORMS, type Transform } from '../../../contract/permissions.ts';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';
import { Button, Check, Select } from '../parts/controls.tsx';
import { FieldErrors } from '../parts/form-field.tsx';

interface RuleEditorOptions {
  readonly rule: AccessRule;
  /** The permissions on tokens that the type may hold. */
  readonly offered: readonly Permission[];
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly reached: preact.ComponentChildren;
  readonly onChange: (rule: AccessRule) => void;
  /** Moves the rule by one position. */
  readonly onMove: (step: -1 | 1) => void;
  readonly onRemove: () => void;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Edits a rule of a draft. Alt ↑ and Alt ↓ move it. */
export function RuleEditor(options: RuleEditorOptions) {
  const { rule, offered, errors, warnings, reached, onChange, onMove, onRemove, isFirst, isLast } = options;
  const { priority, container, conditions, transform, permissions, description } = rule;
  const name = `rule-${priority}`;

  function moveByKey(event: KeyboardEvent) {
    const step = event.altKey ? ({ ArrowUp: -1, ArrowDown: 1 } as const)[event.key] : undefined;
    if (step === undefined) return;
    event.preventDefault();
    onMove(step);
  }

  const toggle = (permission: Permission) =>
    onChange({
      ...rule,
      permissions: offered.filter((each) => permissions.includes(each) !== (each === permission)),
    });

  return (
    <fieldset class="rule" onKeyDown={moveByKey}>
      <legend>Rule {priority}</legend>
      <div class="rule-head">
        {reached}
        <span class="buttons">
          <Button class="quiet" onClick={() => onMove(-1)} disabled={isFirst} aria-label={`Move rule ${priority} up`}>
            ↑
          </Button>
          <Button class="quiet" onClick={() => onMove(1)} disabled={isLast} aria-label={`Move rule ${priority} down`}>
            ↓
          </Button>
          <Button class="quiet" onClick={onRemove} aria-label={`Remove rule ${priority}`}>
            Remove
          </Button>
        </span>
      </div>
      {conditions !== undefined && (
        <Conditions name={name} of={conditions} onChange={(next) => onChange({ ...rule, conditions: next })} />
      )}
      <div class="rule-row">
        {conditions === undefined && (
          <label class="wide">
            Container, and below
            <input
              name={`${name}-container`}
              class="code"
              list={CONTAINERS_LIST}
              value={container}
              placeholder="/pci/"
              aria-invalid={errors.length > 0}
              aria-describedby={`${name}-errors`}
              onInput={({ currentTarget: { value } }) => onChange({ ...rule, container: value })}
            />
          </label>
        )}
        <label>
          Shows data
          <Select
            value={transform}
            options={Object.keys(TRANSFORMS) as Transform[]}
            choose={(chosen) => onChange({ ...rule, transform: chosen })}
          />
        </label>
        <label class="wide">
          Description
          <input
            name={`${name}-description`}
            value={description}
            onInput={({ currentTarget: { value } }) => onChange({ ...rule, description: value })}
          />
        </label>
      </div>
      <FieldErrors id={`${name}-errors`} errors={errors} />
      <div class="checks">
        {offered.map((permission) => (
          <Check key={permission} isOn={permissions.includes(permission)} turn={() => toggle(permission)}>
            <code>{permission}</code>
          </Check>
        ))}
      </div>
      {warnings.map((each) => (
        <p class="warning" key={each}>
          {each}
        </p>
      ))}
    </fieldset>
  );
}

type Condition = NonNullable<AccessRule['conditions']>[number];

interface ConditionsOptions {
  readonly name: string;
  readonly of: readonly Condition[];
  readonly onChange: (conditions: Condition[]) => void;
}

/** Edits the conditions of an expiring application's rule, all of which must hold. */
function Conditions({ name, of, onChange }: ConditionsOptions) {
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

const CONTAINERS_LIST = 'known-containers';

interface KnownOptions {
  readonly all: readonly Application[];
  readonly tokens: readonly Token[];
}

/** Shows a list of suggestions: the containers of token types, rules and the newest tokens, with their parents. */
export function KnownContainers({ all, tokens }: KnownOptions) {
  const found = [
    ...Object.values(TOKEN_TYPES).map(({ container }) => container),
    ...all.flatMap(({ rules }) => rules.flatMap(({ container = '/' }) => container)),
    ...tokens.flatMap(({ containers = [] }) => containers),
  ];
  const known = [...new Set(found.flatMap(withParents))].toSorted();
  return (
    <datalist id={CONTAINERS_LIST}>
      {known.map((container) => (
        <option key={container} value={container} />
      ))}
    </datalist>
  );
}

/** Returns a container and its parents: `/`, `/a/`, `/a/b/` for `/a/b/`. */
function withParents(container: string): readonly string[] {
  return [...container.matchAll(/\//g)].map(({ index }) => container.slice(0, index + 1));
}
