import { existsSync, lstatSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Fault } from '../core/fault.ts';
import type { SignedFacts, SnapshotFacts } from '../core/maintenance-ports.ts';
import type { Keyring } from '../core/ports.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';
import { formatInstant } from '../core/time.ts';
import { type KeyHolderOptions, openForKeyHolder } from './key-holder.ts';

/** A snapshot as people see it. */
export interface Snapshot {
  readonly name: string;
  readonly saved_at: string;
  readonly tokens: number;
  readonly bytes: number;
}

/** The same in a list, where one that cannot be loaded stands with the reason. */
export type ListedSnapshot = Pick<Snapshot, 'name' | 'bytes'> & Partial<Snapshot> & { readonly refused?: string };

/** The states that a vault can go back to, and the empty one. Other processes may serve the file. */
export interface VaultSnapshots {
  /** Throws `file_exists` unless `replace`. */
  save(name: string, options: { readonly replace: boolean }): Promise<Snapshot>;
  /** By name. */
  list(): Promise<readonly ListedSnapshot[]>;
  /** Throws `not_found`, `damaged`, and `conflict` for one that this vault cannot go back to. */
  load(name: string): Promise<Snapshot>;
  /** Throws `not_found`. */
  delete(name: string): Promise<void>;
  /** Removes all tokens, of one tenant or of all; answers how many. Throws `not_found` for a tenant that there is not. */
  reset(tenantId: string | undefined): Promise<number>;
  close(): Promise<void>;
}

/** Lower case, since not every disk tells cases apart; none of the names that Windows keeps for devices. */
const NAME = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9_-]{0,63}$/;
const SUFFIX = '.db';

/** The name that a snapshot has while it is built, and the file that SQLite may keep beside it. */
const LEFTOVER = /^\..+\.new(?:-journal)?$/;
const LEFTOVER_AGE_MS = 60 * 60 * 1000;

/** Throws the fault `usage` for a name that a snapshot cannot have. */
export function checkSnapshotName(name: string): void {
  if (NAME.test(name)) return;
  throw new Fault('usage', 'the name of a snapshot is 1 to 64 lower-case letters, digits, - and _');
}

const folderOf = (file: string): string => `${resolve(file)}.snapshots`;

/** How many snapshots the vault can go back to as its keys are now. Throws what `openVault` throws. */
export async function countLoadableSnapshots(options: KeyHolderOptions): Promise<number> {
  if (!existsSync(folderOf(options.file))) return 0;
  const snapshots = await openVaultSnapshots(options);
  try {
    return (await snapshots.list()).filter(({ refused }) => refused === undefined).length;
  } finally {
    await snapshots.close();
  }
}

