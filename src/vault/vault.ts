import { resolve } from 'node:path';
import type { Application } from '../contract/application.ts';
import type { Call, Client, Reply } from '../contract/call.ts';
import { DEFAULT_LIMITS, type Limits } from '../contract/limits.ts';
import { createAudit } from '../core/audit/audit.ts';
import { type AuditLevel, DEFAULT_AUDIT_LEVEL } from '../core/audit/audit-level.ts';
import { createFollower } from '../core/audit/follower.ts';
import { createLogWatch } from '../core/audit/log-watch.ts';
import { createDispatch } from '../core/dispatch.ts';
import { withFreshKeys } from '../core/fresh-keys.ts';
import type { Context } from '../core/handler.ts';
import { loadOperations } from '../core/handlers.ts';
import type { Meter, VaultFigures } from '../core/meter.ts';
import type { Instant, Keyring, Random, Store, VaultHeader } from '../core/ports.ts';
import { createQuota } from '../core/quota.ts';
import { createRateLimit, type Rate } from '../core/rate-limit.ts';
import type { CreatedTenant } from '../core/tenants/create-tenant.ts';
import type { Clock } from '../core/time.ts';
import { createActivity } from '../core/tokens/activity.ts';
import type { ArchiveOf, Pruned } from '../history/prune-audit.ts';
import type { Credential } from '../keyring/credential.ts';
import type { FollowingKeyring } from '../keyring/master-key.ts';
import { loadSodium, sodiumVersion } from '../keyring/sodium.ts';
import { fileSystemNotice } from '../paths/file-system.ts';
import type { Session } from '../store/sqlite/commit/session.ts';
import { yieldBetweenBatches, yieldToLoop } from './batches.ts';
import { closedNotices, requireSoundLog } from './checks/closed-tenants.ts';
import { sealClockNote } from './clock/clock-note.ts';
import { MACHINE, systemClock, type Times } from './clock/system-clock.ts';
import { openTimekeeper, type Timekeeper } from './clock/timekeeper.ts';
import type { KeptAnchor } from './keep-anchor.ts';
import { headerEvent } from './keys/header-event.ts';
import { measureStores } from './measure-stores.ts';
import { reportError } from './report-error.ts';
import { createSweep } from './sweep-expired.ts';
import { systemRandom } from './system-random.ts';
import type { ListedTenants } from './tenants/each-tenant.ts';
import { watchFindings } from './watch-findings.ts';
import { watchWrites } from './write-watch.ts';

/** The limit of an account for calls that may learn something about tokens that it cannot read. */
const UNREAD: Rate = { calls: 100, ms: 60_000 };
/** The bytes of replies that are made or unread. */
const REPLY_BYTES = { each: 32 * 1024 * 1024, all: 128 * 1024 * 1024 };
/** The minimum interval of sweeps by commands that use the file directly: an hour (decisions §8). */
const DIRECT_SWEEP_MS = 60 * 60 * 1000;

/**
 * An unlocked vault. `dispatch` and `take` serve calls with an API key; the other functions need none, because their
 * caller has the file's key.
 */
export interface Vault {
  /** The path of the file, or the URL of the database without its parameters. */
  readonly file: string;
  readonly limits: Limits;
  dispatch(call: Call): Promise<Reply>;
  /** Answers a call of a daemon. After `ready`, answers all calls of one tick of the event loop together. */
  take: NonNullable<Client['take']>;
  /**
   * Loads the code of all operations, pings the file and follows the audit. Rejects with the problem that keeps the
   * vault from answering calls, and while writes fail.
   */
  ready(): Promise<void>;
  /** Resolves to sentences about problems that do not keep the vault from answering calls. */
  notices(): Promise<readonly string[]>;
  /**
   * Compares all records with the audit, in slices between calls. Resolves to a
   * line for each finding; afterwards `notices` reports the number of findings.
   */
  check(): Promise<readonly string[]>;
  createTenant(name: string): Promise<CreatedTenant>;
  listTenants(): Promise<ListedTenants>;
  issueKey(tenantId: string | undefined): Promise<Application>;
  /** Answers the log calls that wait for new entries, and ends a sweep early. Later log calls do not wait. */
  endWaits(): void;
  /** Removes expired records and completes the log index. Resolves to the number of removed records. */
  sweep(): Promise<number>;
  /**
   * Archives and removes the audit entries that are older than `keepMs`, once the oldest entry is a tenth
   * older. `fileOf` returns the archive for a range of rows; an existing one of the same
   * rows is used. Resolves to undefined if nothing is due. Rejects as `pruneAudit` does.
   */
  pruneAudit(keepMs: number, fileOf: ArchiveOf): Promise<Pruned | undefined>;
  /** Resolves to the time when the next record expires, or to undefined if none does. */
  nextExpiry(): Promise<Instant | undefined>;
  /**
   * Removes expired records if no process has done so for an hour. For short-lived commands, which cannot sweep
   * regularly.
   */
  sweepNowAndThen(): Promise<void>;
  /** Resolves to the state of the vault, for metrics. Rejects as `ready` does, except while only writes fail. */
  figures(): Promise<VaultFigures>;
  /** Finishes running writes, closes the file and wipes the keys. */
  close(): Promise<void>;
}

