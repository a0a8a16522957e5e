import { join } from 'node:path';
import type { Call, Reply } from '../../src/contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { createKeyring, unlockKeyring } from '../../src/keyring/master-key.ts';
import { composeVault, type Vault, writeFirstRecords } from '../../src/vault/vault.ts';
import { createStore } from '../create-store.ts';
import { seededRandom, steppingClock } from '../fixed-world.ts';
import { CheckFailure } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { createDraw } from './model-fuzz-bodies.ts';
import type { Applicant, KeyState, Place } from './permission-oracle.ts';
import type { OpenStores } from './start-daemons.ts';

export const PLAINTEXT = 'plain-4242';
export const MASKED = 'masked-XXXX';
export const FOREIGN = 'foreign-canary';
export const TOKEN_IDS = { one: 'token-one', two: 'token-two', other: 'token-foreign' } as const;
export const CONTAINERS = { one: ['/pci/high/'], two: ['/pci/high/', '/bank/high/'] } as const;

const CONTAINER_OF: Readonly<Partial<Record<Place, string>>> = {
  root: '/',
  pci: '/pci/',
  bank: '/bank/',
  pcix: '/pcix/',
};
const starts = (attribute: string, value: string) => ({ attribute, operator: 'starts_with', value });
const CONDITIONS_OF: Readonly<Record<Place, readonly object[]>> = {
  root: [starts('container', '/')],
  pci: [starts('container', '/pci/')],
  bank: [{ attribute: 'container', operator: 'equals', value: '/bank/high/' }],
  pcix: [starts('container', '/pcix/')],
  'its id': [starts('id', 'token-')],
  'an id': [{ attribute: 'id', operator: 'equals', value: 'token-none' }],
  'id and pci': [starts('id', 'token-'), starts('container', '/pci/')],
  'id and pcix': [starts('id', 'token-'), starts('container', '/pcix/')],
};

/** Returns the body that creates an applicant. Places become containers, or conditions for an expiring application. */
export function applicationBody({ type, permissions, rules, flag }: Applicant, name = 'applicant'): object {
  return {
    name,
    type,
    permissions,
    rules: rules.map(({ place, ...rule }) => ({
      description: place,
      ...rule,
      ...(type === 'expiring' ? { conditions: CONDITIONS_OF[place] } : { container: CONTAINER_OF[place] }),
    })),
    ...(flag && { can_create_expiring_applications: true }),
  };
}

export function callOf(
  apiKey: string | undefined,
  operation: OperationId,
  parts: Partial<Call> = {},
  body?: object,
): Call {
  const row: Operation = OPERATIONS[operation];
  const content = body && { mediaType: row.mediaType ?? 'application/json', bodyText: JSON.stringify(body) };
  return { operation, apiKey, params: {}, query: [], ...content, ...parts };
}

/** A tenant with two tokens, the applicant, and another application. */
export interface Fixture {
  readonly management: string;
  readonly seedApplicationId: string;
  readonly seedApplicationKey: string;
  /** The application that the calls read, change and delete. */
  readonly lookedAt: string;
  readonly lookedAtKey: string;
  restore(target: 'one' | 'two'): Promise<void>;
}

export type MatrixWorld = Awaited<ReturnType<typeof openMatrixWorld>>;

const EVERYTHING: Applicant = {
  type: 'private',
  permissions: [],
  rules: [
    { priority: 1, place: 'root', transform: 'reveal', permissions: ['token:create', 'token:read', 'token:update'] },
  ],
};

