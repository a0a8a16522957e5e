import { type Audit, createAudit } from '../../src/core/audit/audit.ts';
import type { AuditLevel } from '../../src/core/audit/audit-level.ts';
import { createFollower } from '../../src/core/audit/follower.ts';
import type { AuditHead } from '../../src/core/audit/ports.ts';
import type { Keyring, Store } from '../../src/core/ports.ts';
import type { Clock } from '../../src/core/time.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { openTestStore } from '../test-store.ts';

/** The time of the entries. */
const AT = 1_700_000_000_000;

const FIXED: Clock = { now: () => AT, cutoff: () => AT, settled: () => 0 };

export interface AuditOptions {
  readonly level?: AuditLevel;
  readonly strict?: boolean;
  readonly clock?: Clock;
  /** The last row that the writer knows. Default: that of its follower. */
  readonly known?: () => AuditHead;
  readonly keyringOf?: (keyring: Keyring) => Keyring;
  /** Replaces methods of the store to which the audit writes. */
  readonly writesTo?: (store: Store) => Partial<Store>;
}

export interface TestAudit {
  readonly keyring: Keyring;
  readonly store: Store;
  readonly audit: Audit;
}

/** Opens an audit on a store of its own. Closes the store after the test. */
export async function openTestAudit({
  level = 'all',
  strict = true,
  clock = FIXED,
  known,
  keyringOf = (keyring) => keyring,
  writesTo = () => ({}),
}: AuditOptions = {}): Promise<TestAudit> {
  const { keyring: own, header } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32) }, { now: 0 });
  const keyring = keyringOf(own);
  const store = await openTestStore(header);
  const following = createFollower({ store, keyring });
  const follower = known ? { ...following, known: () => ({ ...known(), authority: 0 }) } : following;
  const audit = createAudit({ store: { ...store, ...writesTo(store) }, keyring, follower, clock, level, strict });
  return { keyring, store, audit };
}
