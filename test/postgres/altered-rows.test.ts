import { Client } from 'pg';
import { describe } from 'vitest';
import { parseStore } from '../../src/vault/location.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import { STORE } from '../checks/swapped-index.ts';
import { testAlteredIndex } from '../conformance/altered-index.ts';
import { testImpossibleValues } from '../conformance/impossible-values.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';

let database: Promise<string> | undefined;
let schemas = 0;

async function create() {
  database ??= createDatabase();
  const store = parseStore(`${await database}?sslmode=disable&schema=altered_${schemas++}`, false);
  const made = await createStoreVault({ store, credential: CREDENTIAL, tenantName: 't', weakPassphrase: false });
  return { location: { store }, management: made.application.key ?? '' };
}

async function alter(_location: unknown, sql: string): Promise<void> {
  const client = new Client({ connectionString: await database });
  await client.connect();
  await client.query(`SET search_path = altered_${schemas - 1}; ${sql}`);
  await client.end();
}

describe('altered indexes of a store', () => {
  testAlteredIndex({ create, alter, dialect: STORE, isAlwaysNoticed: false });
});

describe('values of a store that no seal protects', () => {
  testImpossibleValues({
    create,
    alter,
    sqlOf: {
      'more active tokens than a double counts': 'UPDATE token_count SET active = 9007199254740993',
      'a full counter of a month': 'UPDATE token_count SET active = 9223372036854775807',
      'a negative counter of a type': 'UPDATE token_count SET live = -2',
      'no number for a tenant': "SELECT setval(pg_get_serial_sequence('tenant', 'tenant'), 2147483647)",
    },
  });
});
