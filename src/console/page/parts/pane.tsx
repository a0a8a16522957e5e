import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../route.ts';
import { KeyButton } from './controls.tsx';

interface PaneOptions {
  readonly title: ComponentChildren;
  /** Identifies the contents. When it changes, the focus moves to the pane. */
  readonly subject: string;
  /** The address of the screen without the pane. */
  readonly closed: string;
  readonly isWide?: boolean;
  /** The buttons below the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Shows one row beside the list, or over it on a narrow page. */
export function Pane({ title, subject, closed, isWide, actions, children }: PaneOptions) {
  const element = useRef<HTMLElement>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), [subject]);
  return (
    <section class={isWide ? 'pane wide' : 'pane'} ref={element} tabIndex={-1} aria-labelledby="pane-title">
      <header>
        <h2 id="pane-title">{title}</h2>
        <KeyButton name="Close" shortcut="Escape" act={() => go(closed)} />
      </header>
      {actions && <div class="actions buttons">{actions}</div>}
      <div class="scroller">{children}</div>
    </section>
  );
}
