import type { ComponentChildren, JSX } from 'preact';

/** Shows a button that submits no form. */
export function Button(options: JSX.IntrinsicElements['button']) {
  return <button type="button" {...options} />;
}

type SelectOptions<Value extends string> = JSX.IntrinsicElements['select'] & {
  /** The values to choose from, with a text unless the value is the text. */
  readonly options: readonly (Value | readonly [value: Value, text: string])[];
  readonly choose: (value: Value) => void;
};

/** Shows the choice of one value. */
export function Select<Value extends string>({ options, choose, ...more }: SelectOptions<Value>) {
  return (
    <select {...more} onChange={({ currentTarget: { value } }) => choose(value as Value)}>
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
