import { setTimeout as sleep } from 'node:timers/promises';
import { lastEvents, type PlacedEvent, walkAudit } from '../core/audit/walk-audit.ts';
import { untilSwapped } from '../core/compare-and-swap.ts';
import { Fault } from '../core/fault.ts';
import type { Finding } from '../core/maintenance-ports.ts';
import type { VaultHeader } from '../core/ports.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';
import { formatInstant } from '../core/time.ts';
import type { Credential } from '../keyring/credential.ts';
import { requireStrongPassphrase } from '../keyring/new-credential.ts';
import { type CheckReport, checkVault } from '../maintenance/check-vault.ts';
import { headerEvent } from '../maintenance/header-event.ts';
import { type AnchorParts, compareWithAnchor } from '../maintenance/keep-anchor.ts';
import { type KeyStatus, keyStatus } from '../maintenance/key-status.ts';
import { type Progress, type RotatedTenant, rotateTenant } from '../maintenance/rotate-tenant.ts';
import { type KeyHolderOptions, type KeyHolderParts, openForKeyHolder } from './key-holder.ts';

/** One way to open the vault, as people see it. */
export interface Slot {
  readonly slot: number;
  readonly kind: Credential['kind'];
  readonly created_at: string;
  /** The one that the credential at hand opens. */
  readonly current: boolean;
}

export interface RotateOptions {
  /** One tenant only. */
  readonly tenantId?: string | undefined;
  /** Index keys too: fingerprints change. */
  readonly indexes: boolean;
  /** A new master key first. */
  readonly master: boolean;
}

export interface RotateResult {
  readonly generation: number;
  /** Slots that a new master key has closed. */
  readonly removed_slots: readonly number[];
  readonly tenants: readonly RotatedTenant[];
}

/** What whoever holds a vault's key does with its keys and its file, below the API. Other processes may serve the file. */
export interface VaultAdmin {
  slots(): Promise<readonly Slot[]>;
  /** Throws the faults `conflict` when all slots are taken, `weak_passphrase`. */
  addSlot(credential: Credential, options: { readonly allowWeak: boolean }): Promise<Slot>;
  isOpenedBy(credential: Credential): Promise<boolean>;
  /** Answers what was removed. Throws the faults `conflict` for the last slot, `not_found` for one that there is not. */
  removeSlot(slot: number): Promise<Slot>;
  status(): Promise<KeyStatus>;
  rotate(options: RotateOptions, progress?: Progress): Promise<RotateResult>;
  check(progress?: Progress): Promise<CheckReport>;
  /** The last entries that `wanted` takes, newest first. */
  lastEvents(wanted: (placed: PlacedEvent) => boolean, limit: number): Promise<readonly PlacedEvent[]>;
  /** All entries, oldest first. Throws `BrokenAudit` at the first that is not as it was written. */
  events(): AsyncGenerator<PlacedEvent>;
  /** Throws the fault `damaged` when the vault is not where the anchor says, or further, and when there is no anchor. */
  compareWithAnchor(anchor: string): Promise<void>;
  close(): Promise<void>;
}

export type OpenAdminOptions = KeyHolderOptions;

/** Another process changes the header rarely, and an attempt may derive a key of a passphrase: a few are many. */
const MAX_TRIES = 5;

/** A batch that waited for a lock seems long; nobody gains by waiting as long again. */
const MAX_REST_MS = 20;

/** Throws what `openVault` throws. */
export async function openVaultAdmin(options: OpenAdminOptions): Promise<VaultAdmin> {
  return composeVaultAdmin(await openForKeyHolder(options), options.credential);
}

