import { useLayoutEffect, useRef } from 'preact/hooks';

const PART = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const STEP = '  ';

/**
 * Returns JSON as coloured text nodes with one member per line. Works on the text, so that numbers keep the vault's
 * notation.
 */
export function jsonNodes(text: string): DocumentFragment {
  const nodes = document.createDocumentFragment();
  const parts = text.match(PART) ?? [];
  let depth = 0;
  const line = () => nodes.append(`\n${STEP.repeat(depth)}`);
  parts.forEach((part, at) => {
    const [before, after] = [parts[at - 1], parts[at + 1]];
    if (part === '{' || part === '[') {
      nodes.append(part);
      depth += 1;
      if (after !== '}' && after !== ']') line();
    } else if (part === '}' || part === ']') {
      depth -= 1;
      if (before !== '{' && before !== '[') line();
      nodes.append(part);
    } else if (part === ',') {
      nodes.append(part);
      line();
    } else if (part === ':') nodes.append(': ');
    else nodes.append(colored(part, after === ':'));
  });
  return nodes;
}

function colored(part: string, isName: boolean): HTMLElement {
  const span = document.createElement('span');
  span.className = isName ? 'json-name' : part.startsWith('"') ? 'json-text' : 'json-other';
  span.append(part);
  return span;
}

/** Returns the JSON text of the member `name`, or undefined if the object has no such member. */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0;
  let from: number | undefined;
  let isNamed = false;
  for (const { 0: part, index } of text.matchAll(PART)) {
    if (depth === 1 && from !== undefined && (part === ',' || part === '}')) return text.slice(from, index).trim();
    if (depth === 1 && isNamed && part === ':') from = index + 1;
    isNamed = depth === 1 && from === undefined && part === JSON.stringify(name);
    if (part === '{' || part === '[') depth += 1;
    if (part === '}' || part === ']') depth -= 1;
  }
  return undefined;
}

/** Shows JSON that contains no plaintext. */
export function JsonView({ text }: { readonly text: string }) {
  const element = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => element.current?.replaceChildren(jsonNodes(text)), [text]);
  return <pre class="json" ref={element} />;
}
