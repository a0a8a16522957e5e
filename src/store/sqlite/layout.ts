import type { Connection } from './driver.ts';
import { FORMAT, SCHEMA } from './schema.ts';

/** Takes a file from one format to the next, inside a transaction. */
type Migration = (connection: Connection) => void;

/** A format of the file, and how older ones become it. */
export interface Layout {
  readonly format: number;
  readonly schema: readonly string[];
  /** By the format that each starts from. */
  readonly migrations: Readonly<Record<number, Migration>>;
}

/** Only the first format has been released: there is nothing to migrate from. */
export const CURRENT_LAYOUT: Layout = { format: FORMAT, schema: SCHEMA, migrations: {} };
