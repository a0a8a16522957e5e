import type { Caller, Context } from '../handler.ts';
import type { Instant, PresentedToken } from '../ports.ts';
import type { SnapshotReads } from '../scan-ports.ts';
import { isPromise } from '../steps.ts';
import { sealedBytes } from './present-token.ts';

/** The number of tokens in one read within a tick, and in one query. */
const READ_AT_ONCE = 25;
const FOUND_AT_ONCE = 100;
/** The number of tokens up to which the query costs more than a read of each. */
const FEW = 8;
/** The sealed bytes after which a read within a tick stops. */
const BYTES_AT_ONCE = 1024 * 1024;

interface ReadToken {
  readonly id: string;
  readonly record: PresentedToken | undefined;
}

/** Yields the tokens with these ids, in order; undefined for a missing or expired one. Reads some tokens at once. */
export async function* readTokens(ids: readonly string[], now: Instant, { tenant }: Caller, { store }: Context) {
  const tenant_id = tenant.record.id;
  for (let at = 0; at < ids.length; ) {
    const some = ids.slice(at, at + FOUND_AT_ONCE);
    const found = store.readNow?.((reads) => readInTick(some.slice(0, READ_AT_ONCE), tenant_id, now, reads));
    if (found === undefined) yield* readPage(some, tenant_id, now, store);
    else
      for (const [position, record] of (await Promise.all(found)).entries()) yield { id: some[position] ?? '', record };
    at += found?.length ?? some.length;
  }
}

/** Returns the first tokens. A large one ends the read, so that others wait for one such token only. */
function readInTick(ids: readonly string[], tenantId: string, now: Instant, reads: SnapshotReads) {
  const found: ReturnType<typeof reads.findPresentedToken>[] = [];
  for (let bytes = 0; bytes < BYTES_AT_ONCE && found.length < ids.length; ) {
    const record = reads.findPresentedToken(tenantId, ids[found.length] ?? '', now);
    found.push(record);
    bytes += isPromise(record) ? 0 : sealedBytes(record);
  }
  return found;
}

/**
 * Yields the tokens that one query finds. It leaves out long values: these are read one at a time, as in a list. Reads
 * each of a few tokens instead.
 */
async function* readPage(
  ids: readonly string[],
  tenant_id: string,
  now: Instant,
  store: Context['store'],
): AsyncGenerator<ReadToken> {
  const page = { offset: 0, limit: ids.length };
  const { records = [] } =
    ids.length > FEW
      ? await store.findTokens({ tenant_id, all: [{ id_in: ids }] }, page, now)
      : { records: await Promise.all(ids.map((id) => store.findPresentedToken(tenant_id, id, now))) };
  const byId = new Map(records.map((record) => [record?.id, record]));
  for (const id of ids) {
    const found = byId.get(id);
    const isWhole = found === undefined || (found.presented.length > 0 && found.full.length > 0);
    yield { id, record: isWhole ? found : await store.findPresentedToken(tenant_id, id, now) };
  }
}
