import type { TokenIndexes } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { BLIND_LENGTH } from '../file/schema.ts';
import type { ContainerSets } from './container-sets.ts';

/** The functions for the table `token_index`, which has an entry for each blind index of a token. */
export type TokenIndex = ReturnType<typeof tokenIndex>;

interface Entry {
  readonly tenant: number;
  readonly token: number;
  readonly created_at: number;
}

export function tokenIndex(connection: Connection, sets: ContainerSets) {
  const { rows } = statements(connection);
  const insert = rows<[number, Buffer, number, number]>(
    'INSERT INTO token_index (tenant, blind, created_at, token) VALUES (?, ?, ?, ?)',
  );
  const remove = rows<[number, Buffer, number, number]>(
    'DELETE FROM token_index WHERE tenant = +? AND blind = +? AND created_at = +? AND token = +?',
  );

  function removeOne({ tenant, created_at, token }: Entry, blind: Buffer): void {
    remove().run(tenant, blind, created_at, token);
    sets.removeUnused(tenant, blind);
  }

  return {
    /** Returns the value of `token.blinds`: the fingerprint's blind index, then the others, without repetitions. */
    blindsOf: (tenant: number, { fingerprint, containers = [], others }: TokenIndexes): Buffer =>
      joinBlinds([fingerprint, ...sets.entriesOf(tenant, containers), ...others]),

    /** Replaces the entries of `before` with those of `after`. Writes only the differences. */
    replace(entry: Entry, before: Buffer, after: Buffer): void {
      const kept = new Set(splitBlinds(after).map(bytesKey));
      const had = new Set(splitBlinds(before).map(bytesKey));
      for (const blind of splitBlinds(before)) {
        if (!kept.has(bytesKey(blind))) removeOne(entry, blind);
      }
      for (const blind of splitBlinds(after)) {
        if (!had.has(bytesKey(blind))) insert().run(entry.tenant, blind, entry.created_at, entry.token);
      }
    },

    insert(entry: Entry, blinds: Buffer): void {
      for (const blind of splitBlinds(blinds)) insert().run(entry.tenant, blind, entry.created_at, entry.token);
    },

    remove(entry: Entry, blinds: Buffer): void {
      for (const blind of splitBlinds(blinds)) removeOne(entry, blind);
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

function bytesKey(blind: Buffer): string {
  return blind.toString('latin1');
}
