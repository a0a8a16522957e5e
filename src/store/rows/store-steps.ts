import type { AuditDraft, AuthorityDraft } from '../../core/audit/ports.ts';
import type { Instant } from '../../core/ports.ts';
import { type Fragment, raw, sql } from './fragment.ts';

/** A row: its columns in the order of the statement. */
export type Row = readonly unknown[];

/** The rows of each of several statements. */
export type Answers = readonly (readonly Row[])[];

/** A statement for all stores. With a name, PostgreSQL prepares it once for each connection. */
export interface SharedStatement extends Fragment {
  readonly name?: string;
}

/** Statements that are sent at once, or the entry of a change, which is written with its reply. */
export type StoreStep = readonly SharedStatement[] | { readonly entry: AuditDraft | AuthorityDraft };

/**
 * A read or a change that is written once for all stores: yields its steps, and gets the rows of their statements. A
 * file runs the steps synchronously, a database awaits each. A store may run a change again, so a change must depend
 * only on its rows.
 */
export type StoreSteps<T> = Generator<StoreStep, T, Answers>;

/** Runs the reads and changes of a store. */
export interface StepRunner {
  /** Runs a quick read, of one statement. */
  read<T>(steps: () => StoreSteps<T>): Promise<T>;
  /** Runs a read that may take long, on one snapshot. */
  readSlow<T>(steps: () => StoreSteps<T>): Promise<T>;
  /** Runs a read for an inspection, which may take hours, on one snapshot. */
  inspectSnapshot<T>(steps: () => StoreSteps<T>): Promise<T>;
  /**
   * Runs a change in one transaction. `removed` changes leave values in the log of a file that must not stay there for
   * long; `destroyed` changes resolve only when they are gone.
   */
  change<T>(residue: 'added' | 'removed' | 'destroyed', steps: () => StoreSteps<T>): Promise<T>;
}

/** Asks for the rows of statements, which are sent at once. */
export function* askAll(...statements: readonly SharedStatement[]): StoreSteps<Answers> {
  return yield statements;
}

/** Asks for the rows of one statement. */
export function* askRows(statement: SharedStatement): StoreSteps<readonly Row[]> {
  const [rows = []] = yield [statement];
  return rows;
}

/** Asks whether one statement returns a row. */
export function* askWhether(statement: SharedStatement): StoreSteps<boolean> {
  return (yield* askRows(statement)).length > 0;
}

/** Asks for the first column of the first row. */
export function* askValue(statement: SharedStatement): StoreSteps<unknown> {
  const [row] = yield* askRows(statement);
  return row?.[0];
}

/** Returns the test that the row `alias` has not expired. */
export function isUnexpired(alias: string, now: Instant): Fragment {
  const expires_at = raw(`${alias}.expires_at`);
  return sql`(${expires_at} IS NULL OR ${expires_at} > ${now})`;
}
