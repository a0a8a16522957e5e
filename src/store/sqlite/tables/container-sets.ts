import { hash } from 'node:crypto';
import { storedBytes } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { BLIND_LENGTH } from '../file/schema.ts';

/** The maximum number of sets that contain one container. A list by the container walks the entries of each set. */
const MAX_SETS = 16;

/**
 * The functions for the table `container_set`, the sets of containers that tokens share. All are synchronous; writes
 * need a transaction.
 */
export type ContainerSets = ReturnType<typeof containerSets>;

export function containerSets(connection: Connection) {
  const { rows, value } = statements(connection);
  const membersOf = value<[number, Uint8Array], Buffer>(
    'SELECT container FROM container_set WHERE tenant = +? AND name = +?',
  );
  const setsOf = value<[number, Uint8Array], Buffer>(
    'SELECT name FROM container_set WHERE tenant = +? AND container = +?',
  );
  const countSets = value<[number, Uint8Array], number>(
    'SELECT count(*) FROM container_set WHERE tenant = +? AND container = +?',
  );
  const insert = rows<[number, Uint8Array, Uint8Array]>(
    'INSERT INTO container_set (tenant, container, name) VALUES (?, ?, ?)',
  );
  const removeUnused = rows<[number, Uint8Array, number, Uint8Array]>(
    `DELETE FROM container_set WHERE tenant = +? AND name = +?
       AND NOT EXISTS (SELECT 1 FROM token_index WHERE tenant = +? AND blind = +?)`,
  );
  const hasEntries = value<[number, Uint8Array], number>(
    'SELECT EXISTS (SELECT 1 FROM token_index WHERE tenant = +? AND blind = +?)',
  );

  /** Returns the members of the set with this name, or the blind index itself if it is not a set's name. */
  function members(tenant: number, blind: Uint8Array): readonly Uint8Array[] {
    const found = membersOf().all(tenant, blind).map(storedBytes);
    return found.length === 0 ? [blind] : found;
  }

  return {
    members,

    /**
     * Returns the blind indexes for the index entries of a token with these containers: the name of their set, which is
     * added if it is new, or the containers themselves.
     */
    entriesOf(tenant: number, containers: readonly Uint8Array[]): readonly Uint8Array[] {
      if (containers.length < 2) return containers;
      const name = nameOf(containers);
      if (membersOf().get(tenant, name) !== undefined) return [name];
      if (containers.some((container) => (countSets().get(tenant, container) ?? 0) >= MAX_SETS)) return containers;
      for (const container of containers) insert().run(tenant, container, name);
      return [name];
    },

    /** Removes the set with this name if it has no more tokens. Does nothing for other blind indexes. */
    removeUnused(tenant: number, blind: Uint8Array): void {
      removeUnused().run(tenant, blind, tenant, blind);
    },

    /**
     * Returns all blind indexes whose entries must be searched for this one: itself and the sets that contain it. No
     * token has entries under two of them.
     */
    searched(tenant: number, blind: Uint8Array): readonly Uint8Array[] {
      const sets = setsOf().all(tenant, blind).map(storedBytes);
      return sets.length === 0 || hasEntries().get(tenant, blind) === 1 ? [blind, ...sets] : sets;
    },
  };
}

function nameOf(containers: readonly Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat([...containers].sort(Buffer.compare)), 'buffer').subarray(0, BLIND_LENGTH);
}
