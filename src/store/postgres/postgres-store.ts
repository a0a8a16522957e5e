import type { Store } from '../../core/ports.ts';
import { sharedMethods } from '../rows/shared-store.ts';
import { auditMethods } from './audit-rows.ts';
import type { Connections } from './connections.ts';
import { containerSets } from './container-sets.ts';
import { DIALECT } from './dialect.ts';
import { findTokensMethods } from './find-tokens.ts';
import { inspectTables } from './inspect-tables.ts';
import { stepRunnerOn } from './perform.ts';
import { purgeMethods } from './purge-tenants.ts';
import { tokenReads } from './token-reads.ts';
import { tokenWrites } from './token-writes.ts';

/** Returns the store in one schema of a database. Each call sees what other processes have committed. */
export function postgresStore(connections: Connections): Store {
  return {
    ...sharedMethods({ dialect: DIALECT, ...stepRunnerOn(connections) }),
    ...tokenReads(connections),
    ...tokenWrites(connections, containerSets(connections)),
    ...findTokensMethods(connections),
    ...auditMethods(connections),
    ...purgeMethods(connections),
    ...inspectTables(connections),

    ping: () => connections.ping(),
    close: () => connections.close(),
  };
}
