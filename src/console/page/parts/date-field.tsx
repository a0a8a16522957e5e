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
