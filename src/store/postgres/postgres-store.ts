import type { Store } from '../../core/ports.ts';
import { applicationKeyMethods } from './application-key-rows.ts';
import { applicationMethods } from './application-rows.ts';
import { auditMethods } from './audit-rows.ts';
import type { Connections } from './connections.ts';
import { containerSets } from './container-sets.ts';
import { findTokensMethods } from './find-tokens.ts';
import { headerMethods } from './header-row.ts';
import { inspectTables } from './inspect-tables.ts';
import { replyMethods } from './reply-rows.ts';
import { rowInspection } from './row-inspection.ts';
import { sweepMethods } from './sweep-row.ts';
import { tenantMethods } from './tenant-rows.ts';
import { tokenReads } from './token-reads.ts';
import { tokenWrites } from './token-writes.ts';

/** Returns the store in one schema of a database. Each call sees what other processes have committed. */
export function postgresStore(connections: Connections): Store {
  return {
    ...tenantMethods(connections),
    ...applicationMethods(connections),
    ...applicationKeyMethods(connections),
    ...tokenReads(connections),
    ...tokenWrites(connections, containerSets(connections)),
    ...findTokensMethods(connections),
    ...auditMethods(connections),
    ...replyMethods(connections),
    ...headerMethods(connections),
    ...sweepMethods(connections),
    ...inspectTables(connections),
    ...rowInspection(connections),

    ping: () => connections.ping(),
    close: () => connections.close(),
  };
}
