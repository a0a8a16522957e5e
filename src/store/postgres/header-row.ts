import type { Store, VaultHeader } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { optionally, storedBytes, storedInstant, storedNumber, storedText } from '../rows/stored-value.ts';
import { type Connections, type Run, Undo } from './connections.ts';
import { listsOf, type Parameter, type Row, type Statement, storedList } from './sql-client.ts';
import { uuidKey } from './uuid-text.ts';

const COLUMNS = 'vault_id, format, created_at, generation, carried, slot_numbers, slot_bytes, mac';
const READ: Statement = { name: 'header', text: `SELECT ${COLUMNS} FROM vault.header` };
const INSERT: Statement = {
  text: `INSERT INTO vault.header (one, ${COLUMNS}) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8)`,
};
const REPLACE: Statement = {
  text: `UPDATE vault.header SET vault_id = $1, format = $2, created_at = $3, generation = $4, carried = $5,
    slot_numbers = $6, slot_bytes = $7, mac = $8`,
};

const COUNT_KEYS: Statement = { text: 'SELECT count(*) FROM vault.tenant_key' };
/** Parameters: tenant ids, key ids, wrapped keys, new generations, the old generation. */
const REWRAP: Statement = {
  text: `WITH changed AS (UPDATE vault.tenant_key k SET wrapped = w.wrapped, generation = w.generation
    FROM unnest($1::uuid[], $2::integer[], $3::bytea[], $4::integer[]) w (tenant_id, key_id, wrapped, generation)
      JOIN vault.tenant n ON n.id = w.tenant_id
    WHERE k.tenant = n.tenant AND k.key_id = w.key_id AND k.generation = $5 RETURNING 1)
  SELECT count(*) FROM changed`,
};

const optionalBytes = optionally(storedBytes);

function toHeader(row: Row): VaultHeader {
  const bytes = storedList(row[6]);
  const slots = storedList(row[5]).map((slot, at) => ({ slot: storedNumber(slot), bytes: storedBytes(bytes[at]) }));
  return {
    vault_id: storedText(row[0]),
    format: storedNumber(row[1]),
    created_at: storedInstant(row[2]),
    generation: storedNumber(row[3]),
    carried: optionalBytes(row[4]),
    slots: slots.sort((a, b) => a.slot - b.slot),
    mac: storedBytes(row[7]),
  };
}

function toValues(header: VaultHeader): readonly Parameter[] {
  const { vault_id, format, created_at, generation, carried, slots, mac } = header;
  return [vault_id, format, created_at, generation, carried, ...listsOf(slots, 'slot', 'bytes'), mac];
}

/** Resolves to the stored header. Only the keyring can verify it. */
export async function readHeader(run: Run): Promise<VaultHeader> {
  const [row] = await run(READ);
  if (row === undefined) throw new Problem('integrity_failure');
  return toHeader(row);
}

/** Writes the header of a new vault. */
export async function insertHeader(run: Run, header: VaultHeader): Promise<void> {
  await run(INSERT, toValues(header));
}

/** Replaces the header. Resolves to false if the stored one is no longer `expected`. */
async function replace(run: Run, header: VaultHeader, expected: VaultHeader): Promise<boolean> {
  const { mac } = await readHeader(run);
  if (Buffer.compare(mac, expected.mac) !== 0) return false;
  await run(REPLACE, toValues(header));
  return true;
}

/** Returns the functions for the header. */
export function headerMethods({ read, change }: Connections) {
  return {
    header: async () => readHeader(read),

    replaceHeader: (header, expected, audit) =>
      change(async ({ run, record, touchAuthority }) => {
        if (!(await replace(run, header, expected))) return false;
        await Promise.all([record(audit), touchAuthority()]);
        return true;
      }),

    replaceMasterKey: (header, expected, all, audit) =>
      change(async ({ run, record, touchAuthority }) => {
        const wrapped = all.flatMap(({ tenant_id, keys }) =>
          keys.map((key) => ({ ...key, tenant: uuidKey(tenant_id) })),
        );
        const [count] = await run(COUNT_KEYS);
        if (count?.[0] !== wrapped.length || !(await replace(run, header, expected))) return false;
        const [changed] = await run(REWRAP, [
          ...listsOf(wrapped, 'tenant', 'key_id', 'wrapped', 'generation'),
          expected.generation,
        ]);
        // Another process has replaced keys since they were read.
        if (changed?.[0] !== wrapped.length) throw new Undo(false);
        await Promise.all([record(audit), touchAuthority()]);
        return true;
      }),
  } satisfies Partial<Store>;
}
