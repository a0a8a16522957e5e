import { useState } from 'preact/hooks';

interface SureOptions {
  readonly label: string;
  /** The label after the first press. */
  readonly question: string;
  readonly disabled?: boolean;
  readonly act: () => void;
}

/** A button for a destructive action: the second press acts, and leaving the button cancels the first. */
export function Sure({ label, question, disabled, act }: SureOptions) {
  const [isAsked, setAsked] = useState(false);
  return (
    <button
      type="button"
      class={isAsked ? 'danger' : ''}
      disabled={disabled}
      onBlur={() => setAsked(false)}
      onClick={() => {
        setAsked(!isAsked);
        if (isAsked) act();
      }}
    >
      {isAsked ? question : label}
    </button>
  );
}
