import type { TokenIndexes } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { BLIND_LENGTH } from '../file/schema.ts';
import type { ContainerSets } from './container-sets.ts';
import type { TokenEntries } from './token-rows.ts';

/** The functions for the table `token_index`, which has an entry for each blind index of a token. */
export type TokenIndex = ReturnType<typeof tokenIndex>;

/** The results of `ContainerSets.entriesOf` in one transaction, by the list of containers; all of one tenant. */
export type KnownEntries = Map<string, ReturnType<ContainerSets['entriesOf']>>;

/** The columns of `token` that its entries repeat. */
interface Entry {
  readonly tenant: number;
  readonly token: number;
  readonly created_at: number;
}

export function tokenIndex(connection: Connection, sets: ContainerSets) {
  const { rows } = statements(connection);
  const insert = rows<[number, Buffer, number, number, number]>(
    'INSERT INTO token_index (tenant, blind, set_number, created_at, token) VALUES (?, ?, ?, ?, ?)',
  );
  const remove = rows<[number, Buffer, number, number, number]>(
    `DELETE FROM token_index
       WHERE tenant = +? AND blind = +? AND set_number = +? AND created_at = +? AND token = +?`,
  );

  function insertOne({ tenant, created_at, token }: Entry, blind: Buffer, set: number): void {
    insert().run(tenant, blind, set, created_at, token);
  }

  function removeOne({ tenant, created_at, token }: Entry, blind: Buffer, set: number): void {
    remove().run(tenant, blind, set, created_at, token);
    sets.removeUnused(tenant, blind);
  }

  return {
    /**
     * Returns the entries of a token: the fingerprint's blind index, then the others, without repetitions. `known` has
     * the entries of container lists in this transaction.
     */
    entriesOf(
      tenant: number,
      { fingerprint, containers = [], others }: TokenIndexes,
      known: KnownEntries,
    ): TokenEntries {
      const list = containers.map(bytesKey).join('');
      const found = known.get(list) ?? sets.entriesOf(tenant, containers);
      known.set(list, found);
      return { blinds: joinBlinds([fingerprint, ...found.blinds, ...others]), set_number: found.set_number };
    },

    /** Replaces the entries of `before` with those of `after`. Writes only the differences. Replace the row first. */
    replace(entry: Entry, before: TokenEntries, after: TokenEntries): void {
      const isMoved = before.set_number !== after.set_number;
      const keysOf = ({ blinds }: TokenEntries) => new Set(isMoved ? [] : splitBlinds(blinds).map(bytesKey));
      const [had, kept] = [keysOf(before), keysOf(after)];
      for (const blind of splitBlinds(before.blinds)) {
        if (!kept.has(bytesKey(blind))) removeOne(entry, blind, before.set_number);
      }
      for (const blind of splitBlinds(after.blinds)) {
        if (!had.has(bytesKey(blind))) insertOne(entry, blind, after.set_number);
      }
      if (isMoved) sets.removeUnusedNumber(entry.tenant, before.set_number);
    },

    insert(entry: Entry, { blinds, set_number }: TokenEntries): void {
      for (const blind of splitBlinds(blinds)) insertOne(entry, blind, set_number);
    },

    /** Removes all entries of a token. The row is removed first. */
    remove(entry: Entry, { blinds, set_number }: TokenEntries): void {
      for (const blind of splitBlinds(blinds)) removeOne(entry, blind, set_number);
      sets.removeUnusedNumber(entry.tenant, set_number);
    },
  };
}

/** Joins blind indexes to a value of `token.blinds`, without repetitions. */
export function joinBlinds(blinds: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafe(blinds.length * BLIND_LENGTH);
  const distinct = new Set<string>();
  for (const blind of blinds) {
    if (blind.length !== BLIND_LENGTH) throw new RangeError(`a blind index must have ${BLIND_LENGTH} bytes`);
    const end = distinct.size * BLIND_LENGTH;
    joined.set(blind, end);
    distinct.add(joined.toString('latin1', end, end + BLIND_LENGTH));
  }
  return joined.subarray(0, distinct.size * BLIND_LENGTH);
}

/** Splits `token.blinds` into blind indexes. Throws `integrity_failure` if the value is not a blob. */
export function splitBlinds(blinds: Buffer): readonly Buffer[] {
  if (!Buffer.isBuffer(blinds)) throw new Problem('integrity_failure');
  const parts: Buffer[] = [];
  for (let at = 0; at < blinds.length; at += BLIND_LENGTH) parts.push(blinds.subarray(at, at + BLIND_LENGTH));
  return parts;
}

function bytesKey({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
