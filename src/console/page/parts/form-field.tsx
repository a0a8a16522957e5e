import type { ComponentChildren, JSX } from 'preact';
import { Select } from './controls.tsx';

interface FieldOptions<Value extends string> {
  /** Unique in the form. */
  readonly name: string;
  /** Default: the name of the member in words, with the member as a tooltip. */
  readonly label?: ComponentChildren;
  readonly value: Value;
  /** Receives the typed or chosen value. `caret` is the number of characters before the cursor. */
  readonly onInput: (value: Value, caret: number) => void;
  /** The values to choose from. Absent for a field to type in. */
  readonly options?: Parameters<typeof Select<Value>>[0]['options'];
  /** The number of lines of a text area. Absent for a single-line input. */
  readonly rows?: number;
  readonly placeholder?: string | undefined;
  /** With null, the field has no room for a note. */
  readonly note?: ComponentChildren;
  readonly errors?: readonly string[];
  /** Whether the value is code: an id, JSON or an expression. */
  readonly isCode?: boolean;
  /** Further attributes of the control. */
  readonly control?: JSX.HTMLAttributes<HTMLTextAreaElement>;
  readonly children?: ComponentChildren;
}

/** Shows a field with its label, errors and a note. Browsers do not store its value. */
export function FormField<Value extends string = string>(field: FieldOptions<Value>) {
  const { name, label, value, onInput, options, rows, note, errors = [], isCode, placeholder } = field;
  const id = `field-${name}`;
  const described = { id, name, value, 'aria-describedby': `${id}-errors ${id}-note` };
  const control = {
    ...field.control,
    ...{ ...described, placeholder },
    class: isCode ? 'code' : undefined,
    'aria-invalid': errors.length > 0,
    onInput: ({ currentTarget: { value: text, selectionStart } }: JSX.TargetedInputEvent<HTMLTextAreaElement>) =>
      onInput(text as Value, selectionStart),
  };
  return (
    <div class="field">
      <label for={id} title={label === undefined ? name : undefined}>
        {label ?? inWords(name)}
      </label>
      {options !== undefined && <Select {...described} options={options} choose={(chosen) => onInput(chosen, 0)} />}
      {options === undefined && rows === undefined && <input {...(control as object)} />}
      {rows !== undefined && <textarea {...control} rows={rows} />}
      {field.children}
      <FieldErrors id={`${id}-errors`} errors={errors} />
      {note !== null && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
    </div>
  );
}

/** Returns the name of a member in words: `Fingerprint expression`. */
function inWords(member: string): string {
  const words = member.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Shows the errors of a member. Screen readers announce changes. */
export function FieldErrors({ id, errors }: { readonly id: string; readonly errors: readonly string[] }) {
  return (
    <p class="field-errors" id={id} aria-live="polite">
      {errors.map((each) => (
        <span key={each}>{each}</span>
      ))}
    </p>
  );
}

export type Errors = Readonly<Record<string, readonly string[]>>;

/** Returns the errors of a member and of its descendants, with their names. */
export function errorsAt(errors: Errors, path: string): readonly string[] {
  return Object.entries(errors).flatMap(([each, messages]) => {
    if (each === path) return messages;
    return each.startsWith(`${path}.`) ? messages.map((text) => `${each.slice(path.length + 1)}: ${text}`) : [];
  });
}
