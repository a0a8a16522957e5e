import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { VaultError } from '../../../client/create-client.ts';
import { useKeys } from '../keys.ts';
import { messageOf, reload } from '../loaded.ts';
import { go, here } from '../route.ts';
import { Button } from './controls.tsx';
import { forgetMatch } from './forget-match.ts';
import type { Errors } from './form-field.tsx';

/** The errors in a draft by member, and one that does not concern a single member. */
export interface Refusal {
  readonly errors: Errors;
  readonly message?: string;
}

export function refusalOf(error: unknown): Refusal {
  const errors = error instanceof VaultError ? error.errors : {};
  return { errors, ...(Object.keys(errors).length === 0 && { message: messageOf(error) }) };
}

/** Holds a draft and the errors of its last request, which a change clears. */
export function useDraft<T>(start: () => T) {
  const [draft, setDraft] = useState(start);
  const [refused, setRefused] = useState<Refusal>();
  return {
    draft,
    setDraft,
    refused,
    change(part: Partial<T>) {
      setRefused(undefined);
      setDraft((before) => ({ ...before, ...part }));
    },
    async send(work: () => Promise<void>) {
      try {
        await work();
        reload();
      } catch (error) {
        setRefused(refusalOf(error));
      } finally {
        forgetMatch();
      }
    },
  };
}

interface DraftOptions {
  readonly title: ComponentChildren;
  readonly action: string;
  readonly isReady: boolean;
  readonly onSubmit: () => Promise<void>;
  readonly previewTitle: ComponentChildren;
  readonly preview: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Shows a form in place of the list, with a preview beside it. Ctrl Enter submits it. */
export function Draft({ title, action, isReady, onSubmit, previewTitle, preview, children }: DraftOptions) {
  const form = useRef<HTMLFormElement>(null);
  const [isSending, setSending] = useState(false);
  const isOff = !isReady || isSending;
  useKeys({ 'Ctrl Enter': () => isOff || form.current?.requestSubmit() });
  useEffect(() => form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);

  async function send(event: Event) {
    event.preventDefault();
    setSending(true);
    await onSubmit();
    setSending(false);
  }

  return (
    <>
      <form class="draft" ref={form} onSubmit={send} autocomplete="off">
        <header>
          <h1>{title}</h1>
          <span class="buttons">
            <Button onClick={() => go(here({ draft: undefined }))}>Cancel</Button>
            <button type="submit" class="main" disabled={isOff}>
              {action} <kbd>Ctrl Enter</kbd>
            </button>
          </span>
        </header>
        <div class="scroller">{children}</div>
      </form>
      <section class="pane preview" aria-labelledby="preview-title">
        <header>
          <h2 id="preview-title">{previewTitle}</h2>
        </header>
        <div class="scroller">{preview}</div>
      </section>
    </>
  );
}

/** The pause that ends typing, in milliseconds. */
const WAIT_MS = 180;

/** Returns the text as it was at the last pause in typing. */
export function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setSettled, WAIT_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
