import { useLayoutEffect } from 'preact/hooks';

/** Actions by `KeyboardEvent.key`, or by two keys with a space between them. */
export type Keys = Readonly<Record<string, () => void>>;

/** The maximum time in milliseconds between the keys of `g t`. */
const SEQUENCE_MS = 1_000;
const SETTING = 'single-keys';

const layers: Keys[] = [];
let first = { key: '', at: 0 };

/** The setting for shortcuts without Ctrl (WCAG 2.1.4). */
export const singleKeys = {
  get: () => sessionStorage.getItem(SETTING) !== 'off',
  set: (isOn: boolean) => sessionStorage.setItem(SETTING, isOn ? 'on' : 'off'),
};

/** Adds shortcuts while the component is mounted. If several components define a key, the last mounted one wins. */
export function useKeys(keys: Keys): void {
  // A layout effect runs at once; a key may be pressed before the next frame.
  useLayoutEffect(() => {
    layers.push(keys);
    return () => void layers.splice(layers.indexOf(keys), 1);
  });
}

/** Starts to handle shortcuts. */
export function startKeys(): void {
  addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    // An open dialog handles its own keys, so that Esc closes only the dialog.
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
