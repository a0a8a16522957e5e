import type { Caller, Context } from '../handler.ts';
import type { Instant } from '../ports.ts';
import type { SnapshotReads } from '../scan-ports.ts';
import { isPromise } from '../steps.ts';
import { sealedBytes } from './present-token.ts';

/** The number of tokens in one read. */
const READ_AT_ONCE = 25;
/** The sealed bytes after which a read within a tick stops. */
const BYTES_AT_ONCE = 1024 * 1024;

/** Yields the tokens with these ids, in order; undefined for a missing or expired one. Reads some tokens at once. */
export async function* readTokens(ids: readonly string[], now: Instant, { tenant }: Caller, { store }: Context) {
  for (let at = 0; at < ids.length; ) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const find = (reads: Pick<SnapshotReads, 'findPresentedToken'>) => {
      const found: ReturnType<typeof reads.findPresentedToken>[] = [];
      for (let bytes = 0; bytes < BYTES_AT_ONCE && found.length < some.length; ) {
        const record = reads.findPresentedToken(tenant.record.id, some[found.length] ?? '', now);
        found.push(record);
        bytes += isPromise(record) ? 0 : sealedBytes(record);
      }
      return found;
    };
    const found = await Promise.all(store.readNow?.(find) ?? find(store));
    for (const [position, record] of found.entries()) yield { id: ids[at + position] ?? '', record };
    at += found.length;
  }
}
