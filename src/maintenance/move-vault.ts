import { hash } from 'node:crypto';
import { encodeAuditRow } from '../core/audit/audit-event.ts';
import { linkOf, START } from '../core/audit/audit-link.ts';
import { findEnd } from '../core/audit/authority-rows.ts';
import type { AuditHead, Witness } from '../core/audit/ports.ts';
import { BrokenAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import { isBytes, isSameBytes } from '../core/is-bytes.ts';
import type { LastRow, MovedRow, MovePlace, MoveSource, ReadRows, WriteRows } from '../core/move-ports.ts';
import type { Instant, Keyring, Store, VaultHeader } from '../core/ports.ts';
import { checkVault, refuseFindings } from './check-vault.ts';
import type { Progress } from './rotate-tenant.ts';

export interface Moving {
  readonly from: MovePlace;
  readonly to: MovePlace;
  /** Asks for the credential. Called only for a source that serves. The result opens the keys. */
  readonly readCredential: () => Promise<(header: VaultHeader) => Promise<Keyring>>;
}

export interface MoveOptions {
  /** Whether to make a copy: the source continues to serve, and may change meanwhile. */
  readonly keepSource: boolean;
  /** Whether to open every sealed value of the copy. */
  readonly full: boolean;
  /** Called with the numbers of copied tokens and of all tokens. */
  readonly copying?: Progress | undefined;
  /** Called for each table with the numbers of compared rows and of all rows. */
  readonly comparing?: Progress | undefined;
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
 * Moves a vault to an empty place: copies all rows, compares their number and a digest of each table, checks the copy,
 * ends the service of the source, and begins that of the target. If it is killed before these last two steps, the
 * source serves, and the next run starts over. If it is killed between them, neither serves, and the next run does the
 * last step.
 * Rejects with the faults `conflict` for a target that is not empty, `damaged`, and those of both places.
 */
export async function moveVault(moving: Moving, options: MoveOptions): Promise<Moved | undefined> {
  const { from, to } = moving;
  const [source, target] = [await from.find('source'), await to.find('target')];
  if (source.state === 'left') {
    // An older copy of the vault lacks the last row of the source.
    const isSameVault = target.state === 'vault' && target.vaultId === source.vaultId;
    if (isSameVault && (await to.hasRow(source.sealed))) return undefined;
    if (target.state !== 'arriving' || !isSameBytes(target.sealed, source.sealed)) throw wasMoved(from);
    await to.finishCopy();
    return undefined;
  }
  if (source.state !== 'vault') throw wasMoved(from);
  if (target.state === 'arriving' && target.vaultId === source.vaultId) await to.removeCopy();
  else if (target.state !== 'empty') throw notEmpty(to);
  const unlock = await moving.readCredential();
  const opened = await from.openSource(options.keepSource);
  try {
    return await copyAndSwitch(moving, await unlock(opened.header), opened, options);
  } finally {
    await opened.close();
  }
}

async function copyAndSwitch({ to }: Moving, keyring: Keyring, source: MoveSource, options: MoveOptions) {
  try {
    const witness = await findEnd({ store: source, keyring }).catch(throwDamaged);
    const last = lastRowAfter(keyring, witness, source.now);
    let counts: ReadonlyMap<string, number> = new Map();
    await to.makeCopy(source.header, {
      async fill(write, copied) {
        counts = await copyTables(source, write, { ...options, copied, last });
      },
      check: (store) => checkCopy(store, keyring, options),
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

/** Removes the copy of an unfinished move, and makes the source serve again. Rejects with the fault `conflict`. */
export async function abortMove({ from, to }: Pick<Moving, 'from' | 'to'>): Promise<void> {
  const [source, target] = [await from.find('source'), await to.find('target')];
  const isOfSource = target.state === 'arriving' && 'vaultId' in source && target.vaultId === source.vaultId;
  const isLast = target.state === 'arriving' && source.state === 'left' && isSameBytes(target.sealed, source.sealed);
  if (source.state === 'left' && !isLast) throw wasMoved(from);
  if (target.state !== 'empty' && !isOfSource) throw notEmpty(to);
  // Remove the copy first, so that it cannot be finished later. This also removes an incomplete copy of a killed
  // process.
  await to.removeCopy();
  if (source.state === 'left') await from.takeBack();
}

function wasMoved({ shown }: MovePlace): Fault {
  return new Fault('store_missing', `the vault in ${shown} was moved away`, {
    hint: 'open the vault at its new place; an unfinished move needs the same --to',
  });
}

function notEmpty({ shown }: MovePlace): Fault {
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

interface Copying extends Pick<MoveOptions, 'copying' | 'comparing'> {
  readonly copied: ReadRows;
  readonly last: (head: AuditHead) => LastRow;
}

/**
 * Copies all tables and appends the last row of the audit. Resolves to the number of rows by table. Rejects with the
 * fault `damaged` if the copy differs.
 */
async function copyTables(
  { tables, rows, tokens }: Pick<MoveSource, 'tables' | 'rows' | 'tokens'>,
  write: WriteRows,
  { copied, copying = () => undefined, comparing = () => undefined, last }: Copying,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const table of tables) {
    let head: AuditHead = START;
    const written = await digestOf(rows(table), async (batch, count) => {
      await write(table, batch);
      if (table.name === 'token') copying(count, tokens);
      if (table.name === 'audit') head = lastHead(batch) ?? head;
    });
    const found = await digestOf(copied(table), (_, count) => comparing(count, written.rows));
    if (found.rows !== written.rows || found.digest !== written.digest) {
      throw new Fault('damaged', `no copy was made: the rows of ${table.name} differ in the copy`);
    }
    counts.set(table.name, written.rows);
    if (table.name !== 'audit') continue;
    const { sequence, at, link, sealed } = last(head);
    await write(table, [[sequence, at, link, sealed]]);
  }
  return counts;
}

/** Returns the last row in a batch of rows of `audit`. */
function lastHead(batch: readonly MovedRow[]): AuditHead | undefined {
  const [sequence, , link] = batch.at(-1) ?? [];
  return typeof sequence === 'number' && isBytes(link) ? { sequence, link } : undefined;
}

async function checkCopy(store: Store, keyring: Keyring, { full, checking }: MoveOptions): Promise<void> {
  refuseFindings(await checkVault({ store, keyring }, checking, { full }));
}

const MODULUS = 1n << 512n;

/**
 * Resolves to the number of rows and their digest: the sum of the BLAKE2b-512 hashes of the rows, modulo 2^512. Stores
 * order texts differently, so the order must not matter. Calls `each` with the number of rows so far.
 */
async function digestOf(
  batches: AsyncIterable<readonly MovedRow[]>,
  each: (batch: readonly MovedRow[], rows: number) => Promise<void> | void,
) {
  let rows = 0;
  let sum = 0n;
  for await (const batch of batches) {
    for (const row of batch) sum += BigInt(`0x${hash('blake2b512', encodeRow(row), 'hex')}`);
    rows += batch.length;
    sum %= MODULUS;
    await each(batch, rows);
  }
  return { rows, digest: sum.toString(16) };
}

/** Encodes each value as its kind, its length in bytes, and its bytes. */
function encodeRow(row: MovedRow): Buffer {
  const parts = row.flatMap((value) => {
    if (value === null) return [Buffer.from('-')];
    const isBlob = isBytes(value);
    const bytes = isBlob ? value : Buffer.from(String(value));
    return [Buffer.from(`${isBlob ? 'b' : typeof value === 'string' ? 't' : 'n'}${bytes.length}:`), bytes];
  });
  return Buffer.concat(parts);
}
