import { useState } from 'preact/hooks';

interface SureOptions {
  readonly label: string;
  /** What the button says before it acts. */
  readonly question: string;
  readonly disabled?: boolean;
  readonly act: () => void;
}

/** A button for something that is lost: the second press acts, and leaving it takes the first one back. */
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
