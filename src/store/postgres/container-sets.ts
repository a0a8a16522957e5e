import type { TokenIndexes, TokenRecord } from '../../core/ports.ts';
import { runningTime } from '../../core/timers.ts';
import { MAX_SET_NUMBER, nameOf } from '../rows/container-sets.ts';
import type { Connections } from './connections.ts';
import { blindText, uuidKey } from './uuid-text.ts';

/** The time in milliseconds for which a process asks for no other number of a tenant that had no free one. */
const RETRY_MS = 60_000;

/** The maximum number of sets, and of tenants without a free number, that a process remembers. */
const MAX_KNOWN = 10_000;

/**
 * Parameters: tenant id, index key, name, containers. Adds the set with the lowest free number. Returns whether it has
 * a number now, and whether a number was free. Adds nothing if another process takes the number at the same time, or if
 * the index key is not the newest.
 */
const ADD = `WITH n AS (SELECT tenant FROM vault.tenant WHERE id = $1::uuid AND index_key_id = $2::integer),
free AS (SELECT min(number) AS number FROM generate_series(1, ${MAX_SET_NUMBER}) g (number)
  WHERE NOT EXISTS (SELECT 1 FROM n, vault.container_set s WHERE s.tenant = n.tenant AND s.number = g.number)),
known AS (SELECT 1 FROM vault.container_set WHERE tenant = (SELECT tenant FROM n) AND name = $3::uuid),
added AS (INSERT INTO vault.container_set (tenant, name, number, index_key_id, containers)
  SELECT n.tenant, $3, free.number, $2, $4::uuid[] FROM n, free WHERE free.number IS NOT NULL AND NOT EXISTS (TABLE known)
  ON CONFLICT DO NOTHING RETURNING 1)
SELECT EXISTS (TABLE known) OR EXISTS (TABLE added), free.number IS NOT NULL FROM n, free`;

/** The containers of a token, without repetitions, and the name of their set; null without containers. */
type Named = readonly [containers: readonly string[], name: string | null];

const named = new WeakMap<TokenIndexes, Named>();

/** Returns the last two parameters of a statement that writes the entries of a token. */
export function setOf(indexes: TokenIndexes): Named {
  let found = named.get(indexes);
  if (found === undefined) {
    const distinct = new Map(indexes.containers?.map((each) => [blindText(each), each]));
    found = [[...distinct.keys()], distinct.size === 0 ? null : blindText(nameOf([...distinct.values()]))];
    named.set(indexes, found);
  }
  return found;
}

/** A token that is about to be written, with its indexes. */
interface Written {
  readonly token: Pick<TokenRecord, 'tenant_id' | 'index_key_id'>;
  readonly indexes: TokenIndexes;
}

function ownerOf({ tenant_id, index_key_id }: Written['token']): string {
  return `${tenant_id} ${index_key_id}`;
}

export type ContainerSets = ReturnType<typeof containerSets>;

/** Gives numbers to container sets. The statement that writes a token reads the number. */
export function containerSets({ change }: Pick<Connections, 'change'>) {
  /** The names of the sets that have a number. A name depends on the tenant's key. */
  const known = new Set<string>();
  /** By tenant and index key: the time until which no number is free. */
  const full = new Map<string, number>();
  /** The end of adding the last set. Sets are added one by one, because the first may find that no number is free. */
  let last: Promise<void> = Promise.resolve();

  function isKnown({ token, indexes }: Written): boolean {
    const [, name] = setOf(indexes);
    return name === null || known.has(name) || (full.get(ownerOf(token)) ?? 0) > runningTime();
  }

  async function add(written: Written): Promise<void> {
    if (isKnown(written)) return;
    const { token, indexes } = written;
    const [containers, name] = setOf(indexes);
    const values = [uuidKey(token.tenant_id), token.index_key_id, name, containers];
    const hasNumber = await change(async ({ run }) => {
      for (;;) {
        const [[isKnown, isFree] = []] = await run(ADD, values);
        if (isKnown === true || isFree !== true) return isKnown === true;
      }
    });
    for (const list of [known, full]) if (list.size >= MAX_KNOWN) list.clear();
    if (hasNumber && name !== null) known.add(name);
    else full.set(ownerOf(token), runningTime() + RETRY_MS);
  }

  async function addAll(tokens: readonly Written[]): Promise<void> {
    for (const written of tokens) {
      if (isKnown(written)) continue;
      const adding = last.then(() => add(written));
      last = adding;
      // A failure rejects those that wait, too: the deadline of each would otherwise begin only now.
      adding.catch(() => {
        if (last === adding) last = Promise.resolve();
      });
      await adding;
    }
  }

  return {
    /** Adds the sets of these tokens that this process has not seen yet, then writes. */
    async ensured<T>(tokens: readonly Written[], write: () => Promise<T>): Promise<T> {
      if (!tokens.every(isKnown)) await addAll(tokens);
      return write();
    },
  };
}
