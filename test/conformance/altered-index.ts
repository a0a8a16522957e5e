import { expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openVaultAt, type VaultLocation } from '../../src/vault/location.ts';
import { swappedIndex } from '../checks/swapped-index.ts';
import { type Answer, CREDENTIAL, callVault, RULE } from '../unit/vault-admin-fixture.ts';

interface Alterable {
  /** Creates a closed vault. */
  create(): Promise<{ readonly location: VaultLocation; readonly management: string }>;
  /** Runs SQL on a closed vault, without its key. */
  alter(location: VaultLocation, sql: string): Promise<void>;
  readonly dialect?: Parameters<typeof swappedIndex>[2];
  /** Whether at least one call fails after each edit. Some stores compare entries with the row, and find fewer tokens. */
  readonly isAlwaysNoticed: boolean;
}

interface Customer {
  readonly fingerprint: string;
  readonly created_at: string;
}

const SECRET = '123-45-6789';

/** Creates two tokens that share no value by which a search finds them. Resolves to the key and to `alice`. */
async function addCustomers(location: VaultLocation, management: string) {
  return withVaultAt(location, async (call) => {
    const rules = [{ ...RULE, permissions: [...RULE.permissions, 'token:search'] }];
    const application = { name: 'search', type: 'private', rules };
    const apiKey = String((await call(management, 'createApplication', { body: application })).body['key']);
    for (const [id, type, data] of [
      ['alice', 'token', 'first'],
      ['bob', 'social_security_number', SECRET],
    ]) {
      const body = { id, type, data, search_indexes: [id], metadata: { owner: id }, containers: [`/${id}/`] };
      expect(await call(apiKey, 'createToken', { body })).toMatchObject({ status: 201 });
      // The times of the tokens differ.
      await new Promise((resolve) => void setTimeout(resolve, 2));
    }
    return { apiKey, alice: (await call(apiKey, 'getToken', { id: 'alice' })).body as Customer };
  });
}

type Call = (key: string, operation: OperationId, parts?: Parameters<typeof callVault>[3]) => Promise<Answer>;

async function withVaultAt<T>(location: VaultLocation, use: (call: Call) => Promise<T>): Promise<T> {
  const vault = await openVaultAt(location, { credential: CREDENTIAL, reportError: () => undefined });
  try {
    return await use((...words) => callVault(vault, ...words));
  } finally {
    await vault.close();
  }
}

/** Returns calls that find only `alice`, by the values of `alice`. */
function callsFor({ fingerprint, created_at }: Customer) {
  const queries = [
    'data:alice',
    'data:ALICE AND type:token',
    'data:alice OR data:nothing',
    'NOT data:bob',
    'metadata.owner:alice',
    'NOT metadata.owner:bob',
    '-(data:bob OR metadata.owner:bob)',
    'container:/alice/',
    'container:/alice/*',
    'NOT container:/bob/*',
    `fingerprint:${fingerprint}`,
    'type:token',
    '-type:social_security_number',
    `created_at:[* TO ${created_at}]`,
  ];
  const filters = [
    ['metadata.owner', 'alice'],
    ['container', '/alice/'],
    ['fingerprint', fingerprint],
    ['type', 'token'],
  ] as const;
  return [
    ...(['searchTokens', 'searchTokensByCursor'] as const).flatMap((operation) =>
      queries.map((query) => ({ operation, parts: { body: { query } } })),
    ),
    ...(['listTokens', 'listTokensByCursor'] as const).flatMap((operation) =>
      filters.map(([name, value]) => ({ operation, parts: { query: [[name, value]] as [string, string][] } })),
    ),
  ];
}

/** Tests that altered indexes never make a search or a list answer with another token. */
export function testAlteredIndex({ create, alter, dialect, isAlwaysNoticed }: Alterable): void {
  it.each([['nothing altered', ''], ...Object.entries(swappedIndex('alice', 'bob', dialect))])(
    'searches and lists with %s',
    async (what, edit) => {
      const isSound = what === 'nothing altered';
      const { location, management } = await create();
      const { apiKey, alice } = await addCustomers(location, management);
      await alter(location, edit);
      expect((await checkVaultFile({ ...location, credential: CREDENTIAL })).ok).toBe(isSound);
      await withVaultAt(location, async (call) => {
        let failed = 0;
        for (const { operation, parts } of callsFor(alice)) {
          const { status, body } = await call(apiKey, operation, parts);
          const text = `${operation} ${JSON.stringify(parts)}: ${JSON.stringify(body)}`;
          if (isSound) expect(text).toContain('"data":"first"');
          if (status === 200) expect(text).not.toContain(SECRET);
          else expect(text).toContain('problem:integrity_failure');
          if (status !== 200) failed += 1;
        }
        if (isSound || isAlwaysNoticed) expect(failed > 0).toBe(!isSound);
      });
    },
  );
}
