import { EXAMPLES, type Example, type Examples } from '../../src/contract/openapi/examples/examples.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { API_KEY, UUID } from '../../src/contract/schema.ts';
import type { AtEnd } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';

/** An example, with its documented and its actual result. */
export interface Scene {
  readonly id: OperationId;
  readonly name: string;
  readonly example: Example;
  readonly status: number;
  readonly body: unknown;
  /** Paths at which the reply differs. Ids, keys, fingerprints and times may have other values, used consistently. */
  readonly differences: readonly string[];
}

const MADE_UP = [
  new RegExp(UUID),
  new RegExp(API_KEY),
  /^\d+\.\d+$/,
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/,
];
const TENANT_NAME = 'production';
const MINUTE = 60_000;

/** Maps the names of the examples to those of one vault, one to one. */
class Names {
  private readonly actual = new Map<string, string>();
  private readonly example = new Map<string, string>();

  agree(example: string, actual: string): boolean {
    const known = this.actual.get(example) ?? actual;
    const same = known === actual && (this.example.get(actual) ?? example) === example;
    if (same) {
      this.actual.set(example, actual);
      this.example.set(actual, example);
    }
    return same;
  }

  /** Replaces the names in a request of the example with those of the vault. */
  translate(value: unknown): unknown {
    if (typeof value === 'string') return this.actual.get(value) ?? value;
    if (Array.isArray(value)) return value.map((item) => this.translate(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.translate(member)]));
  }
}

/** Sorts operations: applications first, deletions last, that of a key before that of its application. */
function inOrder(examples: Examples): readonly OperationId[] {
  const ids = Object.keys(examples) as OperationId[];
  const first: Partial<Record<OperationId, number>> = { createApplication: 0, deleteApplicationKey: 2 };
  const rank = (id: OperationId) => first[id] ?? (OPERATIONS[id].method === 'DELETE' ? 3 : 1);
  return ids.toSorted((a, b) => rank(a) - rank(b));
}

/** Runs the requests of all examples in turn on one vault. */
export async function playExamples(examples: Examples = EXAMPLES, atEnd?: AtEnd): Promise<readonly Scene[]> {
  const world = await openTestVault('examples', { atEnd });
  const { application } = await world.vault.createTenant(TENANT_NAME);
  const names = new Names();
  const scenes: Scene[] = [];
  let tokenKey: string | undefined;
  for (const id of inOrder(examples)) {
    for (const [name, example] of Object.entries(examples[id])) {
      world.clock.advance(MINUTE);
      const key = (OPERATIONS[id] as Operation).permission?.startsWith('token:') ? tokenKey : application.key;
      const { status, text } = await playExample(world, key, id, example, names);
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      if (id === 'createApplication' && tokenKey === undefined) tokenKey = JSON.parse(text).key;
      scenes.push({ id, name, example, status, body, differences: compare(example.result, body, names) });
    }
  }
  return scenes;
}

export async function playExample(
  world: Pick<TestVault, 'call'>,
  key: string | undefined,
  id: OperationId,
  example: Example,
  names = new Names(),
): Promise<{ readonly status: number; readonly text: string }> {
  const row: Operation = OPERATIONS[id];
  return world.call(key, id, {
    ...(example.params && { params: names.translate(example.params) as Readonly<Record<string, string>> }),
    ...(example.query && { query: String(new URLSearchParams(pairs(names.translate(example.query)))) }),
    ...(row.body && example.body !== undefined && { body: names.translate(example.body) }),
  });
}

/** Encodes a query as documented: an array repeats its parameter, an object has one parameter per member. */
function pairs(query: unknown): [string, string][] {
  return Object.entries(query ?? {}).flatMap(([name, value]): [string, string][] => {
    if (Array.isArray(value)) return value.map((item) => [name, String(item)]);
    if (typeof value === 'object')
      return Object.entries(value ?? {}).map(([key, item]) => [`${name}.${key}`, `${item}`]);
    return [[name, String(value)]];
  });
}

function compare(example: unknown, actual: unknown, names: Names, path = 'body'): string[] {
  if (typeof example === 'string' && typeof actual === 'string') {
    const madeUp = path.endsWith('.fingerprint') || MADE_UP.some((form) => form.test(example) && form.test(actual));
    return (madeUp ? names.agree(example, actual) : example === actual) ? [] : [path];
  }
  if (typeof example !== 'object' || typeof actual !== 'object' || example === null || actual === null) {
    return example === actual ? [] : [path];
  }
  if (Array.isArray(example) !== Array.isArray(actual)) return [path];
  const [wanted, found] = [Object.keys(example).sort(), Object.keys(actual).sort()];
  if (wanted.join() !== found.join()) return [`${path}: ${wanted.join()} against ${found.join()}`];
  return wanted.flatMap((name) =>
    compare(Reflect.get(example, name), Reflect.get(actual, name), names, `${path}.${name}`),
  );
}
