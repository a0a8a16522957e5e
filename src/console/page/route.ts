import { signal } from '@preact/signals';

/**
 * The state that the address contains: ids, types, containers, metadata filters and cursors, but never the data of a
 * token.
 */
export interface ScreenRoute {
  readonly screen: string;
  readonly query: Readonly<Record<string, string>>;
}

const BASE = '/ui/';
const FIRST_SCREEN = 'tokens';

function read(): ScreenRoute {
  const screen = location.pathname.slice(BASE.length) || FIRST_SCREEN;
  return { screen, query: Object.fromEntries(new URLSearchParams(location.search)) };
}

export const route = signal(read());

type Members = Readonly<Record<string, string | undefined>>;

/** The members that the address of the first page of a list lacks. */
export const FIRST_PAGE = { start: undefined, at: undefined, entry: undefined };

/** Returns the address of this screen with other members. */
export const here = (members: Members): string => address(route.value.screen, { ...route.value.query, ...members });

/** Returns the address of a screen, without undefined or empty members. */
export function address(screen: string, query: Members = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const text = new URLSearchParams(pairs).toString();
  return `${BASE}${screen}${text && `?${text}`}`;
}

/** Changes the address without loading the page again. */
export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', to);
  route.value = read();
}

/** Starts to handle links and the browser's Back button. */
export function startRouter(): void {
  addEventListener('popstate', () => (route.value = read()));
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (link === null || !isPlain || link.target !== '' || event.defaultPrevented) return;
    const { origin, pathname, search } = new URL(link.href);
    if (origin !== location.origin || !pathname.startsWith(BASE)) return;
    event.preventDefault();
    go(pathname + search);
  });
}
