import type { ComponentChildren, JSX } from 'preact';
import { useKeys } from '../keys.ts';

/** Shows a button that submits no form. */
export function Button(options: JSX.IntrinsicElements['button']) {
  return <button type="button" {...options} />;
}

interface KeyButtonOptions {
  readonly name: string;
  /** The key, as in `KeyboardEvent.key`. */
  readonly shortcut: string;
  readonly act: () => void;
  readonly disabled?: boolean;
}

/** Shows a button that a key presses, too. */
export function KeyButton({ name, shortcut, act, disabled }: KeyButtonOptions) {
  useKeys(disabled ? {} : { [shortcut]: act });
  return (
    <Button onClick={act} disabled={disabled}>
      {name} <kbd>{shortcut.replace('Escape', 'Esc')}</kbd>
    </Button>
  );
}

type FormOptions = JSX.IntrinsicElements['form'] & { readonly onSend: (form: HTMLFormElement) => void };

/** Shows a form that `onSend` sends instead of the browser, which stores none of its values. */
export function Form({ onSend, ...more }: FormOptions) {
  return (
    <form
      autocomplete="off"
      {...more}
      onSubmit={(event) => {
        event.preventDefault();
        onSend(event.currentTarget);
      }}
    />
  );
}

type SelectOptions<Value extends string> = JSX.IntrinsicElements['select'] & {
  /** The values to choose from, with a text unless the value is the text. */
  readonly options: readonly (Value | readonly [value: Value, text: string])[];
  readonly choose?: (value: Value) => void;
};

/** Shows the choice of one value. */
export function Select<Value extends string>({ options, choose, ...more }: SelectOptions<Value>) {
  return (
    <select {...more} onChange={({ currentTarget: { value } }) => choose?.(value as Value)}>
      {options.map((each) => {
        const [value, text] = typeof each === 'string' ? [undefined, each] : each;
        return (
          <option key={value ?? text} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

interface CheckOptions {
  readonly isOn: boolean;
  readonly turn: (isOn: boolean) => void;
  readonly children: ComponentChildren;
}

/** Shows a check box with its label. */
export function Check({ isOn, turn, children }: CheckOptions) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ currentTarget: { checked } }) => turn(checked)} /> {children}
    </label>
  );
}

interface DateOptions {
  readonly label: string;
  readonly type: 'date' | 'datetime-local';
  /** A date or a time in the time zone of the browser, in the form of the input. */
  readonly value: string;
  readonly min?: string;
  readonly choose: (value: string) => void;
}

/** Shows a field for a date or a time in the time zone of the browser. */
export function DateField({ label, type, value, min, choose }: DateOptions) {
  return (
    <label class="date">
      {label}{' '}
      <input
        name={label}
        type={type}
        step={type === 'date' ? undefined : 1}
        min={min}
        value={value}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      />
    </label>
  );
}
