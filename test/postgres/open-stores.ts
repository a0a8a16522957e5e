import type { Store } from '../../src/core/ports.ts';
import { CHAIN_RECORDER, HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openTwice } from './open-twice.ts';

/** Opens two stores on a new database, as two daemons do, each with its own chain. */
export async function openTwoStores(): Promise<readonly [Store, Store]> {
  const options = { insecure: true, writesOnRoot: 0 };
  const url = `${await createDatabase()}?sslmode=disable`;
  const stores = await openTwice(url, HEADER, async () => undefined, options);
  for (const store of stores) store.useChainRecorder(CHAIN_RECORDER);
  return stores;
}
