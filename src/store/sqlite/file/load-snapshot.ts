import type { AuditHead } from '../../../core/audit/ports.ts';
import { Fault } from '../../../core/fault.ts';
import type { FileStore, InspectedSnapshot, PruneMark, SignedFacts } from '../../../core/maintenance-ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { Session } from '../commit/session.ts';
import { auditRows } from '../tables/audit-rows.ts';
import { TABLES_OF_TOKENS, TENANT } from '../tables/tenant-rows.ts';
import { uuidText } from '../tables/uuid-bytes.ts';
import { type Connection, selectNumber } from './driver.ts';
import { fileFaultOf } from './probe-disk.ts';
import { SNAPSHOT_APPLICATION_ID, SNAPSHOT_SCHEMA } from './save-snapshot.ts';
import { FORMAT, hasSchema } from './schema.ts';

/**
 * The tables whose rows a load replaces, children last. Rows of `tenant` stay, since a tenant's number never changes.
 */
const REPLACED = ['application', ...TABLES_OF_TOKENS] as const;

const RENEW = { hint: 'delete the snapshot and save a new one' };

/** Queries that count what a snapshot needs but the vault no longer has, and what a number above 0 means. */
const REFUSALS = [
  [
    `SELECT count(*) FROM snapshot.tenant s
    WHERE NOT EXISTS (SELECT 1 FROM main.tenant t WHERE t.tenant = s.tenant AND t.id = s.id)`,
    'the snapshot has a tenant that has since been deleted; its keys are destroyed',
  ],
  // Reads the snapshot's tokens once.
  [
    `WITH used AS MATERIALIZED (SELECT DISTINCT tenant, key_id, index_key_id FROM snapshot.token)
  SELECT count(*) FROM (
    SELECT tenant, key_id FROM snapshot.tenant UNION SELECT tenant, key_id FROM snapshot.application
    UNION SELECT tenant, key_id FROM used UNION SELECT tenant, index_key_id FROM used) s
  WHERE NOT EXISTS (SELECT 1 FROM main.tenant_key k WHERE k.tenant = s.tenant AND k.key_id = s.key_id)`,
    'the snapshot is sealed under keys that `vault keys rotate` has since destroyed',
  ],
] as const;

type Options<Method extends 'loadSnapshot' | 'inspectSnapshot'> = Parameters<FileStore[Method]>[1];

/** Implements `FileStore.loadSnapshot`: other processes see either all old records or all new ones. */
export async function loadSnapshot(
  session: Session,
  path: string,
  { verify, pruned, audit }: Options<'loadSnapshot'>,
): Promise<void> {
  const { connection } = session;
  await withAttached(connection, path, async () => {
    const read = checkedFacts(connection, path, verify);
    await session.write('removed', () => {
      session.touchAuthority();
      const mark = auditRows(connection).findLast([pruned.blind], Number.MAX_SAFE_INTEGER);
      if ((mark?.sequence ?? 0) !== pruned.sequence) throw new Problem('write_conflict');
      refuseForeign(connection, read, pruned);
      replaceRecords(connection);
      auditRows(connection).append(audit(read, tenantsOf(connection)));
    });
  });
  await session.emptyLog();
}

/** Implements `FileStore.inspectSnapshot`. */
export function inspectSnapshot(
  session: Session,
  path: string,
  { verify, loadable }: Options<'inspectSnapshot'>,
): Promise<InspectedSnapshot> {
  const { connection } = session;
  return withAttached(connection, path, async () => {
    const facts = checkedFacts(connection, path, verify);
    const tokens = selectNumber(connection, 'SELECT count(*) FROM snapshot.token');
    try {
      if (loadable) refuseForeign(connection, facts, loadable);
      return { facts, tokens };
    } catch (error) {
      if (error instanceof Fault) return { facts, tokens, refusal: error.message };
      throw error;
    }
  });
}

