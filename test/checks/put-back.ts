import type { OperationId } from '../../src/contract/operations.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import type { Perform } from './perform.ts';
import { tamperFile } from './tamper-file.ts';

export interface KeptTable {
  readonly table: string;
  readonly rows: readonly object[];
}

/** The tables with records, in the order of writing. */
export const TABLES = [
  ...['header', 'slot', 'tenant', 'tenant_key', 'application', 'application_key', 'token', 'token_index'],
  ...['container_set', 'tombstone', 'audit', 'audit_index'],
];

/** SQL that computes the counters of tokens again. */
export const COUNTERS = `DELETE FROM counter WHERE tenant > 0;
  INSERT INTO counter SELECT tenant, type, 0, key_id, index_key_id, sum(live), max(created_at), '' FROM
    (SELECT tenant, type, key_id, index_key_id, 1 AS live, created_at FROM token
     UNION ALL SELECT tenant, type, 0, 0, 0, created_at FROM tombstone) GROUP BY 1, 2, 4, 5;
  INSERT INTO counter SELECT tenant, 0, active_month, 0, 0, count(*), 0, '' FROM token GROUP BY 1, 3;`;

export function keepRows(file: string): Promise<readonly KeptTable[]> {
  return tamperFile(file, (connection) =>
    TABLES.map((table) => ({ table, rows: connection.prepare<[], object>(`SELECT * FROM ${table}`).all() })),
  );
}

export function insertRow(connection: Connection, table: string, row: object): void {
  const names = Object.keys(row);
  const values = names.map((name) => `@${name}`);
  connection.prepare<[object]>(`INSERT INTO ${table} (${names}) VALUES (${values})`).run(row);
}

/**
 * Restores older rows of these tables and recomputes the counters. The vault wrote every row itself, so all of them can
 * be decrypted.
 */
export async function putBack(
  file: string,
  kept: readonly KeptTable[],
  tables: readonly string[] = TABLES,
): Promise<void> {
  await tamperFile(file, (connection) => {
    connection.exec('PRAGMA foreign_keys = OFF');
    for (const { table, rows } of kept) {
      if (!tables.includes(table)) continue;
      connection.exec(`DELETE FROM ${table}`);
      for (const row of rows) insertRow(connection, table, row);
    }
    connection.exec(COUNTERS);
  });
}

/** The API keys of an application with all token permissions and of a management application. */
export interface ActingKeys {
  readonly apiKey: string;
  readonly management: string;
}

export const TOKENS = ['token', 'token_index', 'container_set', 'tombstone'];
const NEW_TOKEN = { body: { type: 'token', data: 1 } };

/** Returns the first private application, which owns `apiKey`, and the id of this key. */
export async function privateApplication(
  perform: Perform,
  { management }: ActingKeys,
): Promise<{ readonly id: string; readonly keyId: string }> {
  const { body } = await perform(management, 'listApplications');
  const listed = body['data'] as readonly { readonly id: string; readonly type: string }[];
  const id = listed.findLast(({ type }) => type === 'private')?.id ?? '';
  const keys = (await perform(management, 'listApplicationKeys', { id })).list as readonly { readonly id: string }[];
  return { id, keyId: keys.at(-1)?.id ?? '' };
}

export type Act = (perform: Perform, keys: ActingKeys) => Promise<unknown>;

export const onApplication =
  (operation: OperationId): Act =>
  async (perform, keys) =>
    perform(keys.management, operation, await privateApplication(perform, keys));

type Rollback = readonly [act: Act, tables: readonly string[], table: string, what: RegExp];

/** Changes, the tables whose older rows are restored afterwards, and the finding that `vault doctor` must report. */
export const ROLLBACKS: Readonly<Record<string, Rollback>> = {
  'a token as it was before a change': [
    (perform, { apiKey }) => perform(apiKey, 'updateToken', { id: 'token-1', body: { data: 'newer' } }),
    TOKENS,
    'token',
    /older row was restored/,
  ],
  'a token that was deleted': [
    (perform, { apiKey }) => perform(apiKey, 'deleteToken', { id: 'token-1' }),
    TOKENS,
    'token',
    /was removed according to the audit/,
  ],
  'an application as it was before its key was regenerated': [
    onApplication('regenerateApplicationKey'),
    ['application'],
    'application',
    /older row was restored|counted fewer API keys/,
  ],
  'the keys of an application that was regenerated': [
    onApplication('regenerateApplicationKey'),
    ['application_key'],
    'application_key',
    /was removed according to the audit|removed outside the vault|was replaced by a later API key/,
  ],
  'an API key that was deleted': [
    onApplication('deleteApplicationKey'),
    ['application_key'],
    'application_key',
    /was removed according to the audit/,
  ],
  'an application that was deleted': [
    onApplication('deleteApplication'),
    ['application'],
    'application',
    /was removed according to the audit/,
  ],
  'the tenant as it was before a change': [
    (perform, { management }) =>
      perform(management, 'updateTenant', { body: { name: 'x', settings: { deduplicate_tokens: 'true' } } }),
    ['tenant'],
    'tenant',
    /older row was restored/,
  ],
  'the state before a token was made': [
    (perform, { apiKey }) => perform(apiKey, 'createToken', NEW_TOKEN),
    TOKENS,
    'token',
    /removed outside the vault/,
  ],
  'rows and audit, but for the newest token': [
    (perform, { apiKey }) => perform(apiKey, 'createToken', NEW_TOKEN),
    ['audit'],
    'token',
    /is not in the audit/,
  ],
};
