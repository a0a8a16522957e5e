import { signal } from '@preact/signals';

const SHOWN_MS = 3_000;
const text = signal('');
let timer = 0;

/** Shows a short note for three seconds. */
export function toast(note: string): void {
  text.value = note;
  clearTimeout(timer);
  timer = setTimeout(() => (text.value = ''), SHOWN_MS);
}

export function Toast() {
  return (
    <p class="toast" role="status">
      {text.value}
    </p>
  );
}
