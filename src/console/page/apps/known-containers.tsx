import type { Application, Token } from '../../../client/create-client.ts';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';

export const CONTAINERS_LIST = 'known-containers';

interface KnownOptions {
  readonly all: readonly Application[];
  readonly tokens: readonly Token[];
}

/** Shows a list of suggestions: the containers of token types, rules and the newest tokens, with their parents. */
export function KnownContainers({ all, tokens }: KnownOptions) {
  const found = [
    ...Object.values(TOKEN_TYPES).map(({ container }) => container),
    ...all.flatMap(({ rules }) => rules.flatMap(({ container = '/' }) => container)),
    ...tokens.flatMap(({ containers = [] }) => containers),
  ];
  const known = [...new Set(found.flatMap(withParents))].toSorted();
  return (
    <datalist id={CONTAINERS_LIST}>
      {known.map((container) => (
        <option key={container} value={container} />
      ))}
    </datalist>
  );
}

/** Returns a container and its parents: `/`, `/a/`, `/a/b/` for `/a/b/`. */
function withParents(container: string): readonly string[] {
  return [...container.matchAll(/\//g)].map(({ index }) => container.slice(0, index + 1));
}
