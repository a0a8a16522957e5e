import type { Instant, TokenRecord } from '../../core/ports.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { optionalBytes, optionalNumber, storedBytes, storedNumber, storedText } from './stored-value.ts';
import { TOKEN_TYPE_CODES, tokenType } from './type-codes.ts';
import { optionalUuidBytes, optionalUuidText, uuidBytes, uuidText } from './uuid-bytes.ts';

export interface TokenRow {
  readonly token: number;
  readonly id: string;
  readonly type: number;
  readonly created_by: Buffer;
  readonly created_at: number;
  readonly modified_by: Buffer | null;
  readonly modified_at: number | null;
  readonly expires_at: number | null;
  readonly revision: number;
  readonly key_id: number;
  readonly index_key_id: number;
  readonly active_month: number;
  readonly blinds: Buffer;
  readonly details: Buffer;
  readonly masked: Buffer | null;
  readonly definition: Buffer;
  readonly data: Buffer;
}

export const TOKEN_COLUMNS = `token, id, type, created_by, created_at, modified_by, modified_at, expires_at, revision, key_id,
  index_key_id, active_month, blinds, details, masked, definition, data`;

/** A row of `token` with what the record does not say. */
export interface StoredToken {
  /** The number that stands for the token inside the file. */
  readonly token: number;
  readonly typeCode: number;
  readonly blinds: Buffer;
  readonly record: TokenRecord;
}

/** The table `token`, row by row. All functions are synchronous and need a transaction where they write. */
export type TokenRows = ReturnType<typeof tokenRows>;

export function tokenRows(connection: Connection) {
  const byId = once(() =>
    connection.prepare<[number, string], TokenRow>(`SELECT ${TOKEN_COLUMNS} FROM token WHERE tenant = +? AND id = +?`),
  );
  const byNumber = once(() =>
    connection.prepare<[number, number], TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM token WHERE token = +? AND tenant = +?`,
    ),
  );
  const insertRow = once(() =>
    connection.prepare<
      [
        number,
        string,
        number,
        Buffer,
        number,
        Buffer | null,
        number | null,
        number | null,
        number,
        number,
        number,
        number,
        Buffer,
        Uint8Array,
        Uint8Array | null,
        Uint8Array,
        Uint8Array,
      ]
    >(
      `INSERT INTO token (tenant, id, type, created_by, created_at, modified_by, modified_at, expires_at, revision,
         key_id, index_key_id, active_month, blinds, details, masked, definition, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  );
  // Type, creator and time of creation never change, and the month belongs to `markActive`: a patch that read the
  // record before it was counted must not take the count back.
  const replaceRow = once(() =>
    connection.prepare<
      [
        Buffer | null,
        number | null,
        number | null,
        number,
        number,
        number,
        Buffer,
        Uint8Array,
        Uint8Array | null,
        Uint8Array,
        Uint8Array,
        number,
      ]
    >(
      `UPDATE token SET modified_by = ?, modified_at = ?, expires_at = ?, revision = ?, key_id = ?, index_key_id = ?,
         blinds = ?, details = ?, masked = ?, definition = ?, data = ?
       WHERE token = +?`,
    ),
  );
  const removeRow = once(() => connection.prepare<[number]>('DELETE FROM token WHERE token = +?'));

  return {
    /** Expired ones too: it is the row that is asked for. */
    find(tenantId: string, tenant: number, id: string): StoredToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = byId().get(tenant, id);
      return row && toStoredToken(tenantId, row);
    },

    get(tenantId: string, tenant: number, token: number): StoredToken | undefined {
      const row = byNumber().get(token, tenant);
      return row && toStoredToken(tenantId, row);
    },

    /** Answers the number of the new row. */
    insert(tenant: number, record: TokenRecord, blinds: Buffer): number {
      if (!isStorableText(record.id)) throw new RangeError('the id of a token must be well-formed Unicode');
      const { lastInsertRowid } = insertRow().run(
        tenant,
        record.id,
        TOKEN_TYPE_CODES[record.type],
        uuidBytes(record.created_by),
        record.created_at,
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.expires_at ?? null,
        record.revision,
        record.key_id,
        record.index_key_id,
        record.active_month,
        blinds,
        record.details,
        record.masked ?? null,
        record.definition,
        record.data,
      );
      return Number(lastInsertRowid);
    },

    replace(token: number, record: TokenRecord, blinds: Buffer): void {
      replaceRow().run(
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.expires_at ?? null,
        record.revision,
        record.key_id,
        record.index_key_id,
        blinds,
        record.details,
        record.masked ?? null,
        record.definition,
        record.data,
        token,
      );
    },

    remove(token: number): void {
      removeRow().run(token);
    },
  };
}

/** A lone surrogate would become U+FFFD on its way into the file, and so find what it is not. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed();
}

export function isExpired(record: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return record.expires_at !== undefined && record.expires_at <= now;
}

export function toStoredToken(tenantId: string, row: TokenRow): StoredToken {
  const record: TokenRecord = {
    id: storedText(row.id),
    tenant_id: tenantId,
    type: tokenType(row.type),
    created_by: uuidText(row.created_by),
    created_at: storedNumber(row.created_at),
    modified_by: optionalUuidText(row.modified_by),
    modified_at: optionalNumber(row.modified_at),
    expires_at: optionalNumber(row.expires_at),
    revision: storedNumber(row.revision),
    key_id: storedNumber(row.key_id),
    index_key_id: storedNumber(row.index_key_id),
    active_month: storedNumber(row.active_month),
    data: storedBytes(row.data),
    masked: optionalBytes(row.masked),
    details: storedBytes(row.details),
    definition: storedBytes(row.definition),
  };
  return { token: row.token, typeCode: row.type, blinds: row.blinds, record };
}
