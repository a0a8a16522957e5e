import { Client } from 'pg';
import { describe } from 'vitest';
import { parseStore } from '../../src/vault/location.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import { STORE } from '../checks/swapped-index.ts';
import { testAlteredIndex } from '../conformance/altered-index.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';

let database: Promise<string> | undefined;
let schemas = 0;

describe('altered indexes of a store', () => {
  testAlteredIndex({
    async create() {
      database ??= createDatabase();
      const store = parseStore(`${await database}?sslmode=disable&schema=altered_${schemas++}`, false);
      const made = await createStoreVault({ store, credential: CREDENTIAL, tenantName: 't', weakPassphrase: false });
      return { location: { store }, management: made.application.key ?? '' };
    },
    async alter(_place, sql) {
      const client = new Client({ connectionString: await database });
      await client.connect();
      await client.query(`SET search_path = altered_${schemas - 1}; ${sql}`);
      await client.end();
    },
    dialect: STORE,
    isAlwaysNoticed: false,
  });
});
