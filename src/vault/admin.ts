import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastEvents, type PlacedEvent, walkAudit } from '../core/audit/walk-audit.ts';
import type { VaultHeader } from '../core/ports.ts';
import { type Credential, requireStrongPassphrase } from '../keyring/credential.ts';
import { replaceMasterKey } from '../keyring/replace-master-key.ts';
import { addSlot, findSlot, listSlots, removeSlot } from '../keyring/slots.ts';
import { openSlot, unlockKeyring, unlockMasterKey } from '../keyring/unlock-master-key.ts';
import { checkedCopy, checkFile, type FileReport } from '../maintenance/check-file.ts';
import type { CheckReport } from '../maintenance/check-vault.ts';
import { compareWithAnchor } from '../maintenance/keep-anchor.ts';
import { readLedger } from '../maintenance/ledger.ts';
import type { Progress } from '../maintenance/rotate-tenant.ts';
import { type HeaderKeys, vaultKeys } from '../maintenance/vault-keys.ts';
import { type KeyHolderOptions, openForKeyHolder } from './key-holder.ts';
import { anchorFile } from './system-anchor-file.ts';
import { MACHINE, type Times } from './system-clock.ts';

const STAT = { throwIfNoEntry: false } as const;
const READ_BY_OTHERS = 0o044;

/** A batch that waited for a lock seems long; waiting as long again would help no one. */
const MAX_REST_MS = 20;

/** The work on keys and the file for the holder of a vault's key, below the API. Other processes may serve the file. */
export type VaultAdmin = Awaited<ReturnType<typeof openVaultAdmin>>;

/** Throws what `openVault` throws. */
export async function openVaultAdmin(options: KeyHolderOptions) {
  const opened = await openForKeyHolder(options);
  return {
    ...vaultKeys({ ...opened, headerKeys: headerKeys(options.credential), rest: restBetweenBatches() }),
    /** The last entries that `wanted` takes, newest first. */
    lastEvents: (wanted: (placed: PlacedEvent) => boolean, limit: number) => lastEvents(opened, wanted, limit),
    /** All entries, oldest first. Throws `BrokenAudit` at the first that is not as it was written. */
    events: () => walkAudit(opened),
    /** Returns the end of the audit, and the first entry that does not follow from those before it. Throws `BrokenAudit`. */
    verifyAudit: async () => {
      const { head, entries, denials, bad } = await readLedger(opened);
      return { head, entries, denials, bad: bad.toSorted((a, b) => a.sequence - b.sequence)[0] };
    },
    /** Throws the fault `damaged` when the vault is behind its anchor, and when there is no anchor. */
    compareWithAnchor: (anchor: string) => compareWithAnchor(opened, anchorFile(anchor)),
    close: opened.close,
  };
}

function headerKeys(credential: Credential): HeaderKeys {
  async function withMaster<T>(header: VaultHeader, work: (master: Uint8Array) => Promise<T>): Promise<T> {
    const master = await unlockMasterKey(header, credential);
    try {
      return await work(master);
    } finally {
      master.fill(0);
    }
  }

  return {
    async listSlots(header) {
      const { master, slot: current } = await openSlot(header, credential);
      master.fill(0);
      return listSlots(header).map((slot) => ({ ...slot, current: slot.slot === current }));
    },
    addSlot: (header, added, options) => withMaster(header, (master) => addSlot(header, master, added, options)),
    removeSlot: (header, slot) => withMaster(header, (master) => removeSlot(header, master, slot)),
    isOpenedBy: async (header, asked) => (await findSlot(header, asked)) !== undefined,
    replaceMasterKey: (header, keys, now) => replaceMasterKey(header, credential, keys, now),
  };
}

/** Rejects a new passphrase before anything is made: throws `weak_passphrase`. */
export function checkNewPassphrase(passphrase: string, allowWeak: boolean): void {
  requireStrongPassphrase(passphrase, allowWeak);
}

/** Everything that `vault doctor` checks. A vault that cannot even be opened is a finding, too. */
export async function checkVaultFile(
  {
    file,
    credential,
    anchor,
    times = MACHINE,
  }: KeyHolderOptions & { readonly anchor?: string | undefined; readonly times?: Times },
  progress?: Progress,
): Promise<FileReport> {
  const open = async () => {
    const { openVaultFile } = await import('../store/sqlite/file/open-vault-file.ts');
    const { store, header } = await openVaultFile(file);
    return { store, unlock: () => unlockKeyring(header, credential) };
  };
  const report = await checkFile(open, {
    anchor: anchor === undefined ? undefined : anchorFile(anchor),
    wall: times.wall(),
    progress,
  });
  const isReadable = process.getuid !== undefined && ((statSync(file, STAT)?.mode ?? 0) & READ_BY_OTHERS) !== 0;
  return isReadable ? { ...report, notices: [...report.notices, `${file} is readable by other users`] } : report;
}

interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly credential: Credential;
}

/** Copies a vault that others may be using. The copy is opened and checked before it gets its name. */
export async function backUpVault({ from, to, credential }: CopyOptions, progress?: Progress): Promise<CheckReport> {
  const [{ checkFile }, { backUpVaultFile }] = await Promise.all([
    import('../store/sqlite/file/check-file.ts'),
    import('../store/sqlite/file/back-up-file.ts'),
  ]);
  checkFile(from);
  const check = (file: string) => checkVaultFile({ file, credential }, progress);
  return checkedCopy(from, (verify) => backUpVaultFile(from, to, verify), check);
}

/** Makes a vault of a whole backup. Renames an existing file, with its log, only with `moveAside`. */
export async function restoreVault(
  { from, to, credential, moveAside = false }: CopyOptions & { readonly moveAside?: boolean },
  progress?: Progress,
): Promise<CheckReport> {
  const { restoreVaultFile } = await import('../store/sqlite/file/back-up-file.ts');
  const check = (file: string) => checkVaultFile({ file, credential }, progress);
  return checkedCopy(from, (verify) => restoreVaultFile(from, to, verify, moveAside), check);
}

/**
 * For long work in batches beside a daemon: rests after each batch for as long as that took, so that about half of the time
 * the file's lock, the disk and a processor are others'. Nobody then waits for much more than one batch.
 */
function restBetweenBatches(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    await sleep(Math.min(performance.now() - since, MAX_REST_MS));
    since = performance.now();
  };
}
