import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface MenuOptions {
  readonly name: string;
  readonly class: string;
  readonly children: ComponentChildren;
}

/** Shows a button that opens a box. Esc and a click outside close the box. */
export function Menu({ name, class: className, children }: MenuOptions) {
  const element = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);

  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      const { current } = element;
      const isInside = event.target instanceof Node && current?.contains(event.target);
      if (current === null || (event instanceof KeyboardEvent ? event.key !== 'Escape' : isInside)) return;
      current.open = false;
      if (!(event instanceof KeyboardEvent)) return;
      event.stopPropagation();
      if (isInside) current.querySelector('summary')?.focus();
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close, true);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close, true);
    };
  }, [isOpen]);

  return (
    <details class={className} ref={element} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{name}</summary>
      {children}
    </details>
  );
}
