import findMyWay, { type HTTPMethod } from 'find-my-way';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';

/** Paths that the daemon answers itself, without a key. They are not part of the API. */
export const OWN_PATHS = { root: '/', openapi: '/openapi.json', livez: '/livez', readyz: '/readyz' } as const;

export type OwnPath = keyof typeof OWN_PATHS;

/** What answers at a path; `path` as the table writes it. */
export type Route =
  | { readonly path: string; readonly operation: OperationId }
  | { readonly path: string; readonly own: OwnPath };

export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  /** The parameter whose percent-encoding is broken; `params` then holds the text as sent. */
  readonly paramFault?: string | undefined;
}

/** Every method that some path answers, in the order of `Allow`. GET answers HEAD too. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export const ALL_METHODS = METHODS.join(', ');
const NO_QUERY = {};

const router = findMyWay({
  // A trailing slash makes no difference (decisions §1).
  ignoreTrailingSlash: true,
  // The URL as a whole is limited before it is routed.
  maxParamLength: Number.MAX_SAFE_INTEGER,
  // parse-query.ts reads the query, in the order sent.
  querystringParser: () => NO_QUERY,
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

/** Finds the route of a request. `bad_path`: the percent-encoding is broken, and not inside a parameter of a route. */
export function findRoute(method: string, url: string): RouteMatch | 'bad_path' | undefined {
  const found = find(method, url);
  if (found === 'bad_path') {
    const match = findEncoded(method, url);
    const [paramFault] = Object.keys(match?.params ?? {});
    return match === undefined || paramFault === undefined ? found : { ...match, paramFault };
  }
  // A method that no path answers has no tree, so its path was not decoded.
  return found ?? (find('GET', url) === 'bad_path' ? 'bad_path' : undefined);
}

/** The `Allow` of a path (RFC 9110 §10.2.1), which may carry a query; undefined when there is no such path. */
export function allowedMethods(url: string): string | undefined {
  const allowed = METHODS.filter((method) => findEncoded(method, url) !== undefined);
  return allowed.length === 0 ? undefined : allowed.join(', ');
}

/** Finds a route by the path as sent, without decoding. */
function findEncoded(method: string, url: string): RouteMatch | undefined {
  const found = find(method, url.replaceAll(/[%#]/g, encodeURIComponent));
  return found === 'bad_path' ? undefined : found;
}

function find(method: string, url: string): RouteMatch | 'bad_path' | undefined {
  const found = router.find(method as HTTPMethod, url);
  if (found === null) return undefined;
  const { params }: { readonly params: Readonly<Record<string, string | undefined>> } = found;
  const route: Route | null = found.store;
  if (route === null) return 'bad_path';
  return isWhole(params) ? { route, params } : undefined;
}

/** `/tokens//` has nothing where the id belongs: it is not a path of the table. */
function isWhole(params: Readonly<Record<string, string | undefined>>): params is Readonly<Record<string, string>> {
  return Object.values(params).every((value) => value);
}
