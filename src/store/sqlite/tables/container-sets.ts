import { MAX_SET_NUMBER, nameOf } from '../../rows/container-sets.ts';
import { storedBytes, storedNumber } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { splitBlinds } from './token-index.ts';
import type { TokenEntries } from './token-rows.ts';

/** The maximum number of sets that contain one container. A list by the container walks the entries of each set. */
const MAX_SETS = 16;

/** The blind indexes of `token_index` and the numbered sets under which a list finds tokens. No token is under two. */
export interface Searched {
  readonly blinds: readonly Uint8Array[];
  readonly numbers: readonly number[];
  /** Whether a set contains the blind index. Then no token of a numbered set has an entry under one of `blinds`. */
  readonly isInSet: boolean;
}

/**
 * The functions for the table `container_set`, the sets of containers that tokens share. All are synchronous; writes
 * need a transaction.
 */
export type ContainerSets = ReturnType<typeof containerSets>;

export function containerSets(connection: Connection) {
  const { rows, value } = statements(connection);
  const membersOf = value<[number, Uint8Array], Buffer>(
    'SELECT container FROM container_set WHERE tenant = +? AND name = +? AND number = 0',
  );
  const membersOfNumber = value<[number, number], Buffer>(
    'SELECT container FROM container_set WHERE tenant = +? AND number = +? AND number > 0',
  );
  const numberOf = value<[number, Uint8Array], number>(
    'SELECT number FROM container_set WHERE tenant = +? AND name = +? LIMIT 1',
  );
  const freeNumber = value<[number], number | null>(
    `WITH RECURSIVE n (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n WHERE number < ${MAX_SET_NUMBER})
       SELECT min(number) FROM n WHERE NOT EXISTS (
         SELECT 1 FROM container_set s WHERE s.tenant = +? AND s.number = n.number AND s.number > 0)`,
  );
  const setsOf = rows<[number, Uint8Array], { readonly name: unknown; readonly number: unknown }>(
    'SELECT name, number FROM container_set WHERE tenant = +? AND container = +?',
  );
  const countSets = value<[number, Uint8Array], number>(
    'SELECT count(*) FROM container_set WHERE tenant = +? AND container = +?',
  );
  const insert = rows<[number, Uint8Array, Uint8Array, number]>(
    'INSERT INTO container_set (tenant, container, name, number) VALUES (?, ?, ?, ?)',
  );
  const removeUnused = rows<[number, Uint8Array, number, Uint8Array]>(
    `DELETE FROM container_set WHERE tenant = +? AND name = +? AND number = 0
       AND NOT EXISTS (SELECT 1 FROM token_index WHERE tenant = +? AND blind = +?)`,
  );
  const removeUnusedNumber = rows<[{ readonly tenant: number; readonly number: number }]>(
    `DELETE FROM container_set WHERE tenant = +@tenant AND number = +@number AND number > 0 AND NOT EXISTS
       (SELECT 1 FROM token INDEXED BY token_newest WHERE tenant = +@tenant AND set_number = +@number)`,
  );
  // Each is one search in an index, whatever the number of tokens.
  const firstNumber = value<[number, number, number], number | null>(
    `SELECT min(set_number) FROM token INDEXED BY token_newest
       WHERE tenant = +? AND set_number BETWEEN +? AND +?`,
  );
  const firstEntry = value<[number, Uint8Array, number, number], number | null>(
    'SELECT min(set_number) FROM token_index WHERE tenant = +? AND blind = +? AND set_number BETWEEN +? AND +?',
  );

  /** Adds the set and returns its number, or 0; undefined when a container already has too many sets. */
  function add(tenant: number, name: Uint8Array, containers: readonly Uint8Array[]): number | undefined {
    const number = freeNumber().get(tenant) ?? 0;
    const isFull = (container: Uint8Array) => (countSets().get(tenant, container) ?? 0) >= MAX_SETS;
    if (number === 0 && (containers.length < 2 || containers.some(isFull))) return undefined;
    for (const container of containers) insert().run(tenant, container, name, number);
    return number;
  }

  /**
   * Returns the values of `set_number` of the tenant's tokens, or of those with an entry under `blind`; only those in
   * `within` if it is given.
   */
  function numbersOf(tenant: number, blind?: Uint8Array, within?: readonly number[]): readonly number[] {
    const first = (from: number, to = MAX_SET_NUMBER) =>
      blind === undefined ? firstNumber().get(tenant, from, to) : firstEntry().get(tenant, blind, from, to);
    if (within !== undefined) return within.filter((number) => first(number, number) === number);
    const numbers: number[] = [];
    for (let next = first(0); typeof next === 'number'; next = first(next + 1)) numbers.push(next);
    return numbers;
  }

  /** Returns the blind indexes of a token's entries, in which the members replace the name of a set. */
  function blindsWithoutNames(tenant: number, blinds: Buffer): readonly Uint8Array[] {
    return splitBlinds(blinds).flatMap((blind) => {
      const found = membersOf().all(tenant, blind).map(storedBytes);
      return found.length === 0 ? [blind] : found;
    });
  }

  return {
    numbersOf,
    blindsWithoutNames,

    /** Returns all blind indexes of a token: those of its entries, and the members of its numbered set. */
    allBlinds(tenant: number, { blinds, set_number }: TokenEntries): readonly Uint8Array[] {
      return [...blindsWithoutNames(tenant, blinds), ...membersOfNumber().all(tenant, set_number).map(storedBytes)];
    },

    /**
     * Returns how lists find a token by these containers: by the number of their set, by its name, or by each of them.
     * Adds the set if it is new.
     */
    entriesOf(tenant: number, containers: readonly Uint8Array[]) {
      if (containers.length === 0) return { blinds: containers, set_number: 0 };
      const name = nameOf(containers);
      const number = numberOf().get(tenant, name) ?? add(tenant, name, containers);
      if (number === undefined) return { blinds: containers, set_number: 0 };
      return { blinds: number === 0 ? [name] : [], set_number: number };
    },

    /** Removes the set with this name if it has no more tokens. Does nothing for other blind indexes. */
    removeUnused(tenant: number, blind: Uint8Array): void {
      removeUnused().run(tenant, blind, tenant, blind);
    },

    /** Removes the set with this number if it has no more tokens. Does nothing for 0. */
    removeUnusedNumber(tenant: number, number: number): void {
      if (number > 0) removeUnusedNumber().run({ tenant, number });
    },

    /** Returns where tokens with this blind index are searched: under itself and in the sets that contain it. */
    searched(tenant: number, blind: Uint8Array): Searched {
      const sets = setsOf().all(tenant, blind);
      const names = sets.filter(({ number }) => number === 0).map(({ name }) => storedBytes(name));
      const numbers = sets.map(({ number }) => storedNumber(number)).filter((number) => number > 0);
      const isAlone = sets.length === 0 || numbersOf(tenant, blind, [0]).length > 0;
      return { blinds: isAlone ? [blind, ...names] : names, numbers, isInSet: sets.length > 0 };
    },
  };
}