/** The settings of a vault in this process; the file stores none of them. */
export interface VaultSettings {
  readonly limits?: Limits | undefined;
  /** The member `included_monthly_active_tokens` of the usage report (decisions §8). */
  readonly includedActiveTokens?: number | undefined;
  /** The calls that the audit records besides changes. */
  readonly auditLevel?: AuditLevel | undefined;
  /** Whether to write the audit entry to disk before a reply that contains secrets. */
  readonly auditStrict?: boolean | undefined;
  /** Default: the system clock. The file stores no times of another clock. */
  readonly clock?: Clock | undefined;
  /** Whether to use a writer thread for concurrent writes, as processes that serve the vault do. */
  readonly writerThread?: boolean | undefined;
  /** Overrides randomness for ids and API keys in test vaults. Never used for sealing. */
  readonly overRandom?: ((system: Random) => Random) | undefined;
  /** Receives every error that a caller does not see. Default: prints a line of JSON to stderr. */
  readonly reportError?: Context['reportError'] | undefined;
  /** Receives the work of the vault and of its store, for metrics. Only one vault of a process may have one. */
  readonly meter?: Meter | undefined;
}

export interface OpenFileVaultOptions extends VaultSettings {
  readonly file: string;
  readonly credential: Credential;
  /** A file outside the vault that records its latest commit, so that an older copy is rejected. */
  readonly anchor?: string | undefined;
  /** The sources of the vault's clock. Default: those of the machine. */
  readonly times?: Times | undefined;
  /** The limit of the page cache, in KiB; default: 16 MiB. */
  readonly cacheKib?: number | undefined;
}

/**
 * Opens a vault file and unlocks its keys. Rejects with a fault for a missing, unsafe, foreign, newer or damaged file,
 * or a wrong credential.
 */
