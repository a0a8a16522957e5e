import { useLayoutEffect, useRef } from 'preact/hooks';
import { jsonNodes } from './json-nodes.ts';

/** JSON that anyone who opened the console may see. */
export function JsonView({ text }: { readonly text: string }) {
  const place = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => place.current?.replaceChildren(jsonNodes(text)), [text]);
  return <pre class="json" ref={place} />;
}
