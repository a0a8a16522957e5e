import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';

/** Paths that the daemon answers itself: they need no key and are no part of the API. */
export const OWN_PATHS = { root: '/', openapi: '/openapi.json', livez: '/livez', readyz: '/readyz' } as const;

export type OwnPath = keyof typeof OWN_PATHS;

const ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** GET answers HEAD too. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD'];

interface KnownPath {
  readonly segments: readonly string[];
  readonly methods: readonly string[];
}

const ROWS: readonly Operation[] = Object.values(OPERATIONS);

const KNOWN_PATHS: readonly KnownPath[] = [
  ...Object.values(OWN_PATHS).map((path) => ({ segments: segmentsOf(path), methods: READ_METHODS })),
  ...ROWS.map(({ path, method }) => ({
    segments: segmentsOf(path),
    methods: method === 'GET' ? READ_METHODS : [method],
  })),
];

/** Every method that some path answers, as `Allow` lists them. */
export const ALL_METHODS = list(KNOWN_PATHS);

/** The `Allow` of a path (RFC 9110 §10.2.1), which may carry a query; undefined when there is no such path. */
export function allowedMethods(url: string): string | undefined {
  const segments = segmentsOf(pathOf(url));
  const known = KNOWN_PATHS.filter((row) => matches(row.segments, segments));
  return known.length === 0 ? undefined : list(known);
}

/** Whether a path, which may carry a query, is one that `pattern` describes: a segment in braces stands for any. */
export function matchesPath(pattern: string, url: string): boolean {
  return matches(segmentsOf(pathOf(pattern)), segmentsOf(pathOf(url)));
}

/** What a path would be if its parameters could be decoded. */
export interface RawMatch {
  readonly id: OperationId;
  /** The path as the table writes it. */
  readonly route: string;
  /** As they were sent. */
  readonly params: Readonly<Record<string, string>>;
}

/** The operation of a request whose path is broken inside a parameter: the router gives up on it before it has a route. */
export function operationAt(method: string, url: string): RawMatch | undefined {
  const segments = segmentsOf(pathOf(url));
  const sent = method === 'HEAD' ? 'GET' : method;
  for (const [id, row] of Object.entries(OPERATIONS)) {
    const pattern = segmentsOf(row.path);
    if (row.method !== sent || !isOperationId(id) || !matches(pattern, segments)) continue;
    const params = pattern.flatMap((part, i) => (part.startsWith('{') ? [[part.slice(1, -1), segments[i] ?? '']] : []));
    if (params.length > 0) return { id, route: row.path, params: Object.fromEntries(params) };
  }
  return undefined;
}

export function isOperationId(name: string): name is OperationId {
  return Object.hasOwn(OPERATIONS, name);
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** A trailing slash makes no difference (decisions §1). */
function segmentsOf(path: string): readonly string[] {
  return (path.endsWith('/') ? path.slice(0, -1) : path).split('/');
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]));
}

function list(paths: readonly KnownPath[]): string {
  const allowed = new Set(paths.flatMap(({ methods }) => methods));
  return ORDER.filter((method) => allowed.has(method)).join(', ');
}