export async function openFileVault(opening: OpenFileVaultOptions): Promise<Vault> {
  const { file, credential, anchor, times, cacheKib, ...options } = opening;
  const [{ openVaultFile }, { followMasterKey }] = await Promise.all([
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../keyring/master-key.ts'),
  ]);
  // Compile libsodium's WebAssembly while the file opens. Ignore a failure here: the next `loadSodium` call rejects
  // with it.
  loadSodium().catch(() => undefined);
  const { header, store: opened, session } = await openVaultFile(file);
  const fileSystem = await fileSystemNotice(file);
  let store: Store = opened;
  try {
    if (cacheKib !== undefined) opened.limitCache(cacheKib);
    const keyring = await followMasterKey(header, credential, () => opened.header());
    if (options.writerThread) store = await withThread(session, options);
    const kept =
      anchor === undefined
        ? undefined
        : await (await import('./keep-anchor.ts')).keepAnchor({ store, keyring }, anchor);
    const timekeeper = await openTimekeeper({ store, keyring, vault_id: header.vault_id }, times);
    return composeVault({ file, isFile: true, fileSystem, store, keyring, anchor: kept, timekeeper, ...options });
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function withThread(session: Session, { reportError: report = reportError }: VaultSettings): Promise<Store> {
  const { threadedStore } = await import('../store/sqlite/commit/threaded-store.ts');
  return threadedStore(session, async () => {
    try {
      const { startWriter } = await import('./writer.ts');
      return await startWriter(session);
    } catch (error) {
      report(error, 'writer-thread');
      throw error;
    }
  });
}

export interface CreateVaultOptions extends OpenFileVaultOptions {
  /** The name of the first tenant. */
  readonly tenantName: string;
  readonly weakPassphrase?: boolean;
  /** The label of the key slot. */
  readonly label?: string | undefined;
}

/** Creates a vault file with its first tenant. Never changes an existing file; a failure leaves no file. */
export async function createVault(options: CreateVaultOptions): Promise<CreatedTenant & { readonly vault: Vault }> {
  const [{ createVaultFile }, { openVaultFile }, { createKeyring }] = await Promise.all([
    import('../store/sqlite/file/create-vault-file.ts'),
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../keyring/master-key.ts'),
  ]);
  const { file, credential, tenantName, weakPassphrase = false, label, times = MACHINE, ...settings } = options;
  const now = times.wall();
  const { keyring, header } = await createKeyring(credential, { now, allowWeak: weakPassphrase, label });
  let created: CreatedTenant | undefined;
  await createVaultFile(file, header, async (store) => {
    const clock = systemClock({ times });
    const parts = { file, store, keyring, clock, overRandom: settings.overRandom };
    created = await writeFirstRecords(parts, header, tenantName);
  });
  if (!created) throw new Error('unreachable: the first tenant was not created');
  const { store: opened, session } = await openVaultFile(file);
  const store = settings.writerThread ? await withThread(session, settings) : opened;
  const timekeeper = await openTimekeeper({ store, keyring, vault_id: header.vault_id }, times);
  return {
    vault: composeVault({ ...settings, file, isFile: true, store, keyring, anchor: undefined, timekeeper }),
    ...created,
  };
}

/** Writes the first records of a new vault: its clock note, the first entry of its audit and its first tenant. */
export async function writeFirstRecords(parts: VaultParts, header: VaultHeader, tenantName: string) {
  const { createTenant } = await import('../core/tenants/create-tenant.ts');
  const { store, keyring } = parts;
  const context = createContext(parts);
  const note = { expired_at: 0, settled_at: context.clock.now(), doubted_at: 0 };
  await store.replaceClockNote(sealClockNote({ keyring, vault_id: header.vault_id }, note), '');
  await context.follower.follow();
  await store.appendAuthority(context.audit.draftAuthority(headerEvent('createVault', header)));
  return createTenant(context, tenantName);
}

/**
 * Checks that a file may be a vault, before its key is requested. Throws the faults of `checkUnopenedFile`, such as
 * `file_missing`, `file_unsafe`, `not_a_vault`.
 */
export async function checkUnopenedVault(file: string): Promise<void> {
  const { checkUnopenedFile } = await import('../store/sqlite/file/check-openable.ts');
  checkUnopenedFile(resolve(file));
}

/** Resolves to the versions of the file format, SQLite and libsodium, for bug reports. */
export async function engineVersions() {
  const [{ FILE_FORMAT }, { sqliteVersion }] = await Promise.all([
    import('../store/sqlite/file/schema.ts'),
    import('../store/sqlite/file/driver.ts'),
  ]);
  return { format: FILE_FORMAT, sqlite: await sqliteVersion(), libsodium: await sodiumVersion() };
}

/** The parts of a vault. The default clock and random source are the system's. */
export interface VaultParts extends VaultSettings {
  /** The path of the file, or the URL of the database without its parameters. */
  readonly file: string;
  readonly store: Store;
  readonly keyring: Keyring & Partial<FollowingKeyring>;
  readonly random?: Random;
  /** The anchor that records the commits. It is closed before the store. */
  readonly anchor?: KeptAnchor | undefined;
  /**
   * The default clock. It records expiries in the file, so that no expired record returns when the machine's clock goes
   * back.
   */
  readonly timekeeper?: Timekeeper | undefined;
  /** Whether `file` is the path of a file. */
  readonly isFile?: boolean | undefined;
  /** The notice on the file system of the file. */
  readonly fileSystem?: string | undefined;
}

const DEFAULT_INCLUDED_ACTIVE_TOKENS = 1000;

function createContext({
  store,
  keyring,
  random = systemRandom,
  overRandom,
  limits,
  includedActiveTokens,
  auditLevel: level = DEFAULT_AUDIT_LEVEL,
  auditStrict: strict = false,
  reportError: report,
  timekeeper,
  clock = timekeeper ?? systemClock(),
}: VaultParts): Context {
  const follower = createFollower({ store, keyring });
  return {
    store,
    keyring,
    clock,
    follower,
    audit: createAudit({ store, keyring, follower, clock, level, strict }),
    logWatch: createLogWatch(store),
    ticks: { now: undefined },
    replies: createQuota(REPLY_BYTES),
    random: overRandom?.(random) ?? random,
    limits: limits ?? DEFAULT_LIMITS,
    activity: createActivity(store, clock),
    limitUnread: createRateLimit(UNREAD, clock.now),
    limitUnreadDuplicates: createRateLimit(UNREAD, clock.now),
    includedActiveTokens: includedActiveTokens ?? DEFAULT_INCLUDED_ACTIVE_TOKENS,
    reportError: report ?? reportError,
  };
}

/** Creates a vault from any store and keyring. */
export function composeVault(parts: VaultParts): Vault {
  const { file, isFile, keyring, meter } = parts;
  const { store, isWritable, assertWritable } = watchWrites(parts.store, () => context.clock.now());
  const context = createContext({ ...parts, store });
  // The file does not store the times of a clock other than the default.
  const timekeeper = parts.clock === undefined ? parts.timekeeper : undefined;
  const sweep = createSweep(context, timekeeper);
  const findings = watchFindings(context, meter);
  const path = createDispatch(context);
  async function dispatch(call: Call): Promise<Reply> {
    const reply = await path.answer(call);
    reply.sent?.();
    return reply;
  }

  async function requireReadable(): Promise<void> {
    await Promise.all([store.ping(), requireSoundLog(context.follower)]);
    await keyring.requireKey?.();
    await timekeeper?.requireShown();
  }

  let take: Vault['take'] = (call, answered) => void dispatch(call).then(answered);
  const endMeasuring = meter && measureStores(meter);

  return {
    file,
    limits: context.limits,
    dispatch,
    take: (call, answered) => take(call, answered),
    ready: async () => {
      const [{ createTicks }] = await Promise.all([import('../core/ticks.ts'), loadOperations()]);
      await requireReadable();
      assertWritable();
      take = createTicks(path, context);
    },
    notices: async () => [
      ...(parts.fileSystem === undefined ? [] : [parts.fileSystem]),
      ...(timekeeper?.notices() ?? []),
      ...findings.notices(),
      ...closedNotices(context.follower),
      ...sweep.notices(),
      ...(parts.anchor?.notices() ?? []),
    ],
    check: findings.check,
    createTenant: async (name) => {
      const { createTenant } = await import('../core/tenants/create-tenant.ts');
      return withFreshKeys(keyring, () => createTenant(context, name));
    },
    listTenants: async () => {
      const { listTenants } = await import('./tenants/each-tenant.ts');
      return listTenants(context);
    },
    issueKey: async (tenantId) => {
      const { onlyTenant } = await import('./tenants/each-tenant.ts');
      const { issueManagementKey } = await import('../core/tenants/create-tenant.ts');
      const tenant = await onlyTenant(context, tenantId);
      return withFreshKeys(keyring, () => issueManagementKey(context, tenant));
    },
    endWaits: () => context.logWatch.end(),
    sweep: async () => {
      try {
        const removed = await sweep.sweepExpired();
        const { indexLog } = await import('../core/audit/log-index.ts');
        const yieldToLoop = yieldBetweenBatches({ times: 2, ref: false });
        await indexLog(context, undefined, yieldToLoop, context.logWatch.hasEnded);
        meter?.swept(removed);
        // After a failure, the next sweep tries again.
        await findings.checkAgain().catch(() => undefined);
        return removed;
      } catch (error) {
        meter?.swept(undefined);
        throw error;
      }
    },
    pruneAudit: async (keepMs, fileOf) => {
      const { isPruneDue, pruneAudit } = await import('../history/prune-audit.ts');
      const now = context.clock.settled();
      if (now === 0 || !(await isPruneDue({ store, keyring }, now - keepMs * 1.1, now))) return undefined;
      const { vault_id } = await store.header();
      return pruneAudit({ ...context, vault_id, yieldToLoop }, now - keepMs, fileOf, { reuse: true, now });
    },
    nextExpiry: () => store.nextExpiry(context.clock.now()),
    sweepNowAndThen: async () => {
      if (await store.claimSweep(context.clock.now(), DIRECT_SWEEP_MS)) await sweep.sweepExpired();
    },
    figures: async () => {
      await requireReadable();
      const { readFigures } = await import('./read-figures.ts');
      return { ...(await readFigures(context, isFile ? file : undefined)), writable: isWritable() };
    },
    close: async () => {
      context.logWatch.end();
      await context.activity.flush();
      try {
        await context.audit.flush();
        // Ignore a failure: the next process that opens the vault updates the note.
        await timekeeper?.keep().catch(() => undefined);
        await parts.anchor?.close();
      } finally {
        await store.close();
        keyring.close();
        endMeasuring?.();
      }
    },
  };
}