/** Opens a vault for each daemon, on these stores. Default: one store on a new file. */
export async function openMatrixWorld(seed: number, openStores?: OpenStores) {
  const folder = makeMemoryFolder();
  const onFile: OpenStores = async (header) => [await createStore(join(folder.path, 'vault.db'), header)];
  const random = seededRandom(`matrix ${seed}`);
  const draw = createDraw(seed);
  const clock = steppingClock();
  const key = random.bytes(32);
  // Unlocking wipes the key, so each vault gets a copy.
  const credential = () => ({ kind: 'key_file', key: key.slice() }) as const;
  const { keyring, header } = await createKeyring(credential(), { now: clock.now() });
  const stores = await (openStores ?? onFile)(header, async (store) => {
    await writeFirstRecords({ file: 'matrix', store, keyring, clock, random }, header, 'first');
  });
  keyring.close();
  const vaults = await Promise.all(
    stores.map(async (store) => {
      const keys = await unlockKeyring(header, credential());
      return composeVault({ file: 'matrix', store, keyring: keys, clock, random });
    }),
  );
  const dispatch: Vault['dispatch'] = (call) => draw.one(vaults).dispatch(call);

  async function perform(key: string, operation: OperationId, parts?: Partial<Call>, body?: object): Promise<Reply> {
    const reply = await dispatch(callOf(key, operation, parts, body));
    if (reply.status >= 300) {
      throw new CheckFailure(`the fixture: ${operation} answered ${reply.status}: ${reply.bodyText}`);
    }
    return reply;
  }

  async function createApplication(management: string, body: object): Promise<{ id: string; key: string }> {
    return JSON.parse((await perform(management, 'createApplication', {}, body)).bodyText ?? '');
  }

  async function createTenant(
    name: string,
    tokens: readonly (readonly [id: string, containers: readonly string[], data: string])[],
  ) {
    const { key: management = '' } = (await draw.one(vaults).createTenant(name)).application;
    const { key, id } = await createApplication(management, applicationBody(EVERYTHING, name));
    for (const [token, containers, data] of tokens) {
      await perform(key, 'createToken', {}, { id: token, type: 'token', data, mask: MASKED, containers });
    }
    return { management, key, applicationId: id };
  }

  const other = await createTenant(FOREIGN, [[TOKEN_IDS.other, CONTAINERS.one, FOREIGN]]);

  const spoilers: Readonly<Record<KeyState, (fixture: Fixture) => Promise<string | undefined>>> = {
    good: async ({ seedApplicationKey }) => seedApplicationKey,
    missing: async () => undefined,
    malformed: async ({ seedApplicationKey }) => seedApplicationKey.slice(0, -1),
    unknown: async ({ management, seedApplicationId }) => {
      // Well-formed, but issued to another application that is already deleted.
      const { id, key } = await createApplication(management, {
        name: 'x',
        type: 'private',
        permissions: ['token:read'],
      });
      await perform(management, 'deleteApplication', { params: { id } });
      return id === seedApplicationId ? undefined : key;
    },
    regenerated: async ({ management, seedApplicationId, seedApplicationKey }) => {
      await perform(management, 'regenerateApplicationKey', { params: { id: seedApplicationId } });
      return seedApplicationKey;
    },
    'deleted application': async ({ management, seedApplicationId, seedApplicationKey }) => {
      await perform(management, 'deleteApplication', { params: { id: seedApplicationId } });
      return seedApplicationKey;
    },
    expired: async ({ seedApplicationKey }) => {
      clock.advance(60_000); // the default lifetime of an expiring application
      return seedApplicationKey;
    },
    'deleted tenant': async ({ management, seedApplicationKey }) => {
      await perform(management, 'deleteTenant');
      return seedApplicationKey;
    },
  };

  return {
    vaults,
    close: async () => {
      await Promise.all(vaults.map((vault) => vault.close()));
      folder[Symbol.dispose]();
    },
    dispatch,
    clock,
    other,
    do: perform,
    /** Brings the applicant's key into the given state. Resolves to the key to send. */
    spoil: async (fixture: Fixture, state: KeyState) => {
      // Use the key once while it is valid, so that each vault caches it. A cached key must end on time too.
      for (const vault of vaults) await vault.dispatch(callOf(fixture.seedApplicationKey, 'getTenant'));
      return spoilers[state](fixture);
    },
    prepare: async (who: Applicant): Promise<Fixture> => {
      const {
        management,
        applicationId,
        key: owner,
      } = await createTenant('own', [
        [TOKEN_IDS.one, CONTAINERS.one, PLAINTEXT],
        [TOKEN_IDS.two, CONTAINERS.two, PLAINTEXT],
      ]);
      const { id, key } = await createApplication(management, applicationBody(who));
      const restore = async (target: 'one' | 'two') => {
        await perform(owner, 'updateToken', { params: { id: TOKEN_IDS[target] } }, { containers: CONTAINERS[target] });
      };
      const second = await perform(management, 'createApplicationKey', { params: { id: applicationId } });
      const { id: lookedAtKey } = JSON.parse(second.bodyText ?? '');
      const seed = { seedApplicationId: id, seedApplicationKey: key };
      return { management, ...seed, lookedAt: applicationId, lookedAtKey, restore };
    },
  };
}
