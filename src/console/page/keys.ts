import { useEffect } from 'preact/hooks';

/** What keys do, by `KeyboardEvent.key`, or two keys with a space between. */
export type Keys = Readonly<Record<string, () => void>>;

/** Milliseconds between the two keys of `g t`. */
const SEQUENCE_MS = 1_000;
const SETTING = 'single-keys';

const layers: Keys[] = [];
let first = { key: '', at: 0 };

/** Whether keys without Ctrl do anything (WCAG 2.1.4). */
export const singleKeys = {
  get: () => sessionStorage.getItem(SETTING) !== 'off',
  set: (isOn: boolean) => sessionStorage.setItem(SETTING, isOn ? 'on' : 'off'),
};

/** Gives keys a meaning while the component is mounted. The component that was mounted last wins. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    layers.push(keys);
    return () => void layers.splice(layers.indexOf(keys), 1);
  });
}

/** Gives keys their meanings. */
export function startKeys(): void {
  addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    // A dialog has keys of its own: Esc closes it, and nothing behind it.
    if (!event.ctrlKey && document.querySelector('dialog[open]') !== null) return;
    const isTyping = target instanceof Element && target.matches('input, textarea, select');
    if (isTyping && key !== 'Escape' && !event.ctrlKey) return;
    if (isTyping && key === 'Escape' && target instanceof HTMLElement) target.blur();
    if (!event.ctrlKey && key !== 'Escape' && !singleKeys.get()) return;
    const pressed = event.ctrlKey ? `Ctrl ${key}` : key;
    const isSecond = first.key !== '' && event.timeStamp - first.at < SEQUENCE_MS;
    const names = isSecond ? [`${first.key} ${pressed}`, pressed] : [pressed];
    first = { key: isSecond ? '' : pressed, at: event.timeStamp };
    for (const name of names) {
      const act = layers.findLast((layer) => Object.hasOwn(layer, name))?.[name];
      if (act === undefined) continue;
      event.preventDefault();
      act();
      return;
    }
  });
}
