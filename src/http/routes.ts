import findMyWay, { type HTTPMethod } from 'find-my-way';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';

/** Paths that the daemon answers itself, without a key. They are not part of the API. */
export const OWN_PATHS = { root: '/', openapi: '/openapi.json', livez: '/livez', readyz: '/readyz' } as const;

export type OwnPath = keyof typeof OWN_PATHS;

const PROBE = new RegExp(`^(?:${OWN_PATHS.livez}|${OWN_PATHS.readyz})/?(?:\\?|$)`);

/**
 * Returns whether a URL is that of a probe, which any `Host` may ask: probes of Kubernetes use the address of the pod.
 */
export function isProbe(url: string): boolean {
  return PROBE.test(url);
}

/** A path and its handler: an operation, or the daemon itself. `path` is a pattern, such as `/tokens/{id}`. */
export type Route =
  | { readonly path: string; readonly operation: OperationId }
  | { readonly path: string; readonly own: OwnPath };

export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  /** The name of the parameter with broken percent-encoding; `params` and `query` then hold the text as sent. */
  readonly paramFault?: string | undefined;
  readonly query: ParsedQuery;
}

/** All methods of all routes, in the order of `Allow`. A GET route accepts HEAD too. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export const ALL_METHODS = METHODS.join(', ');

const router = findMyWay({
  // A trailing slash makes no difference (decisions §1).
  ignoreTrailingSlash: true,
  // screen-request.ts has limited the whole URL.
  maxParamLength: Number.MAX_SAFE_INTEGER,
  querystringParser: parseQueryString,
  // Makes `find` return a result without a store for a path that cannot be decoded.
  onBadUrl: () => undefined,
});

function add(method: Operation['method'], route: Route): void {
  const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
  router.on(method === 'GET' ? ['GET', 'HEAD'] : [method], path, () => undefined, route);
}

for (const operation of Object.keys(OPERATIONS) as OperationId[]) {
  const { method, path } = OPERATIONS[operation];
  add(method, { path, operation });
}
for (const own of Object.keys(OWN_PATHS) as OwnPath[]) add('GET', { path: OWN_PATHS[own], own });

/**
 * Returns the route of a request, or undefined without one, or `bad_path` if the percent-encoding is broken outside the
 * parameters of a route.
 */
export function findRoute(method: string, url: string): RouteMatch | 'bad_path' | undefined {
  const found = find(method, url);
  if (found === 'bad_path') {
    const match = findEncoded(method, url);
    const [paramFault] = Object.keys(match?.params ?? {});
    return match === undefined || paramFault === undefined ? found : { ...match, paramFault };
  }
  // For a method without routes, the router does not decode the path, so look it up with GET.
  return found ?? (find('GET', url) === 'bad_path' ? 'bad_path' : undefined);
}

/**
 * Returns the value of `Allow` for a URL, with or without a query (RFC 9110 §10.2.1), or undefined if its path has no
 * route.
 */
export function allowedMethods(url: string): string | undefined {
  const allowed = METHODS.filter((method) => findEncoded(method, url) !== undefined);
  return allowed.length === 0 ? undefined : allowed.join(', ');
}

/** Returns the route of a path without decoding its parameters. */
function findEncoded(method: string, url: string): RouteMatch | undefined {
  const found = find(method, url.replaceAll(/[%#]/g, encodeURIComponent));
  return found === 'bad_path' ? undefined : found;
}

function find(method: string, url: string): RouteMatch | 'bad_path' | undefined {
  const found = router.find(method as HTTPMethod, url);
  if (found === null) return undefined;
  const route: Route | null = found.store;
  if (route === null) return 'bad_path';
  // The casts are safe: each parameter of a route has a value, and the router returns what `parseQueryString` returned.
  const params = found.params as RouteMatch['params'];
  const query = found.searchParams as object as ParsedQuery;
  // `/tokens//` has no route.
  return Object.values(params).includes('') ? undefined : { route, params, query };
}

type Pair = readonly [name: string, value: string];

/** The parameters of a query. `fault` is the name, as sent, of the first parameter with broken percent-encoding. */
export interface ParsedQuery {
  readonly pairs: readonly Pair[];
  readonly fault?: string | undefined;
}

/**
 * Parses a query into pairs in the order sent (`application/x-www-form-urlencoded`: `+` is a space). Unlike
 * `URLSearchParams`, reports percent-encoding that is not UTF-8: with replacement characters, the query would search for
 * another text.
 */
export function parseQueryString(text: string): ParsedQuery {
  const pairs: Pair[] = [];
  let fault: string | undefined;
  for (const piece of text.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const name = equals === -1 ? piece : piece.slice(0, equals);
    const value = equals === -1 ? '' : piece.slice(equals + 1);
    const decoded = [decode(name), decode(value)] as const;
    if (decoded[0] === undefined || decoded[1] === undefined) fault ??= name;
    else pairs.push([decoded[0], decoded[1]]);
  }
  return { pairs, fault };
}

function decode(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}
