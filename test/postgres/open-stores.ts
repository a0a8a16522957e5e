import type { Store } from '../../src/core/ports.ts';
import { CHAIN_RECORDER, HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openTwice } from './open-twice.ts';

/** Opens two stores on an empty database, as two daemons do, each with its own chain. Default: a new database. */
export async function openTwoStores(database?: string): Promise<readonly [Store, Store]> {
  const options = { insecure: true, writesOnRoot: 0 };
  const url = database ?? (await createDatabase());
  const stores = await openTwice(`${url}?sslmode=disable`, HEADER, async () => undefined, options);
  for (const store of stores) store.useChainRecorder(CHAIN_RECORDER);
  return stores;
}
