import type { Caller, Context } from '../handler.ts';
import type { Instant } from '../ports.ts';
import type { SnapshotReads } from '../scan-ports.ts';

/** The number of tokens in one read. */
const READ_AT_ONCE = 25;

/** Yields the tokens with these ids, in order; undefined for a missing or expired one. Reads some tokens at once. */
export async function* readTokens(ids: readonly string[], now: Instant, { tenant }: Caller, { store }: Context) {
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const find = (reads: Pick<SnapshotReads, 'findPresentedToken'>) =>
      some.map((id) => reads.findPresentedToken(tenant.record.id, id, now));
    const found = await Promise.all(store.readNow?.(find) ?? find(store));
    for (const [position, id] of some.entries()) yield { id, record: found[position] };
  }
}
