import type { Store } from '../../src/core/ports.ts';
import { HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openTwice } from './open-twice.ts';

/** Opens two stores on an empty database, as two daemons do. Default: a new database. */
export async function openTwoStores(database?: string): Promise<readonly [Store, Store]> {
  const url = database ?? (await createDatabase());
  return openTwice(`${url}?sslmode=disable`, HEADER, async () => undefined, { insecure: true });
}
