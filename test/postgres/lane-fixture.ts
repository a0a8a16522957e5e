import { expect, onTestFinished } from 'vitest';
import { NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { AuditDraft } from '../../src/core/audit/ports.ts';
import { type LaneMember, placeParameters, type Run } from '../../src/store/postgres/connections.ts';
import { type Lane, type LaneOptions, openLane } from '../../src/store/postgres/lane.ts';
import { connectTo, holdConnection } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl, type StoreUrl } from '../../src/store/postgres/store-url.ts';
import { HEAD } from '../../src/store/postgres/token-statements.ts';
import { entry, HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

const OPTIONS = { insecure: true };

let database: Promise<string> | undefined;
let schemas = 0;

/** Creates a vault without tenants in a new schema. All schemas are in one database. */
export async function createTestStore(): Promise<StoreUrl> {
  database ??= createDatabase();
  const url = parseStoreUrl(`${await database}?sslmode=disable&schema=lane_${schemas++}`);
  await createVaultStore(url, HEADER, async () => undefined, OPTIONS);
  return url;
}

/** Opens a connection for the rest of the test. */
export async function openTestClient(url: StoreUrl): Promise<SqlClient> {
  const client = await connectTo(url, 10_000, OPTIONS);
  onTestFinished(() => client.close());
  return client;
}

/** Opens a lane for the rest of the test. */
export function openTestLane(url: StoreUrl, options?: LaneOptions): Lane {
  const connection = holdConnection(() => connectTo(url, 10_000, OPTIONS));
  const lane = openLane(connection.get, () => connection.drop(), options);
  onTestFinished(async () => {
    await lane.close();
    await connection.close();
  });
  return lane;
}

const CHANGE = {
  name: 'testChange',
  text: `WITH ${HEAD},
    made AS (INSERT INTO vault.purge (tenant, since) SELECT $6::integer, 0 FROM head
      ON CONFLICT (tenant) DO NOTHING RETURNING 1),
    entry AS (INSERT INTO vault.audit (sequence, at, sealed, link)
      SELECT $1, ($3::bigint[])[1], ($4::bytea[])[1], ($5::bytea[])[1] FROM made)
    SELECT (SELECT count(*) FROM head), (SELECT count(*) FROM made)`,
};

/** Returns a member that adds a row with this number, and refuses if there is one. */
export function memberOf(
  row: number,
  parts: Partial<LaneMember<'made' | 'refused'>> = {},
): LaneMember<'made' | 'refused'> {
  return {
    audit: entry(`row ${row}`, `row ${row}`),
    written: 'made',
    statements: (places) => {
      if (places.length === 0) throw new Error('no place');
      return [[CHANGE, [...placeParameters(places), row]]];
    },
    read([rows]) {
      const [head, made] = rows?.[0] ?? [];
      if (head !== 1) return undefined;
      return { hasChanged: made === 1, result: made === 1 ? 'made' : 'refused' };
    },
    ...parts,
  };
}

/** Returns the texts of the audit's entries, after checking their links. `texts` are all that may occur. */
export async function auditTexts(run: Run, texts: readonly string[]): Promise<readonly string[]> {
  const drafts = new Map<string, readonly [string, AuditDraft]>(
    texts.map((text) => [Buffer.from(entry(text).sealed).toString('hex'), [text, entry(text)]]),
  );
  const rows = await run({
    text: 'SELECT sequence, sealed, link FROM vault.audit WHERE sequence > 0 ORDER BY sequence',
  });
  let previous = NO_LINK;
  return rows.map(([sequence, sealedBytes, link], at) => {
    if (!Buffer.isBuffer(sealedBytes) || !Buffer.isBuffer(link)) throw new Error('no bytes');
    expect(sequence).toBe(at + 1);
    const [text, draft] = drafts.get(sealedBytes.toString('hex')) ?? ['unknown', undefined];
    expect(Buffer.from(draft?.link(previous, at + 1) ?? []).toString('hex'), text).toBe(link.toString('hex'));
    previous = link;
    return text;
  });
}
