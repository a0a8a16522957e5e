import type { MovePlace } from '../core/move-ports.ts';
import type { Credential } from '../keyring/credential.ts';
import { unlockKeyring } from '../keyring/unlock-master-key.ts';
import * as moving from '../maintenance/move-vault.ts';
import type { VaultPlace } from './place.ts';

/** The places of a move. The vault may not be in both. */
export interface MovePlaces {
  readonly from: VaultPlace;
  readonly to: VaultPlace;
  /** The role of the daemons of a target in a database, which may use the tables but not change them. */
  readonly grant?: string | undefined;
}

/**
 * Moves or copies a vault as `moveVault` of src/maintenance does. One credential opens both places. A move that
 * lacks only its last step needs none.
 */
export async function moveVault(
  { from, to, grant }: MovePlaces,
  { readCredential, ...options }: moving.MoveOptions & { readonly readCredential: () => Promise<Credential> },
): Promise<moving.Moved | undefined> {
  const places = await placesOf({ from, to, grant });
  const reading: moving.Moving['readCredential'] = async () => {
    const credential = await readCredential();
    return (header) => unlockKeyring(header, credential);
  };

  return moving.moveVault({ ...places, readCredential: reading }, options);
}

/**
 * Cleans up after a killed move, so that the source serves. Rejects with the fault `conflict` after a complete move.
 */
export async function abortMove(places: MovePlaces): Promise<void> {
  await moving.abortMove(await placesOf(places));
}

async function placesOf({ from, to, grant }: MovePlaces) {
  if (from.file !== undefined && to.file !== undefined) {
    (await import('../store/move/move-file.ts')).assertApart(from.file, to.file);
  }
  return { from: await placeOf(from), to: await placeOf(to, grant) };
}

/** Returns the file or the database for a move. */
export async function placeOf(place: VaultPlace, grant?: string): Promise<MovePlace> {
  if (place.store === undefined) {
    const { movedFile } = await import('../store/move/move-file.ts');
    return movedFile(place.file);
  }
  const { movedStore } = await import('../store/move/move-store.ts');
  return movedStore(place.store.url, { insecure: place.store.insecure, grant });
}
