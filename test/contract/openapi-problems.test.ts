import { beforeAll, describe, expect, it } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import { EXAMPLES } from '../../src/contract/openapi/examples/examples.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import { OPERATIONS, type Operation, type OperationId, takesIdempotencyKey } from '../../src/contract/operations.ts';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { seededRandom, steppingClock } from '../fixed-world.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

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

/** Opens a store that loses every race after `lose`. */
async function losingStore(header: VaultHeader): Promise<{ readonly store: Store; lose(): void }> {
  let losing = false;
  const store = new Proxy<Store>(await openTestStore(header, atEnd), {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return losing && SWAPS.has(name) ? async () => false : member.bind(target);
    },
  });
  return {
    store,
    lose: () => {
      losing = true;
    },
  };
}

function documented(id: OperationId): readonly string[] {
  const { path, method } = OPERATIONS[id];
  const document = JSON.parse(JSON.stringify(openApi({ version: '1' })));
  return Object.keys(document.paths[path][method.toLowerCase()].responses);
}

/** The status of each operation that gets the idempotency key of another request. */
const mismatches: Record<string, number> = {};

/** The status of each operation when other callers keep changing its record. */
let conflicts: Readonly<Record<string, number>>;

beforeAll(async () => {
  const clock = steppingClock();
  const random = seededRandom('conflicts');
  const { keyring, header } = await createKeyring({ kind: 'key_file', key: random.bytes(32) }, { now: clock.now() });
  const { store, lose } = await losingStore(header);
  const vault = composeVault({ file: 'vault.db', store, keyring, clock, random });
  const client = directClient(vault);
  const { application } = await vault.createTenant('test');

  async function ask(
    apiKey: string | undefined,
    id: OperationId,
    params: Record<string, string>,
    body?: unknown,
    idempotencyKey?: string,
  ) {
    const row: Operation = OPERATIONS[id];
    const mediaType = row.mediaType ?? 'application/json';
    const bodyText = row.body && JSON.stringify(body);
    const { status, bodyText: text } = await client.call({
      operation: id,
      apiKey,
      mediaType,
      params,
      query: [],
      bodyText,
      idempotencyKey,
    });
    return { status, body: text === undefined ? undefined : JSON.parse(text) };
  }
  const example = (id: OperationId) => Object.values(EXAMPLES[id])[0]?.body;
  const backend = (await ask(application.key, 'createApplication', {}, example('createApplication'), TAKEN)).body;
  const token = { ...Object(example('createToken')), id: 'taken' };
  await ask(backend.key, 'createToken', {}, { ...token, metadata: {} }, TAKEN);
  await ask(backend.key, 'tokenize', {}, example('tokenize'));

  const listed = await ask(application.key, 'listApplicationKeys', { id: backend.id });
  const keyId = listed.body[0].id;
  lose();
  const statuses: Record<string, number> = {};
  const deletedLast = IDS.toSorted((a, b) => Number(a === 'deleteTenant') - Number(b === 'deleteTenant'));
  for (const id of deletedLast) {
    const ofTokens = (OPERATIONS[id] as Operation).permission?.startsWith('token:');
    const { properties = {} } = (OPERATIONS[id] as Operation).params ?? {};
    const params = {
      ...('id' in properties && { id: ofTokens ? 'taken' : backend.id }),
      ...('key_id' in properties && { key_id: keyId }),
    };
    const body =
      id === 'createToken'
        ? token
        : id === 'updateApplication'
          ? { ...Object(example(id)), permissions: ['token:read'] }
          : id === 'explainAccess'
            ? { application_id: backend.id, token_id: 'taken' }
            : id === 'measureReach'
              ? { application_id: backend.id }
              : example(id);
    const key = ofTokens ? backend.key : application.key;
    if (takesIdempotencyKey(OPERATIONS[id])) {
      const asked = id === 'createApplication' ? { ...Object(body), name: 'another' } : body;
      mismatches[id] = (await ask(key, id, params, asked, TAKEN)).status;
    }
    statuses[id] = (await ask(key, id, params, body)).status;
  }
  conflicts = statuses;
  await vault.close();
});

describe('409', () => {
  it.each(IDS)('%s documents it exactly when it can return it', (id) => {
    const { status } = OPERATIONS[id];
    expect([409, status]).toContain(conflicts[id]);
    expect(mismatches[id] ?? 409).toBe(409);
    expect(documented(id).includes('409')).toBe(conflicts[id] === 409 || mismatches[id] === 409);
  });
});
