import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { useAction } from '../loaded.ts';
import { aboutSession } from '../session.ts';
import { jsonText, tokenPath } from '../vault.ts';
import { Button } from './controls.tsx';
import { forgetMatch } from './forget-match.ts';
import { jsonNodes, memberText } from './json.tsx';
import { toast, Wrong } from './pieces.tsx';

/** How long plaintext is shown or stays in the clipboard, in seconds. */
const SECONDS = 30;

/** The events that hide the plaintext: a change of tab or window, leaving the page, and printing. */
const ENDS = ['blur', 'visibilitychange', 'pagehide', 'beforeprint'];

interface RevealOptions {
  readonly id: string;
  /** The number of an identity that reveals the token. */
  readonly as: number;
}

/** Shows or copies the plaintext of a token, which exists only in text nodes of this component. */
export function Reveal({ id, as }: RevealOptions) {
  const element = useRef<HTMLPreElement>(null);
  const [remaining, setRemaining] = useState(0);
  const { act, error } = useAction();
  const isShown = remaining > 0;
  const newest = useRef(id);
  newest.current = id;

  function hide() {
    element.current?.replaceChildren();
    forgetMatch();
    setRemaining(0);
  }

  async function show() {
    const data = await dataOf(id, as);
    // The pane may have closed or changed in the meantime.
    if (newest.current !== id) return;
    element.current?.replaceChildren(jsonNodes(data));
    forgetMatch();
    setRemaining(SECONDS);
  }

  async function copy() {
    await navigator.clipboard.writeText(copied(await dataOf(id, as)));
    forgetMatch();
    toast(`Copied for ${SECONDS} seconds`);
    setTimeout(clearClipboard, SECONDS * 1_000);
  }

  // Hide before the next paint, because the pane may show another token then.
  useLayoutEffect(() => hide, [id]);
  useEffect(() => {
    if (!isShown) return;
    const timer = setInterval(() => setRemaining((seconds) => Math.max(0, seconds - 1)), 1_000);
    for (const end of ENDS) addEventListener(end, hide, true);
    return () => {
      clearInterval(timer);
      for (const end of ENDS) removeEventListener(end, hide, true);
    };
  }, [isShown]);
  useEffect(() => {
    if (!isShown) hide();
  }, [isShown]);
  useKeys(isShown ? { Escape: hide, v: hide } : { v: () => void act(show) });

  return (
    <div class="reveal">
      <div class="buttons">
        <Button class={isShown ? '' : 'danger'} onClick={isShown ? hide : () => act(show)}>
          {isShown ? 'Hide' : 'Reveal'} <kbd>{isShown ? 'Esc' : 'v'}</kbd>
        </Button>
        {isSecureContext && <Button onClick={() => act(copy)}>Copy without showing</Button>}
        {isShown && <progress max={SECONDS} value={remaining} aria-label="Seconds until the plaintext is hidden" />}
      </div>
      <pre class="json plain" ref={element} hidden={!isShown} />
      <p class="note">{auditNote()} Browser extensions and clipboard histories can read plaintext.</p>
      <Wrong>{error}</Wrong>
    </div>
  );
}

async function dataOf(id: string, as: number): Promise<string> {
  const data = memberText(await jsonText(tokenPath(id), {}, as), 'data');
  if (data === undefined) throw new Error('The rules have changed: the key no longer reveals the token.');
  return data;
}

/** Returns the text to copy: the contents of a JSON string, or other JSON unchanged. */
function copied(data: string): string {
  return data.startsWith('"') ? JSON.parse(data) : data;
}

function clearClipboard(): void {
  if (document.hasFocus()) navigator.clipboard.writeText('').catch(() => undefined);
}

const auditNote = (): string =>
  aboutSession()?.audit_level === 'mutations'
    ? 'This vault does not record reads.'
    : 'The audit records each reveal and copy.';
