import { statSync } from 'node:fs';
import { Problem } from '../../../core/problem.ts';
import { nextTick } from '../../../core/timers.ts';
import { Rollback } from '../../rows/rollback.ts';
import type { PathWatch } from '../file/check-openable.ts';
import { type Connection, statements } from '../file/driver.ts';
import { probeDisk } from '../file/probe-disk.ts';
import { hasSchema } from '../file/schema.ts';
import { BusyError, isFailedWrite, type Probe, toProblem } from '../file/sqlite-error.ts';
import { BUSY_DEADLINE_MS, retryBusy } from './busy-retry.ts';
import { Checkpointer } from './checkpointer.ts';
import { GroupCommit } from './group-commit.ts';
import type { WriteTurns } from './write-turns.ts';

/**
 * The residue of a write in the log: only new pages (`added`), or also old sealed values that must not stay there
 * (`removed`).
 */
export type Residue = 'added' | 'removed';

/** The maximum length of an idle file's log, in bytes. A longer log is truncated. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Reads and writes on one connection. Writes run in group commits. Waiting for another process's lock does not stop the
 * event loop. Errors of SQLite become problems. Reads and writes after `close` reject with `vault_stopping`. Callbacks
 * are synchronous, so a read never sees an uncommitted write.
 */
export class Session {
  readonly connection: Connection;
  readonly #watch: PathWatch;
  readonly #busyDeadlineMs: number;
  readonly #commits: GroupCommit;
  readonly #checkpointer: Checkpointer;
  readonly #statements;
  #closing: Promise<void> | undefined;
  #probing: Promise<Probe> | undefined;
  readonly #dataVersion;
  readonly #schemaVersion;
  /** `schema_version` of the last schema that was compared and found right; -1 before the first transaction. */
  #checkedSchema = -1;
  /** Set when the schema was found altered. SQLite may keep a trigger in memory that the file no longer has. */
  #isAltered = false;
  /** `data_version` when the log was last emptied. */
  #truncatedAt: number | undefined;

