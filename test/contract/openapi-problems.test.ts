import { beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import { OPERATIONS, type Operation, type OperationId, takesIdempotencyKey } from '../../src/contract/operations.ts';
import type { Store } from '../../src/core/ports.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault } from '../test-vault.ts';

const IDS = Object.keys(OPERATIONS) as OperationId[];
/** The methods by which a store returns `false` when another caller has changed the record. */
const SWAPS: ReadonlySet<string | symbol> = new Set<keyof Store>([
  'replaceTenant',
  'replaceApplication',
  'deleteApplication',
  'deleteApplicationKey',
  'replaceToken',
  'deleteToken',
]);

const TAKEN = 'taken';
const atEnd = atEndOfSuite();

/** Whether the store loses every race. */
let isLosing = false;
function losing(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return isLosing && SWAPS.has(name) ? async () => false : member.bind(target);
    },
  });
}

function documented(id: OperationId): readonly string[] {
  const { path, method } = OPERATIONS[id];
  const document = JSON.parse(JSON.stringify(openApi({ version: '1' })));
  return Object.keys(document.paths[path][method.toLowerCase()].responses);
}

/** The status of each operation that gets the idempotency key of another request. */
const mismatches: Record<string, number> = {};
/** The status of each operation when other callers keep changing its record. */
const conflicts: Record<string, number> = {};

beforeAll(async () => {
  const { call, management } = await openTestVault('conflicts', { storeOf: losing, atEnd });
  const example = (id: OperationId): object => Object(Object.values(EXAMPLES[id])[0]?.body);
  const created = await call(management, 'createApplication', {
    body: example('createApplication'),
    idempotencyKey: TAKEN,
  });
  const backend = { id: String(created.at('id')), key: String(created.at('key')) };
  const token = { ...example('createToken'), id: 'taken' };
  await call(backend.key, 'createToken', { body: { ...token, metadata: {} }, idempotencyKey: TAKEN });
  await call(backend.key, 'tokenize', { body: example('tokenize') });
  const [key] = JSON.parse((await call(management, 'listApplicationKeys', { id: backend.id })).text);

  isLosing = true;
  const bodies: { readonly [Id in OperationId]?: object } = {
    createToken: token,
    updateApplication: { ...example('updateApplication'), permissions: ['token:read'] },
    explainAccess: { application_id: backend.id, token_id: 'taken' },
    measureReach: { application_id: backend.id },
  };
  const deletedLast = IDS.toSorted((a, b) => Number(a === 'deleteTenant') - Number(b === 'deleteTenant'));
  for (const id of deletedLast) {
    const row: Operation = OPERATIONS[id];
    const ofTokens = row.permission?.startsWith('token:');
    const known = { id: ofTokens ? 'taken' : backend.id, key_id: key.id };
    const params = Object.fromEntries(
      Object.entries(known).filter(([name]) => Object.hasOwn(row.params?.properties ?? {}, name)),
    );
    const body = row.body && (bodies[id] ?? example(id));
    const apiKey = ofTokens ? backend.key : management;
    if (takesIdempotencyKey(row)) {
      const other = id === 'createApplication' ? { ...body, name: 'another' } : body;
      mismatches[id] = (await call(apiKey, id, { params, body: other, idempotencyKey: TAKEN })).status;
    }
    conflicts[id] = (await call(apiKey, id, { params, body })).status;
  }
});

describe('409', () => {
  it.each(IDS)('%s documents it exactly when it can return it', (id) => {
    const { status } = OPERATIONS[id];
    expect([409, status]).toContain(conflicts[id]);
    expect(mismatches[id] ?? 409).toBe(409);
    expect(documented(id).includes('409')).toBe(conflicts[id] === 409 || mismatches[id] === 409);
  });
});