function composeVaultAdmin(
  { store, keyring, clock, audit, close }: KeyHolderParts,
  credential: Credential,
): VaultAdmin {
  async function slotsOf(header: VaultHeader): Promise<readonly Slot[]> {
    const [{ listSlots }, { openSlot }] = await Promise.all([
      import('../keyring/slots.ts'),
      import('../keyring/unlock-master-key.ts'),
    ]);
    const { master, slot: current } = await openSlot(header, credential);
    master.fill(0);
    return listSlots(header).map(({ slot, kind, created_at }) => {
      return { slot, kind, created_at: formatInstant(created_at), current: slot === current };
    });
  }

  /** Applies a change of the slots to the header that is there when it is written. */
  async function changeSlots(
    action: 'addSlot' | 'removeSlot',
    change: (header: VaultHeader, master: Uint8Array) => Promise<VaultHeader>,
  ): Promise<readonly [VaultHeader, VaultHeader]> {
    const { unlockMasterKey } = await import('../keyring/unlock-master-key.ts');
    return untilSwapped(async () => {
      const before = await store.header();
      const master = await unlockMasterKey(before, credential);
      try {
        const after = await change(before, master);
        const entry = audit.draft(headerEvent(action, after));
        return (await store.replaceHeader(after, before, entry)) ? ([before, after] as const) : undefined;
      } finally {
        master.fill(0);
      }
    }, MAX_TRIES);
  }

  async function replaceMaster(): Promise<readonly number[]> {
    const { replaceMasterKey } = await import('../keyring/replace-master-key.ts');
    return untilSwapped(async () => {
      const before = await store.header();
      const keys = (await store.listTenants()).map(({ tenant, keys }) => ({ tenant_id: tenant.id, keys }));
      const { header, tenants } = await replaceMasterKey(before, credential, keys, clock.now());
      const entry = audit.draft(headerEvent('replaceMasterKey', header));
      if (!(await store.replaceMasterKey(header, before, tenants, entry))) return undefined;
      await keyring.refresh();
      const kept = new Set(header.slots.map(({ slot }) => slot));
      return before.slots.map(({ slot }) => slot).filter((slot) => !kept.has(slot));
    }, MAX_TRIES);
  }

  async function tenantIds(tenantId: string | undefined): Promise<readonly string[]> {
    const ids = (await store.listTenants()).map(({ tenant }) => tenant.id);
    if (tenantId === undefined) return ids;
    const wanted = tenantId.toLowerCase();
    if (ids.includes(wanted)) return [wanted];
    throw noSuchTenant();
  }

  return {
    slots: async () => slotsOf(await store.header()),

    async addSlot(added, { allowWeak }) {
      const { addSlot } = await import('../keyring/slots.ts');
      const [before, after] = await changeSlots('addSlot', (header, master) =>
        addSlot(header, master, added, { now: clock.now(), allowWeak }),
      );
      const taken = new Set(before.slots.map(({ slot }) => slot));
      return required((await slotsOf(after)).find(({ slot }) => !taken.has(slot)));
    },

    async isOpenedBy(asked) {
      const { findSlot } = await import('../keyring/slots.ts');
      return (await findSlot(await store.header(), asked)) !== undefined;
    },

    async removeSlot(number) {
      const { removeSlot } = await import('../keyring/slots.ts');
      const shown = await slotsOf(await store.header());
      await changeSlots('removeSlot', (header, master) => removeSlot(header, master, number));
      return required(shown.find(({ slot }) => slot === number));
    },

    status: () => keyStatus(store),

    async rotate({ tenantId, indexes, master }, progress = () => undefined) {
      const ids = await tenantIds(tenantId);
      const removed_slots = master ? await replaceMaster() : [];
      const tenants: RotatedTenant[] = [];
      const parts = { store, keyring, clock, audit, rest: restBetweenBatches() };
      const rotateOne = (id: string) => rotateTenant(parts, id, { indexes }, progress);
      for (const id of ids) {
        const rotated = await rotateOne(id);
        // A key that an unfinished run had made was once wrapped by the former master key.
        const last = rotated?.resumed && master ? await rotateOne(id) : rotated;
        if (last !== undefined) tenants.push(last);
        else if (tenantId !== undefined) throw noSuchTenant();
      }
      return { generation: (await store.header()).generation, removed_slots, tenants };
    },

    check: (progress) => checkVault({ store, keyring }, progress),
    lastEvents: (wanted, limit) => lastEvents({ store, keyring }, wanted, limit),
    events: () => walkAudit({ store, keyring }),
    compareWithAnchor: (anchor) => compareWithAnchorFile({ store, keyring }, anchor),
    close,
  };
}

