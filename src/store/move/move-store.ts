import { Fault } from '../../core/fault.ts';
import type { FoundLocation, MoveLocation, MoveSource } from '../../core/move-ports.ts';
import { HEAD_ROW, readHead, readRows } from '../postgres/audit-head.ts';
import { insertStoredHeader, readHeader } from '../postgres/header-row.ts';
import { connectTo, LIMITS, type StoreOptions } from '../postgres/open-connections.ts';
import { readVault, toStoreFault, withConnection } from '../postgres/open-vault-store.ts';
import { perform } from '../postgres/perform.ts';
import { PgError } from '../postgres/pg-error.ts';
import { postgresStore } from '../postgres/postgres-store.ts';
import { setUpRoles } from '../postgres/roles.ts';
import { createSchema, findVault, TABLE_NAMES } from '../postgres/schema.ts';
import { soleConnection } from '../postgres/sole-connection.ts';
import { NOW, readClock, type SqlClient } from '../postgres/sql-client.ts';
import type { StoreUrl } from '../postgres/store-url.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { MOVED_TABLES } from './moved-tables.ts';
import { COMPLETE, OF_TENANT, readStoreRows, writeStoreRows } from './store-rows.ts';

const SETTINGS = `SET LOCAL synchronous_commit TO on; SET LOCAL idle_in_transaction_session_timeout TO 0;
  SET LOCAL statement_timeout TO 0; SET LOCAL lock_timeout TO '10s'`;
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; ${SETTINGS}`;
const BEGIN_COPY = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${SETTINGS}`;

const COUNT = `SELECT count(*) FROM vault.token WHERE deleted_at IS NULL AND ${OF_TENANT}`;

/** Makes the format negative, so that no process serves the vault. */
const NEGATE = 'UPDATE vault.format SET format = -format';
const SERVE = 'UPDATE vault.format SET format = -format WHERE format < 0';
/** The statements that end the service of a source. */
const LEAVE: readonly string[] = [NEGATE, `UPDATE vault.head SET left_at = ${NOW}`];
const TAKE_BACK: readonly string[] = [SERVE, 'UPDATE vault.head SET left_at = NULL'];
const ADD_LAST = 'INSERT INTO vault.audit (sequence, at, sealed, link) VALUES ($1, $2, $3, $4)';

/** Distinguishes an unfinished copy from a source that was moved away. Both have a negative format. */
const FIND_LEFT = `SELECT left_at IS NOT NULL, (SELECT sealed FROM vault.audit ORDER BY sequence DESC LIMIT 1)
    FROM vault.head`;
const HAS_ROW = 'SELECT 1 FROM vault.audit WHERE sealed = $1 LIMIT 1';
/** The rows that a new schema has, and that the copy replaces. */
const EMPTY = ['DELETE FROM vault.head', 'DELETE FROM vault.sweep', 'DELETE FROM vault.audit'];
const ANALYZED = ['token', 'token_index', 'audit', 'audit_index'];

/** Returns a database as the location of a vault that is moved. `grant` is the role of the daemons of the target. */
export function movedStore(
  url: StoreUrl,
  options: StoreOptions & { readonly grant?: string | undefined },
): MoveLocation {
  /** Runs `work` in one transaction. */
  const inTransaction = <T>(work: (client: SqlClient) => Promise<T>): Promise<T> =>
    withConnection(url, LIMITS.inspection, options, async (client) => {
      await client.run(BEGIN);
      const result = await work(client);
      await client.commit();
      return result;
    });

  const runAll = (statements: readonly string[]) =>
    inTransaction(async ({ run }) => {
      for (const statement of statements) await run(statement);
    });

  const findAt = (role: 'source' | 'target'): Promise<FoundLocation> =>
    withConnection(url, LIMITS.inspection, options, (client) => findState(client, url, role));

  return {
    shown: url.shown,
    find: findAt,
    hasRow: (sealed) => inTransaction(async ({ run }) => (await run(HAS_ROW, [sealed])).length > 0),
    openSource: (keep) => openSource(url, options, keep),

    makeCopy: (header, make) =>
      inTransaction(async (client) => {
        const { run } = client;
        await createSchema(client, url);
        await perform(run, insertStoredHeader(header));
        for (const statement of [...EMPTY, NEGATE]) await run(statement);
        await make.fill(writeStoreRows(run), readStoreRows(run));
        for (const statement of COMPLETE) await run(statement);
        for (const table of ANALYZED) await run(`ANALYZE vault.${table}`);
        await make.check(postgresStore(soleConnection(client)));
        await setUpRoles(run, url, options.grant);
      }),

    async removeCopy() {
      // Other tables may have the same names.
      if ((await findAt('target')).state !== 'copied') return;
      await runAll(TABLE_NAMES.map((table) => `DROP TABLE vault.${table}`));
    },
    finishCopy: () => runAll([SERVE]),
    takeBack: () => runAll(TAKE_BACK),
  };
}

/** Rejects with the faults of a missing vault and of other formats if the location must be a source. */
async function findState(client: SqlClient, url: StoreUrl, role: 'source' | 'target'): Promise<FoundLocation> {
  const { state, vaultId = '' } = await findVault(client.run);
  if (state === 'moved') {
    const [[isLeft, sealed] = []] = await client.run(FIND_LEFT);
    return { state: isLeft === true ? 'moved_away' : 'copied', vaultId, sealed: storedBytes(sealed) };
  }
  if (role === 'source') await readVault(client, url);
  return state === 'missing' ? { state: 'empty' } : { state: 'vault', vaultId };
}

async function openSource(url: StoreUrl, options: StoreOptions, keep: boolean): Promise<MoveSource> {
  const client = await connectTo(url, LIMITS.inspection, options);
  const { run } = client;
  try {
    await run(keep ? BEGIN_COPY : BEGIN);
    if (!keep) await run(HEAD_ROW.lockHead);
    await readVault(client, url);
    const [count] = await run(COUNT);
    return {
      header: await readHeader(run),
      tokens: storedNumber(count?.[0]),
      now: await readClock(client),
      tables: MOVED_TABLES,
      rows: readStoreRows(run),
      auditHead: () => readHead(run),
      readAudit: (after, limit) => readRows(run, after, limit),
      async leave(last) {
        await run(ADD_LAST, [last.sequence, last.at, last.sealed, last.link]);
        for (const statement of LEAVE) await run(statement);
        await client.commit();
      },
      close: () => client.close(),
    };
  } catch (error) {
    client.destroy();
    throw toUseFault(url, error);
  }
}

/** Returns the fault for an error. A lock that other processes hold for long becomes `locked_by_other`. */
function toUseFault(url: StoreUrl, error: unknown): unknown {
  if (!(error instanceof PgError) || error.code !== '55P03') return toStoreFault(url, error);
  return new Fault('locked_by_other', `${url.shown} is in use by another command`, {
    hint: 'wait for `vault move` or `vault keys rotate` of another process, then try again',
    cause: error,
  });
}