async function withAttached<T>(connection: Connection, path: string, work: () => Promise<T>): Promise<T> {
  try {
    connection.prepare<[string]>('ATTACH ? AS snapshot').run(path);
    try {
      return await work();
    } finally {
      connection.exec('DETACH snapshot');
    }
  } catch (error) {
    const fault = await fileFaultOf(path, error);
    if (!(fault instanceof Fault) || fault.code !== 'not_a_vault') throw fault;
    // A snapshot was written as a database, so it is damaged if SQLite does not recognize it.
    throw new Fault('damaged', `${path} is damaged`, { cause: error });
  }
}

function checkedFacts(connection: Connection, path: string, verify: Options<'loadSnapshot'>['verify']): SignedFacts {
  const facts = readFacts(connection);
  if (facts === undefined) throw new Fault('damaged', `${path} is not a snapshot of this format`);
  verify(facts);
  return facts;
}

/** Returns the facts of the attached snapshot, or undefined if the file is not a snapshot of this format. */
function readFacts(connection: Connection): SignedFacts | undefined {
  if (connection.pragma('snapshot.application_id', { simple: true }) !== SNAPSHOT_APPLICATION_ID) return undefined;
  if (connection.pragma('snapshot.user_version', { simple: true }) !== FORMAT) return undefined;
  if (!hasSchema(connection, 'snapshot', SNAPSHOT_SCHEMA)) return undefined;
  const facts = connection
    .prepare<[], SignedFacts>('SELECT vault_id, name, saved_at, sequence, link, mac FROM snapshot.facts')
    .get();
  // The values of a damaged row may have other types than the table declares.
  return Buffer.isBuffer(facts?.link) && Buffer.isBuffer(facts.mac) ? facts : undefined;
}

/**
 * Throws `conflict` for a snapshot of a state that this file never had or whose entries were pruned, or with a tenant
 * or a key that no longer exists.
 */
function refuseForeign(connection: Connection, { sequence, link }: AuditHead, pruned: PruneMark): void {
  if (sequence <= pruned.through) {
    throw new Fault('conflict', 'the snapshot is older than the last entry that `vault audit prune` removed', RENEW);
  }
  const [entry] = auditRows(connection).read(sequence - 1, 1);
  if (entry?.sequence !== sequence || Buffer.compare(entry.link, link) !== 0) {
    throw new Fault(
      'conflict',
      'the snapshot is not of an earlier state of this file: one of the two is a diverged copy',
    );
  }
  const refusal = REFUSALS.find(([sql]) => selectNumber(connection, sql) > 0);
  if (refusal !== undefined) throw new Fault('conflict', refusal[1], RENEW);
}

function tenantsOf(connection: Connection): readonly string[] {
  return connection.prepare<[], Buffer>('SELECT id FROM snapshot.tenant').pluck().all().map(uuidText);
}

function replaceRecords(connection: Connection): void {
  // Remove all replies: a reply may have an earlier time than the snapshot although its change was committed later.
  for (const table of [...REPLACED, 'reply']) {
    connection.exec(`DELETE FROM main.${table} WHERE tenant IN (SELECT tenant FROM snapshot.tenant)`);
  }
  // Renumber the snapshot's rows: tenants that are newer than the snapshot may have rows with the same numbers.
  const highest = (table: string) => selectNumber(connection, `SELECT max(${table}) FROM main.${table}`);
  const behind = { token: highest('token'), application: highest('application') };
  for (const table of REPLACED) {
    const columns = connection
      .prepare<[string], string>("SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid")
      .pluck()
      .all(table);
    const values = columns.map((name) =>
      name === 'token' || name === 'application' ? `${name} + ${behind[name]}` : name,
    );
    connection.exec(`INSERT INTO main.${table} (${columns}) SELECT ${values} FROM snapshot.${table}`);
  }
  const assignments = TENANT.changing.map((column) => `${column} = s.${column}`).join(', ');
  connection.exec(`UPDATE main.tenant AS t SET ${assignments} FROM snapshot.tenant s WHERE s.tenant = t.tenant`);
}
