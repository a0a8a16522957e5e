import { useLayoutEffect, useRef } from 'preact/hooks';
import { jsonNodes } from './json-nodes.ts';

/** Shows JSON that contains no plaintext. */
export function JsonView({ text }: { readonly text: string }) {
  const element = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => element.current?.replaceChildren(jsonNodes(text)), [text]);
  return <pre class="json" ref={element} />;
}