/** Whoever compares and changes nothing counts on an anchor that is there: without one, an older copy passes for the vault. */
async function compareWithAnchorFile(parts: AnchorParts, anchor: string): Promise<void> {
  const { anchorFile } = await import('./system-anchor-file.ts');
  if ((await compareWithAnchor(parts, anchorFile(anchor))) !== undefined) return;
  throw new Fault('damaged', `there is no anchor at ${anchor}: nothing says how far the vault had come`, {
    hint: 'the first command that opens the vault with --anchor makes one',
  });
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('unreachable: the slot is in the header');
  return value;
}

/** What a new passphrase is refused for, before anything is made: throws `weak_passphrase`. */
export function checkNewPassphrase(passphrase: string, allowWeak: boolean): void {
  requireStrongPassphrase(passphrase, allowWeak);
}

/** Everything that `vault doctor` checks. A vault that cannot even be opened is a finding, too. */
export async function checkVaultFile(
  { file, credential, anchor }: OpenAdminOptions & { readonly anchor?: string | undefined },
  progress?: Progress,
): Promise<CheckReport> {
  const [{ openVaultFile }, { unlockKeyring }] = await Promise.all([
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../keyring/unlock-master-key.ts'),
  ]);
  let opened: Awaited<ReturnType<typeof openVaultFile>> | undefined;
  const findings: Finding[] = [];
  const found = (table: string) => (error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'damaged') throw error;
    findings.push({ table, id: '', what: error.message });
  };
  let checked: CheckReport['checked'] = { tenants: 0, applications: 0, tokens: 0, audit_entries: 0 };
  try {
    opened = await openVaultFile(file);
    const { store, header } = opened;
    const keyring = await unlockKeyring(header, credential);
    if (anchor !== undefined) await compareWithAnchorFile({ store, keyring }, anchor).catch(found('change'));
    const report = await checkVault({ store, keyring }, progress);
    findings.push(...report.findings);
    checked = report.checked;
  } catch (error) {
    found(opened === undefined ? 'file' : 'header')(error);
  } finally {
    await opened?.store.close();
  }
  return { ok: findings.length === 0, checked, findings };
}

export interface CopyOptions {
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
  return verified(from, (verify) => backUpVaultFile(from, to, verify), credential, progress);
}

/** Makes a vault of a backup. An existing file is never touched, and a backup that is damaged makes none. */
export async function restoreVault({ from, to, credential }: CopyOptions, progress?: Progress): Promise<CheckReport> {
  const { restoreVaultFile } = await import('../store/sqlite/file/back-up-file.ts');
  return verified(from, (verify) => restoreVaultFile(from, to, verify), credential, progress);
}

/** Errors name `from`: the name that the copy has while it is checked is nobody's business. */
async function verified(
  from: string,
  copy: (verify: (building: string) => Promise<void>) => Promise<void>,
  credential: Credential,
  progress: Progress | undefined,
): Promise<CheckReport> {
  let report: CheckReport | undefined;
  await copy(async (building) => {
    const renamed = (text: string) => text.replaceAll(building, () => from);
    report = await checkVaultFile({ file: building, credential }, progress).catch((error: unknown) => {
      if (!(error instanceof Fault) || !error.message.includes(building)) throw error;
      throw new Fault(error.code, renamed(error.message), {
        ...(error.hint !== undefined && { hint: renamed(error.hint) }),
        cause: error,
      });
    });
    const [first] = report.findings;
    if (first !== undefined) {
      const found = renamed([first.table, first.id, first.what].filter(Boolean).join(' '));
      throw new Fault('damaged', `no copy was made: ${found}`, {
        hint: '`vault doctor` on the source names all that is damaged',
      });
    }
  });
  if (report === undefined) throw new Error('unreachable: the copy was checked');
  return report;
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
