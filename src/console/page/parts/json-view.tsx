import { useLayoutEffect, useRef } from 'preact/hooks';
import { jsonNodes } from './json-nodes.ts';

/** Shows JSON that contains no plaintext. */
export function JsonView({ text }: { readonly text: string }) {
  const place = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => place.current?.replaceChildren(jsonNodes(text)), [text]);
  return <pre class="json" ref={place} />;
}
