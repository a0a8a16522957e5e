import type { ComponentChildren, JSX } from 'preact';

interface FieldOptions {
  /** Unique in the form. */
  readonly name: string;
  /** Default: the name of the member in words, with the member as a tooltip. */
  readonly label?: ComponentChildren;
  readonly value: string;
  /** Receives the typed value. `caret` is the number of characters before the cursor. */
  readonly onInput: (value: string, caret: number) => void;
  /** The number of lines of a text area. Absent for a single-line input. */
  readonly rows?: number;
  readonly placeholder?: string | undefined;
  readonly note?: ComponentChildren;
  readonly errors?: readonly string[];
  /** The id of a datalist. */
  readonly list?: string;
  /** Whether the value is code: an id, JSON or an expression. */
  readonly isCode?: boolean;
  /** Further attributes of the control. */
  readonly control?: JSX.HTMLAttributes<HTMLTextAreaElement>;
  readonly children?: ComponentChildren;
}

type Typed = Pick<HTMLInputElement, 'value' | 'selectionStart'>;

/** Shows a field with its label, errors and a note. Browsers do not store its value. */
export function FormField({
  name,
  label,
  value,
  onInput,
  rows,
  note,
  errors = [],
  isCode,
  children,
  list,
  placeholder,
  control: more,
}: FieldOptions) {
  const id = `field-${name}`;
  const control = {
    ...more,
    ...{ id, name, value, autocomplete: 'off', spellcheck: false, list, placeholder },
    class: isCode ? 'code' : undefined,
    'aria-invalid': errors.length > 0,
    'aria-describedby': `${id}-errors ${id}-note`,
    onInput: ({ currentTarget: { value: text, selectionStart } }: { readonly currentTarget: Typed }) =>
      onInput(text, selectionStart ?? 0),
  };
  return (
    <div class="field">
      <label for={id} title={label === undefined ? name : undefined}>
        {label ?? inWords(name)}
      </label>
      {rows === undefined ? <input {...(control as object)} /> : <textarea {...control} rows={rows} />}
      {children}
      <FieldErrors id={`${id}-errors`} errors={errors} />
      <p class="note" id={`${id}-note`}>
        {note}
      </p>
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