  /** `busyDeadlineMs` is the longest wait for another process's lock, in milliseconds. */
  constructor(connection: Connection, watch: PathWatch, busyDeadlineMs: number = BUSY_DEADLINE_MS) {
    this.connection = connection;
    this.#busyDeadlineMs = busyDeadlineMs;
    this.#watch = watch;
    const { rows, value } = statements(connection);
    this.#statements = {
      begin: rows<[]>('BEGIN IMMEDIATE'),
      commit: rows<[]>('COMMIT'),
      rollback: rows<[]>('ROLLBACK'),
      beginRead: rows<[]>('BEGIN'),
    };
    this.#dataVersion = value<[], number>('PRAGMA data_version');
    this.#schemaVersion = value<[], number>('PRAGMA schema_version');
    const transactions = {
      begin: () => {
        watch.check();
        this.#endTransaction();
        this.#statements.begin().run();
        this.#checkSchema();
      },
      commit: () => {
        this.#statements.commit().run();
      },
      rollback: () => this.#endTransaction(),
    };
    this.#commits = new GroupCommit(transactions, { deadlineMs: busyDeadlineMs });
    this.#checkpointer = new Checkpointer((keepLength) => this.#emptyLog(keepLength));
    // A killed process may have left removed values in the log. Without this, they would stay there until the next
    // write.
    if (logSize(connection.name) > 0) this.#checkpointer.afterWrite('removed');
  }

  /**
   * Runs `query` on one snapshot of the file. Retries it while a lock blocks it; rejects with `vault_busy` after the
   * deadline. With `isShared`, the snapshot stays open until the next tick.
   */
  async read<T>(query: () => T, isShared = false): Promise<T> {
    if (this.#closing !== undefined) throw new Problem('vault_stopping', { retryAfter: 1 });
    try {
      this.#watch.checkNowAndThen();
      return this.#onSnapshot(query, isShared);
    } catch (error) {
      return await this.#readAgain(query, error);
    }
  }

  #onSnapshot<T>(query: () => T, isShared = false): T {
    if (this.connection.inTransaction) return query();
    try {
      this.#statements.beginRead().run();
      this.#checkSchema();
      return query();
    } finally {
      if (isShared) nextTick(() => this.#endTransaction());
      else this.#endTransaction();
    }
  }

  /** Runs `query` synchronously on one snapshot. Returns undefined when this fails or a transaction is open. */
  readNow<T>(query: () => T): T | undefined {
    if (this.#closing !== undefined || this.connection.inTransaction) return undefined;
    try {
      this.#watch.checkNowAndThen();
      this.#statements.beginRead().run();
      this.#checkSchema();
      return query();
    } catch {
      // The caller repeats the read with `read`, which waits or rejects.
      return undefined;
    } finally {
      this.#endTransaction();
    }
  }

  /**
   * Runs `change` in a transaction that other writes may share. Resolves when the transaction is on disk, or when an
   * `Rollback` has reverted the change.
   */
  async write<T>(residue: Residue, change: () => T): Promise<T> {
    try {
      const result = await this.#commits.run(change);
      if (this.#closing === undefined) this.#checkpointer.afterWrite(residue);
      return result;
    } catch (error) {
      if (error instanceof Rollback) return error.result;
      const problem = await this.#problemOf(error);
      if (problem instanceof Problem && problem.code === 'no_space' && this.#closing === undefined) {
        this.#checkpointer.afterNoSpace();
      }
      throw problem;
    }
  }

  /** Returns a text that identifies the open file. */
  get identity(): string {
    return this.#watch.identity;
  }

  /** Makes this session alternate with another one of this process, as `GroupCommit.takeTurns` does. */
  takeTurns(turns: WriteTurns, isAlone?: () => boolean): void {
    this.#commits.takeTurns(turns, isAlone);
  }

  /** Reads from the file. Rejects with `vault_moved` when the path no longer leads to the open file. */
  ping(): Promise<void> {
    return this.read(() => {
      this.#watch.check();
      this.#dataVersion().get();
    });
  }

  /**
   * Empties the write-ahead log. Resolves to false when other connections use the log until the deadline; another
   * attempt is then scheduled.
   */
  async emptyLog(): Promise<boolean> {
    try {
      await retryBusy(() => {
        if (this.#closing === undefined && !this.#checkpointer.attempt()) throw new BusyError();
      }, this.#busyDeadlineMs);
      return true;
    } catch (error) {
      if (error instanceof BusyError) return false;
      throw await this.#problemOf(error);
    }
  }

  /** Finishes accepted writes, empties the log and closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commits.close();
    this.#checkpointer.attempt();
    this.#checkpointer.stop();
    this.connection.close();
  }

  async #readAgain<T>(query: () => T, error: unknown): Promise<T> {
    this.#endTransaction();
    const problem = await this.#problemOf(error);
    if (!(problem instanceof Problem) || problem.code !== 'vault_busy') throw problem;
    try {
      return await retryBusy(() => {
        if (this.#closing !== undefined) throw new Problem('vault_stopping', { retryAfter: 1 });
        return this.#onSnapshot(query);
      }, this.#busyDeadlineMs);
    } catch (again) {
      throw await this.#problemOf(again);
    }
  }

  /** Resolves to the problem for an error. Probes the disk after a failed write, once for all callers at a time. */
  async #problemOf(error: unknown): Promise<unknown> {
    if (!isFailedWrite(error)) return toProblem(error);
    this.#probing ??= probeDisk(this.connection.name).finally(() => {
      this.#probing = undefined;
    });
    return toProblem(error, await this.#probing);
  }

  /**
   * Throws `integrity_failure` if the tables are no longer those of a vault: a trigger would run in this process. Must
   * come first in each transaction: `PRAGMA schema_version` does not make SQLite load a changed schema, any other
   * statement does.
   */
  #checkSchema(): void {
    const version = this.#schemaVersion().get() ?? 0;
    if (version === this.#checkedSchema && !this.#isAltered) return;
    this.#isAltered ||= !hasSchema(this.connection);
    if (this.#isAltered) throw new Problem('integrity_failure', { cause: new AlteredSchema() });
    this.#checkedSchema = version;
  }

  /** Rolls back the open transaction, which also ends a read. Does nothing without a transaction. */
  #endTransaction(): void {
    if (this.connection.open && this.connection.inTransaction) this.#statements.rollback().run();
  }

  /**
   * Empties the log and returns whether it succeeded. The log keeps its length only if no other connection has written
   * since it was last emptied: a killed writer may have left removed values in it.
   */
  #emptyLog(keepLength: boolean): boolean {
    this.#endTransaction();
    const version = this.#dataVersion().get();
    const isOwn = version === this.#truncatedAt && logSize(this.connection.name) <= MAX_KEPT_BYTES;
    const mode = keepLength && isOwn ? 'RESTART' : 'TRUNCATE';
    if (this.connection.pragma(`wal_checkpoint(${mode})`, { simple: true }) !== 0) return false;
    this.#truncatedAt = version;
    return true;
  }
}

/** The tables, indexes or triggers of the open file were changed. The session stays unusable until a restart. */
class AlteredSchema extends Error {
  readonly code = 'SCHEMA_ALTERED';
}

/** Returns the length of the log in bytes. Uses only `stat`, since reading the log would drop SQLite's locks. */
function logSize(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
