import type { Caller, Context } from '../handler.ts';
import type { Instant, PresentedToken } from '../ports.ts';
import type { SnapshotReads } from '../scan-ports.ts';
import { sealedBytes } from './present-token.ts';

/** The number of tokens in one read, and the sealed bytes after which a read in a tick ends. */
const READ_AT_ONCE = 25;
const BYTES_AT_ONCE = 1024 * 1024;

/** Yields the tokens with these ids, in order; undefined for a missing or expired one. Reads some tokens at once. */
export async function* readTokens(ids: readonly string[], now: Instant, { tenant }: Caller, { store }: Context) {
  for (let at = 0; at < ids.length; ) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const find = (reads: Pick<SnapshotReads, 'findPresentedToken'>) => {
      const found: (PresentedToken | undefined)[] = [];
      for (let bytes = 0; bytes < BYTES_AT_ONCE && found.length < some.length; ) {
        const record = reads.findPresentedToken(tenant.record.id, some[found.length] ?? '', now);
        found.push(record);
        bytes += record === undefined ? 0 : sealedBytes(record);
      }
      return found;
    };
    const found: readonly (PresentedToken | undefined)[] =
      store.readNow?.(find) ??
      (await Promise.all(some.map((id) => store.findPresentedToken(tenant.record.id, id, now))));
    for (const [position, record] of found.entries()) yield { id: ids[at + position] ?? '', record };
    at += found.length;
  }
}
