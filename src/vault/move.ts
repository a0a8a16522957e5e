import { encodeAuditRow } from '../core/audit/audit-event.ts';
import { linkOf } from '../core/audit/audit-link.ts';
import { findEnd } from '../core/audit/authority-rows.ts';
import type { AuditHead, Witness } from '../core/audit/ports.ts';
import { BrokenAudit } from '../core/audit/walk-audit.ts';
import { isSameBytes } from '../core/bytes.ts';
import { Fault } from '../core/fault.ts';
import type { LastRow, MoveLocation, MoveSource } from '../core/move-ports.ts';
import type { Instant, Keyring } from '../core/ports.ts';
import type { Credential } from '../keyring/credential.ts';
import { unlockKeyring } from '../keyring/master-key.ts';
import { checkVault, refuseFindings } from './checks/check-vault.ts';
import { type Copying, copyTables } from './copy-tables.ts';
import type { Progress } from './keys/rotate-tenant.ts';
import type { VaultLocation } from './location.ts';

/** The locations of a move. The vault may not be in both. */
export interface MoveLocations {
  readonly from: VaultLocation;
  readonly to: VaultLocation;
  /** The role of the daemons of a target in a database, which may use the tables but not change them. */
  readonly grant?: string | undefined;
}

/** The opened locations of a move. */
interface MoveEnds {
  readonly from: MoveLocation;
  readonly to: MoveLocation;
}

export interface MoveOptions extends Pick<Copying, 'copying' | 'comparing'> {
  /** Asks for the credential, which opens both locations. Called only for a source that serves. */
  readonly readCredential: () => Promise<Credential>;
  /** Whether to make a copy: the source continues to serve, and may change meanwhile. */
  readonly keepSource: boolean;
  /** Whether to open every sealed value of the copy. */
  readonly full: boolean;
  readonly checking?: Progress | undefined;
}

/** The numbers of copied rows. Absent if the copy was complete, so that only the last step was left. */
export interface Moved {
  readonly tenants: number;
  readonly applications: number;
  readonly tokens: number;
  readonly audit_rows: number;
}

/**
 * Moves a vault to an empty location: copies all rows, compares their number and a digest of each table, checks the copy,
 * ends the service of the source, and begins that of the target. If it is killed before these last two steps, the
 * source serves, and the next run starts over. If it is killed between them, neither serves, and the next run does the
 * last step.
 * Rejects with the faults `conflict` for a target that is not empty, `damaged`, and those of both locations.
 */
export async function moveVault(locations: MoveLocations, options: MoveOptions): Promise<Moved | undefined> {
  return moveBetween(await locationsOf(locations), options);
}

/** Moves a vault between opened locations as `moveVault` does. */
export async function moveBetween({ from, to }: MoveEnds, options: MoveOptions): Promise<Moved | undefined> {
  const [source, target] = [await from.find('source'), await to.find('target')];
  if (source.state === 'moved_away') {
    // An older copy of the vault lacks the last row of the source.
    const isSameVault = target.state === 'vault' && target.vaultId === source.vaultId;
    if (isSameVault && (await to.hasRow(source.sealed))) return undefined;
    if (target.state !== 'copied' || !isSameBytes(target.sealed, source.sealed)) throw wasMoved(from);
    await to.finishCopy();
    return undefined;
  }
  if (source.state !== 'vault') throw wasMoved(from);
  if (target.state === 'copied' && target.vaultId === source.vaultId) await to.removeCopy();
  else if (target.state !== 'empty') throw notEmpty(to);
  const credential = await options.readCredential();
  const opened = await from.openSource(options.keepSource);
  try {
    return await copyAndSwitch(to, await unlockKeyring(opened.header, credential), opened, options);
  } finally {
    await opened.close();
  }
}

