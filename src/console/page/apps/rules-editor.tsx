import { useRef, useState } from 'preact/hooks';
import type { Loaded } from '../loaded.ts';
import { Button } from '../parts/controls.tsx';
import { type Errors, errorsAt } from '../parts/form-field.tsx';
import { type DraftState, moved, newRule, permissionsOf } from './draft-application.ts';
import { Reached, type RuleReach } from './reach.tsx';
import { RuleEditor } from './rule-editor.tsx';
import { ruleWarnings } from './rule-warnings.ts';

interface RulesOptions {
  readonly draft: DraftState;
  readonly errors: Errors;
  readonly reach: Loaded<RuleReach>;
  readonly change: (part: Partial<DraftState>) => void;
}

/** Edits the rules of a draft, in the order in which the vault tries them. */
export function RulesEditor({ draft, errors, reach, change }: RulesOptions) {
  const { type, rules, permissions } = draft;
  const element = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number>();
  const offered = permissionsOf(type);
  const plainRules = rules.map(({ rule }) => rule);

  const move = (from: number, to: number) => change({ rules: moved(rules, from, to) });

  function add() {
    change({ rules: [...rules, newRule(draft)] });
    requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('li:last-child input')?.focus());
  }

  return (
    <section>
      <h2>Rules</h2>
      <p class="note">
        The first rule that matches a token governs. To reorder rules, drag them or press Alt ↑ and Alt ↓.
      </p>
      <ol class="rule-list" ref={element}>
        {rules.map(({ key, rule }, at) => (
          <li
            key={key}
            class={dragged === at ? 'dragged' : undefined}
            onDragOver={(event) => dragged !== undefined && event.preventDefault()}
            onDrop={() => {
              if (dragged !== undefined) move(dragged, at);
              setDragged(undefined);
            }}
          >
            <span
              class="grip soft"
              aria-hidden="true"
              draggable
              onDragStart={(event) => {
                // Firefox starts no drag without data.
                event.dataTransfer?.setData('text/plain', '');
                setDragged(at);
              }}
              onDragEnd={() => setDragged(undefined)}
            >
              ⠿
            </span>
            <RuleEditor
              rule={rule}
              offered={offered}
              errors={errorsAt(errors, `rules.${at}`)}
              warnings={ruleWarnings(rule, plainRules, permissions, offered.includes('token:read'))}
              reached={<Reached reach={reach} priority={rule.priority} />}
              onChange={(next) => change({ rules: rules.with(at, { key, rule: next }) })}
              onMove={(step) => move(at, at + step)}
              onRemove={() => change({ rules: rules.toSpliced(at, 1) })}
              isFirst={at === 0}
              isLast={at === rules.length - 1}
            />
          </li>
        ))}
      </ol>
      <Button onClick={add}>+ rule</Button>
    </section>
  );
}
