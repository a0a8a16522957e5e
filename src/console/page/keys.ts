import { useLayoutEffect } from 'preact/hooks';

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
  // Before the next key, which may come before the next frame.
  useLayoutEffect(() => {
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
    const isSoon = event.timeStamp - first.at < SEQUENCE_MS;
    const both = `${first.key} ${pressed}`;
    const acts = (isSoon ? [both, pressed] : [pressed]).flatMap((name) => {
      const act = layers.findLast((layer) => Object.hasOwn(layer, name))?.[name];
      return act === undefined ? [] : [{ name, act }];
    });
    first = { key: acts[0]?.name === both ? '' : pressed, at: event.timeStamp };
    if (acts[0] === undefined) return;
    event.preventDefault();
    acts[0].act();
  });
}