async function copyAndSwitch(to: MoveLocation, keyring: Keyring, source: MoveSource, options: MoveOptions) {
  try {
    const witness = await findEnd({ store: source, keyring }).catch(throwDamaged);
    const last = lastRowAfter(keyring, witness, source.now);
    let counts: ReadonlyMap<string, number> = new Map();
    await to.makeCopy(source.header, {
      async fill(write, copied) {
        counts = await copyTables(source, write, { ...options, copied, last });
      },
      async check(store) {
        refuseFindings(await checkVault({ store, keyring }, options.checking, { full: options.full }));
      },
    });
    if (!options.keepSource) await source.leave(last(witness));
    await to.finishCopy();
    const count = (name: string) => counts.get(name) ?? 0;
    return {
      tenants: count('tenant'),
      applications: count('application'),
      tokens: count('token'),
      // All but the base.
      audit_rows: count('audit') - 1,
    };
  } finally {
    keyring.close();
  }
}

/** Throws the fault `damaged` for damage in the audit, and any other error unchanged. */
function throwDamaged(error: unknown): never {
  if (!(error instanceof BrokenAudit)) throw error;
  const hint = 'run `vault doctor` on the source to find all damage';
  throw new Fault('damaged', `no copy was made: ${error.message}`, { cause: error, hint });
}

/**
 * Removes the copy of an unfinished move, and makes the source serve again. Rejects with the fault `conflict` after a
 * complete move.
 */
export async function abortMove(locations: MoveLocations): Promise<void> {
  const { from, to } = await locationsOf(locations);
  const [source, target] = [await from.find('source'), await to.find('target')];
  const isOfSource = target.state === 'copied' && 'vaultId' in source && target.vaultId === source.vaultId;
  const isLast =
    target.state === 'copied' && source.state === 'moved_away' && isSameBytes(target.sealed, source.sealed);
  if (source.state === 'moved_away' && !isLast) throw wasMoved(from);
  if (target.state !== 'empty' && !isOfSource) throw notEmpty(to);
  // Remove the copy first, so that it cannot be finished later. This also removes an incomplete copy of a killed
  // process.
  await to.removeCopy();
  if (source.state === 'moved_away') await from.takeBack();
}

function wasMoved({ shown }: MoveLocation): Fault {
  return new Fault('store_missing', `the vault in ${shown} was moved away`, {
    hint: 'open the vault at its new location; an unfinished move needs the same --to',
  });
}

function notEmpty({ shown }: MoveLocation): Fault {
  return new Fault('conflict', `${shown} is not empty`, {
    hint: 'name another file, or another schema with ?schema=NAME; existing vaults are never changed',
  });
}

/**
 * Returns the function from the end of an audit to the row with which the move ends it. The row is sealed once, so that
 * the next run recognizes the copy of this move.
 */
function lastRowAfter(keyring: Keyring, witness: Witness, at: Instant): (head: AuditHead) => LastRow {
  const event = { action: 'moveVault', status: 200, entities: [] } as const;
  const sealed = keyring.sealAuditEvent(at, encodeAuditRow(witness, [{ event, at }]));
  return (head) => {
    const row = { sequence: head.sequence + 1, at, sealed };
    return { ...row, link: linkOf(head.link, [row]) };
  };
}

async function locationsOf({ from, to, grant }: MoveLocations): Promise<MoveEnds> {
  if (from.file !== undefined && to.file !== undefined) {
    (await import('../store/move/move-file.ts')).assertApart(from.file, to.file);
  }
  return { from: await movedLocation(from), to: await movedLocation(to, grant) };
}

/** Returns the file or the database for a move. */
export async function movedLocation(location: VaultLocation, grant?: string): Promise<MoveLocation> {
  if (location.store === undefined) {
    const { movedFile } = await import('../store/move/move-file.ts');
    return movedFile(location.file);
  }
  const { movedStore } = await import('../store/move/move-store.ts');
  return movedStore(location.store.url, { insecure: location.store.insecure, grant });
}
