import { expect, onTestFinished } from 'vitest';
import { linkOf, NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import { entryParameters, type QueuedWrite, type Run } from '../../src/store/postgres/connections.ts';
import { connectTo, holdConnection } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl, type StoreUrl } from '../../src/store/postgres/store-url.ts';
import { entriesOf, givenIn } from '../../src/store/postgres/token-statements.ts';
import { openWriteQueue, type WriteQueue, type WriteQueueOptions } from '../../src/store/postgres/write-queue.ts';
import { LOSSES } from '../../src/store/rows/channels.ts';
import { entry, HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

const OPTIONS = { insecure: true };

let database: Promise<string> | undefined;
let schemas = 0;

/** Creates a vault without tenants in a new schema. All schemas are in one database. */
export async function createTestStore(): Promise<StoreUrl> {
  database ??= createDatabase();
  const url = parseStoreUrl(`${await database}?sslmode=disable&schema=queue_${schemas++}`);
  await createVaultStore(url, HEADER, async () => undefined, OPTIONS);
  return url;
}

export async function openTestClient(url: StoreUrl): Promise<SqlClient> {
  const client = await connectTo(url, 10_000, OPTIONS);
  onTestFinished(() => client.close());
  return client;
}

export function openTestQueue(url: StoreUrl, options?: WriteQueueOptions): WriteQueue {
  const connection = holdConnection(() => connectTo(url, 10_000, OPTIONS));
  const queue = openWriteQueue(connection.get, () => connection.drop(), options);
  onTestFinished(async () => {
    await queue.close();
    await connection.close();
  });
  return queue;
}

const CHANGE = {
  name: 'testChange',
  text: `WITH ${givenIn(3, 'tenant integer')},
    made AS (INSERT INTO vault.purge (tenant, since) SELECT tenant, 0 FROM given
      ON CONFLICT (tenant) DO NOTHING RETURNING tenant),
    changed AS MATERIALIZED (SELECT ordinal FROM given JOIN made USING (tenant)), ${entriesOf('changed')}
    SELECT count(*) FROM changed`,
};

/** Returns a write that adds a row with this number, and refuses if there is one. */
export function writeOf(
  row: number,
  parts: Partial<QueuedWrite<'made' | 'refused'>> = {},
): QueuedWrite<'made' | 'refused'> {
  return {
    audit: entry(`row ${row}`),
    written: 'made',
    statements: (drafts) => [[CHANGE, [...entryParameters(drafts), [row]]]],
    read([rows]) {
      const isMade = rows?.[0]?.[0] === 1;
      return { hasChanged: isMade, result: isMade ? 'made' : 'refused' };
    },
    ...parts,
  };
}

/** Returns the texts of the audit's entries, after checking their links. `texts` are all that may occur. */
export async function auditTexts(run: Run, texts: readonly string[]): Promise<readonly string[]> {
  const names = new Map(texts.map((text) => [Buffer.from(entry(text).sealed).toString('hex'), text]));
  const rows = await run({
    text: 'SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > 0 ORDER BY sequence',
  });
  let previous = NO_LINK;
  let commit: AuditEntry[] = [];
  const found = rows.map(([sequence, at, sealed, link], index) => {
    if (!Buffer.isBuffer(sealed) || !Buffer.isBuffer(link)) throw new Error('no bytes');
    expect(sequence).toBe(index + 1);
    commit.push({ sequence: Number(sequence), at: Number(at), sealed, link });
    if (link.length > 0) {
      expect(Buffer.from(linkOf(previous, commit)).toString('hex')).toBe(link.toString('hex'));
      [previous, commit] = [link, []];
    }
    return names.get(sealed.toString('hex')) ?? 'unknown';
  });
  expect(commit).toEqual([]);
  return found;
}

/** Returns the losses that are reported until the end of the test. */
export function lossesOf(): unknown[] {
  const losses: unknown[] = [];
  const onLoss = (loss: unknown) => void losses.push(loss);
  LOSSES.subscribe(onLoss);
  onTestFinished(() => void LOSSES.unsubscribe(onLoss));
  return losses;
}
