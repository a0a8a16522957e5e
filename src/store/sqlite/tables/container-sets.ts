import { hash } from 'node:crypto';
import { type Connection, statements } from '../file/driver.ts';
import { BLIND_LENGTH } from '../file/schema.ts';
import { storedBytes } from './columns.ts';

/** The maximum number of sets of one container: a list by it walks the entries of each. */
const MAX_SETS = 16;

/** The table `container_set`: sets of containers that tokens share. Synchronous; writes need a transaction. */
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

  /** Expands a blind index of a token: replaces the name of a set with its members. */
  function members(tenant: number, blind: Uint8Array): readonly Uint8Array[] {
    const found = membersOf().all(tenant, blind).map(storedBytes);
    return found.length === 0 ? [blind] : found;
  }

  return {
    members,

    /**
     * Returns the blind indexes under which a token with these containers has entries: the name of their set, which may
     * be new, or their own.
     */
    entriesOf(tenant: number, containers: readonly Uint8Array[]): readonly Uint8Array[] {
      if (containers.length < 2) return containers;
      const name = nameOf(containers);
      if (membersOf().get(tenant, name) !== undefined) return [name];
      if (containers.some((container) => (countSets().get(tenant, container) ?? 0) >= MAX_SETS)) return containers;
      for (const container of containers) insert().run(tenant, container, name);
      return [name];
    },

    /** Removes the set of this name, if it is one, after its last token. */
    removeUnused(tenant: number, blind: Uint8Array): void {
      removeUnused().run(tenant, blind, tenant, blind);
    },

    /**
     * Returns the blind indexes under which tokens with this one have entries. No token has entries under two of them.
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
