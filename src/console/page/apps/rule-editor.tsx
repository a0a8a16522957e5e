import type { AccessRule } from '../../../client/create-client.ts';
import { type Permission, TRANSFORMS, type Transform } from '../../../contract/permissions.ts';
import { Button, Check, Select } from '../parts/controls.tsx';
import { FieldErrors } from '../parts/form-field.tsx';
import { Conditions } from './conditions.tsx';
import { CONTAINERS_LIST } from './known-containers.tsx';

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
