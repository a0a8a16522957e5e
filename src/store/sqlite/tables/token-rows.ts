import type { PresentedToken, TokenRecord } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { TOKEN_ROW } from '../../rows/record-columns.ts';
import type { Row } from '../../rows/store-steps.ts';
import { isStorableText, MAX_ROW, storedBytes, storedNumber } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { PRESENTED_COLUMNS, type PresentedRow, toPresentedToken } from './presented-token.ts';

/** Where lists find a token: its entries in `token_index`, and its numbered set of containers or 0. */
export interface TokenEntries {
  readonly blinds: Buffer;
  readonly set_number: number;
}

const SELECT_TOKEN = `SELECT ${TOKEN_ROW.of('token')}, token, blinds, set_number FROM token`;

/** A stored token: its record and the columns that the record lacks. */
export interface StoredToken extends TokenEntries {
  /** The token's number inside the file. */
  readonly token: number;
  readonly record: TokenRecord;
}

/** The functions for the rows of the table `token`. All are synchronous; writes need a transaction. */
export type TokenRows = ReturnType<typeof tokenRows>;

export function tokenRows(connection: Connection) {
  const { rows, lists } = statements(connection);
  const byId = lists<[number, string], Row>(`${SELECT_TOKEN} WHERE tenant = +? AND id = +?`);
  const presentedById = lists<[number, string], PresentedRow>(
    `SELECT ${PRESENTED_COLUMNS} FROM token t WHERE t.tenant = +? AND t.id = +?`,
  );
  const byNumber = lists<[number, number], Row>(`${SELECT_TOKEN} WHERE token = +? AND tenant = +?`);
  const isNew = 'NOT EXISTS (SELECT 1 FROM tombstone WHERE tenant = +? AND id = +?)';
  const insertRow = rows<unknown[]>(
    `${TOKEN_ROW.insertIf('token', isNew, 'tenant', 'blinds', 'set_number')} ON CONFLICT (tenant, id) DO NOTHING`,
  );
  const replaceRow = rows<unknown[]>(`UPDATE token SET ${TOKEN_ROW.assigned('blinds', 'set_number')} WHERE token = +?`);
  const removeRow = rows<[number]>('DELETE FROM token WHERE token = +?');

  return {
    /** Returns the token with this id, even if it has expired. */
    find(tenantId: string, tenant: number, id: string): StoredToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = byId().get(tenant, id);
      return row && toStoredToken(tenantId, row);
    },

    /** Returns the presented columns of the token with this id, even if it has expired. */
    findPresented(tenantId: string, tenant: number, id: string): PresentedToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = presentedById().get(tenant, id);
      return row && toPresentedToken(tenantId, row);
    },

    get(tenantId: string, tenant: number, token: number): StoredToken | undefined {
      const row = byNumber().get(token, tenant);
      return row && toStoredToken(tenantId, row);
    },

    /**
     * Returns the number of the new row. Returns undefined when a token with this id exists, or existed. Throws
     * `integrity_failure` if an edit of the file has left no number for it.
     */
    insert(tenant: number, record: TokenRecord, { blinds, set_number }: TokenEntries): number | undefined {
      const values = [...TOKEN_ROW.values(record), tenant, blinds, set_number];
      const { changes, lastInsertRowid } = insertRow().run(...values, tenant, record.id);
      if (changes === 0) return undefined;
      if (lastInsertRowid > MAX_ROW) throw new Problem('integrity_failure');
      return Number(lastInsertRowid);
    },

    replace(token: number, record: TokenRecord, { blinds, set_number }: TokenEntries): void {
      requireOne(replaceRow().run(...TOKEN_ROW.changes(record), blinds, set_number, token));
    },

    remove(token: number): void {
      requireOne(removeRow().run(token));
    },
  };
}

/** Throws `integrity_failure` unless a write changed its row. */
function requireOne({ changes }: { readonly changes: number }): void {
  if (changes !== 1) throw new Problem('integrity_failure');
}

/** Throws `integrity_failure` for values that a vault never writes. A number above `MAX_ROW` may name another row. */
function toStoredToken(tenant_id: string, row: Row): StoredToken {
  const [token, blinds, set_number] = row.slice(TOKEN_ROW.names.length) as [number, unknown, unknown];
  if (token > MAX_ROW) throw new Problem('integrity_failure');
  const entries = { blinds: storedBytes(blinds), set_number: storedNumber(set_number) };
  return { token, ...entries, record: TOKEN_ROW.read(row, { tenant_id }) };
}
