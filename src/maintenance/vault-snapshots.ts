import { findBegunPrune } from '../core/audit/checkpoint.ts';
import { BrokenAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { FileStore, PruneMark, SignedFacts, SnapshotFacts, SnapshotFolder } from '../core/maintenance-ports.ts';
import type { Keyring } from '../core/ports.ts';
import { formatInstant } from '../core/time.ts';
import { type KeyHolder, tenantIds } from './key-holder.ts';

/** A snapshot as commands print it. */
export interface Snapshot {
  readonly name: string;
  readonly saved_at: string;
  readonly tokens: number;
  readonly bytes: number;
}

/** A snapshot in a list. `refused` is the reason why it cannot be loaded. */
export type ListedSnapshot = Pick<Snapshot, 'name' | 'bytes'> & Partial<Snapshot> & { readonly refused?: string };

export interface VaultSnapshotsParts extends KeyHolder {
  readonly store: FileStore;
  readonly vault_id: string;
  readonly folder: SnapshotFolder;
}

/**
 * A snapshot name. It is in lower case, since some disks ignore case. The pattern excludes the names that Windows
 * reserves for devices.
 */
const NAME = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9_-]{0,63}$/;

/** Throws the fault `usage` for an invalid snapshot name. */
export function checkSnapshotName(name: string): void {
  if (NAME.test(name)) return;
  throw new Fault('usage', 'a snapshot name must be 1 to 64 lower-case letters, digits, - and _');
}

/** Returns the functions that save, list, load and delete snapshots, and empty a vault. */
export function vaultSnapshots(parts: VaultSnapshotsParts) {
  const { store, keyring, clock, audit, vault_id, folder } = parts;

  /** Resolves to the size of a snapshot in bytes. Throws `not_found`. */
  async function existing(name: string): Promise<number> {
    checkSnapshotName(name);
    const bytes = await folder.check(name);
    if (bytes !== undefined) return bytes;
    throw new Fault('not_found', `there is no snapshot ${name}`, { hint: 'list them with `vault snapshot list`' });
  }

  const verify = (name: string) => (facts: SignedFacts) => {
    if (facts.vault_id !== vault_id) throw new Fault('damaged', `the snapshot ${name} belongs to another vault`);
    if (facts.name !== name || Buffer.compare(macOf(keyring, facts), facts.mac) !== 0) {
      throw new Fault('damaged', `the snapshot ${name} was altered`);
    }
  };

  const prunedMark = () =>
    findBegunPrune(parts).catch((error: unknown) => {
      throw error instanceof BrokenAudit ? new Fault('damaged', error.message, { cause: error }) : error;
    });

  async function show(name: string, loadable: PruneMark | false = false): Promise<Snapshot & ListedSnapshot> {
    const bytes = await existing(name);
    const options = { verify: verify(name), loadable };
    const { facts, tokens, refusal } = await store.inspectSnapshot(folder.pathOf(name), options);
    const saved_at = formatInstant(facts.saved_at);
    return { name, saved_at, tokens, bytes, ...(refusal !== undefined && { refused: refusal }) };
  }

  return {
    /** Saves a snapshot. Throws `file_exists` if the name is in use and `replace` is false. */
    async save(name: string, { replace }: { readonly replace: boolean }): Promise<Snapshot> {
      checkSnapshotName(name);
      await store.ping();
      await folder.prepare();
      const saved_at = clock.now();
      const sign = ({ sequence, link }: Pick<SnapshotFacts, 'sequence' | 'link'>): SignedFacts => {
        const facts = { vault_id, name, saved_at, sequence, link };
        return { ...facts, mac: macOf(keyring, facts) };
      };
      await store.saveSnapshot(folder.pathOf(name), { replace, sign }).catch((error: unknown) => {
        if (!(error instanceof Fault) || error.code !== 'file_exists') throw error;
        throw new Fault('file_exists', `snapshot ${name} already exists`, {
          hint: 'pass --replace to overwrite it',
          cause: error,
        });
      });
      return show(name);
    },

    /** Lists the snapshots by name. */
    async list(): Promise<readonly ListedSnapshot[]> {
      const snapshots: ListedSnapshot[] = [];
      const loadable = await prunedMark();
      for (const name of (await folder.names()).filter((found) => NAME.test(found))) {
        const listed = show(name, loadable).catch((error: unknown): ListedSnapshot => {
          if (!(error instanceof Fault)) throw error;
          return { name, bytes: 0, refused: error.message };
        });
        snapshots.push(await listed);
      }
      return snapshots;
    },

    /** Loads a snapshot. Throws `not_found`, `damaged`, or `conflict` for a snapshot that this vault cannot load. */
    async load(name: string): Promise<Snapshot> {
      await existing(name);
      const entry = ({ sequence }: SignedFacts, tenants: readonly string[]) =>
        audit.draft({ action: 'loadSnapshot', status: 200, revision: sequence, entities: [name, ...tenants] });
      const options = { verify: verify(name), pruned: await prunedMark(), audit: entry };
      await store.loadSnapshot(folder.pathOf(name), options);
      return show(name);
    },

    /** Deletes a snapshot. Throws `not_found`. */
    async delete(name: string): Promise<void> {
      await existing(name);
      await folder.remove(name);
    },

    /**
     * Removes all tokens of one tenant or of all tenants, and returns their number. Throws `not_found` for an unknown
     * tenant.
     */
    async reset(tenantId: string | undefined): Promise<number> {
      const entry = (tenant_id: string) => audit.draft({ action: 'resetTokens', status: 200, tenant_id, entities: [] });
      return store.removeAllTokens(await tenantIds(store, tenantId), entry);
    },
  };
}

/** Returns a MAC over the whole description of a snapshot, under a key that a new master key does not replace. */
function macOf(keyring: Keyring, { vault_id, name, saved_at, sequence, link }: SnapshotFacts): Uint8Array {
  const words = ['token-vault snapshot', vault_id, name, saved_at, sequence, Buffer.from(link).toString('hex')];
  return keyring.anchorMac(words.join('\n'));
}