/** Throws what `openVault` throws. */
export async function openVaultSnapshots(options: KeyHolderOptions): Promise<VaultSnapshots> {
  const file = resolve(options.file);
  const folder = folderOf(file);
  const { header, store, keyring, clock, audit, close } = await openForKeyHolder({ ...options, file });
  const { vault_id } = header;

  const pathOf = (name: string): string => {
    checkSnapshotName(name);
    return join(folder, name + SUFFIX);
  };

  async function existing(name: string): Promise<string> {
    const path = pathOf(name);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      throw new Fault('not_found', `there is no snapshot ${name}`, { hint: '`vault snapshot list` shows them' });
    }
    const { checkFile } = await import('../store/sqlite/file/check-file.ts');
    checkFile(path);
    return path;
  }

  const verify = (name: string) => (facts: SignedFacts) => {
    if (facts.vault_id !== vault_id) throw new Fault('damaged', `the snapshot ${name} is of another vault`);
    if (facts.name !== name || Buffer.compare(macOf(keyring, facts), facts.mac) !== 0) {
      throw new Fault('damaged', `the snapshot ${name} is not as it was written`);
    }
  };

  async function show(name: string, { loadable }: { readonly loadable: boolean }): Promise<Snapshot & ListedSnapshot> {
    const path = await existing(name);
    const { facts, tokens, refusal } = await store.inspectSnapshot(path, { verify: verify(name), loadable });
    const { size: bytes } = await stat(path);
    return {
      name,
      saved_at: formatInstant(facts.saved_at),
      tokens,
      bytes,
      ...(refusal !== undefined && { refused: refusal }),
    };
  }

  return {
    async save(name, { replace }) {
      const target = pathOf(name);
      await store.ping();
      await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
      await checkFolder(folder);
      await removeLeftovers(folder);
      const saved_at = clock.now();
      const sign = (head: Pick<SnapshotFacts, 'sequence' | 'link'>): SignedFacts => {
        const facts = { vault_id, name, saved_at, sequence: head.sequence, link: head.link };
        return { ...facts, mac: macOf(keyring, facts) };
      };
      await store.saveSnapshot(target, { replace, sign }).catch((error: unknown) => {
        if (!(error instanceof Fault) || error.code !== 'file_exists') throw error;
        throw new Fault('file_exists', `there is a snapshot ${name}`, {
          hint: '--replace saves over it',
          cause: error,
        });
      });
      return show(name, { loadable: false });
    },

    async list() {
      const names = (await readdir(folder).catch(noFolder)).filter((entry) => entry.endsWith(SUFFIX));
      const snapshots: ListedSnapshot[] = [];
      for (const name of names.map((entry) => entry.slice(0, -SUFFIX.length)).sort()) {
        if (NAME.test(name)) snapshots.push(await show(name, { loadable: true }).catch(refused(name)));
      }
      return snapshots;
    },

    async load(name) {
      const path = await existing(name);
      const entry = ({ sequence }: SignedFacts) =>
        audit.draft({ action: 'loadSnapshot', status: 200, revision: sequence, entities: [name] });
      await store.loadSnapshot(path, { verify: verify(name), audit: entry });
      return show(name, { loadable: false });
    },

    async delete(name) {
      await rm(await existing(name));
    },

    async reset(tenantId) {
      const ids = (await store.listTenants()).map(({ tenant }) => tenant.id);
      const wanted = tenantId === undefined ? ids : ids.filter((id) => id === tenantId.toLowerCase());
      if (tenantId !== undefined && wanted.length === 0) throw noSuchTenant();
      const entry = (tenant_id: string) => audit.draft({ action: 'resetTokens', status: 200, tenant_id, entities: [] });
      return store.removeAllTokens(wanted, entry);
    },
    close,
  };
}

/** Over all that a snapshot says of itself, under a key that outlives the master key. */
function macOf(keyring: Keyring, { vault_id, name, saved_at, sequence, link }: SnapshotFacts): Uint8Array {
  const words = ['token-vault snapshot', vault_id, name, saved_at, sequence, Buffer.from(link).toString('hex')];
  return keyring.anchorMac(words.join('\n'));
}

/** What a save that was killed has left: it is sealed, but takes room. One that is under way is younger. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (!LEFTOVER.test(entry)) continue;
    const path = join(folder, entry);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) await rm(path, { force: true });
  }
}

function refused(name: string): (error: unknown) => ListedSnapshot {
  return (error) => {
    if (!(error instanceof Fault)) throw error;
    return { name, bytes: 0, refused: error.message };
  };
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) === 'EEXIST') return;
  throw new Fault('file_unwritable', 'the folder of the snapshots cannot be made', { cause: error });
}

/** Whoever else may write there could put a snapshot in another's place. */
async function checkFolder(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Fault('file_unsafe', `${folder} is not a folder`);
  // Windows keeps owners and rights elsewhere.
  const user = process.getuid?.();
  if (user !== undefined && (found.uid !== user || (found.mode & 0o077) !== 0)) {
    throw new Fault('file_unsafe', `${folder} is open to other users`, { hint: `chmod 700 ${folder}` });
  }
}

function noFolder(error: unknown): readonly string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
