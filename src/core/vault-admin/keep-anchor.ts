import { START } from '../audit/walk-audit.ts';
import type { AnchorNote } from '../maintenance-ports.ts';
import type { Keyring, Store } from '../ports.ts';
import { checkAnchor, type Reached, readAnchor, writeAnchor } from './anchor.ts';

/** How often the anchor follows the commits, in milliseconds: so much can be cut unnoticed after a crash. */
const EVERY_MS = 1000;

export interface AnchorParts {
  readonly store: Store;
  readonly keyring: Keyring;
}

/**
 * Throws `damaged` when the vault is not where its anchor says, or further. A missing anchor says nothing. Resolves to the
 * anchor as it is.
 */
export async function compareWithAnchor(
  { store, keyring }: AnchorParts,
  note: AnchorNote,
): Promise<string | undefined> {
  const text = await note.read();
  const { vault_id } = await store.header();
  if (text === undefined) return undefined;
  const said = readAnchor(keyring, vault_id, text);
  const { sequence } = said.audit;
  const [entry] = sequence === 0 ? [] : await store.readAudit(sequence - 1, 1);
  checkAnchor(said, { change: await store.lastChange(), audit: entry ?? START });
  return text;
}

/** What is read first is not ahead of what is read second: the anchor never says more than there is. */
async function reachedBy(store: Store): Promise<Reached> {
  return { audit: await store.auditHead(), change: await store.lastChange() };
}

/**
 * Compares the vault with its anchor, then writes the anchor every second and, with `close`, at the end. What it says is
 * on disk in the vault before it is read here, so a crash never leaves the anchor ahead of the vault.
 */
export async function keepAnchor(parts: AnchorParts, note: AnchorNote): Promise<{ close(): Promise<void> }> {
  const { store, keyring } = parts;
  // An anchor that is right is left alone: on a full disk, reads go on.
  let written = await compareWithAnchor(parts, note);
  const { vault_id } = await store.header();

  async function follow(): Promise<void> {
    const text = writeAnchor(keyring, vault_id, await reachedBy(store));
    if (text === written) return;
    await note.write(text);
    written = text;
  }

  await follow();
  let following: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // An anchor that cannot be written for a while is only older: the next turn tries again.
    following = following.then(follow).catch(() => undefined);
  }, EVERY_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await following;
      await follow();
    },
  };
}
