import type { Store, VaultHeader } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { bytes, columns, instant, number, optional, text } from '../rows/columns.ts';
import type { SqlParameter } from '../rows/fragment.ts';
import { Rollback } from '../rows/rollback.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run } from './connections.ts';
import { firstValue, listsOf, numbered, type Row, type Statement, storedList } from './sql-client.ts';
import { uuidKey } from './uuid-text.ts';

const HEADER = columns<Omit<VaultHeader, 'slots'>>({
  vault_id: text,
  format: number,
  created_at: instant,
  generation: number,
  carried: optional(bytes),
  mac: bytes,
});
const SLOTS = ['slot_numbers', 'slot_bytes'];

const READ: Statement = { name: 'header', text: `SELECT ${[...HEADER.names, ...SLOTS]} FROM vault.header` };
const INSERT = numbered(HEADER.insertInto('vault.header', ...SLOTS));
const REPLACE = numbered(`UPDATE vault.header SET ${HEADER.assigned(...SLOTS)}`);

const COUNT_KEYS = 'SELECT count(*) FROM vault.tenant_key';
/** Parameters: tenant ids, key ids, wrapped keys, new generations, the old generation. */
const REWRAP = `WITH changed AS (UPDATE vault.tenant_key k SET wrapped = w.wrapped, generation = w.generation
    FROM unnest($1::uuid[], $2::integer[], $3::bytea[], $4::integer[]) w (tenant_id, key_id, wrapped, generation)
      JOIN vault.tenant n ON n.id = w.tenant_id
    WHERE k.tenant = n.tenant AND k.key_id = w.key_id AND k.generation = $5 RETURNING 1)
  SELECT count(*) FROM changed`;

function toHeader(row: Row): VaultHeader {
  const [numbers = [], all = []] = row.slice(HEADER.names.length).map(storedList);
  const slots = numbers.map((slot, at) => ({ slot: storedNumber(slot), bytes: storedBytes(all[at]) }));
  return HEADER.readList(row, { slots: slots.sort((a, b) => a.slot - b.slot) });
}

function toValues(header: VaultHeader): readonly SqlParameter[] {
  return [...HEADER.values(header), ...listsOf(header.slots, 'slot', 'bytes')];
}

/** Resolves to the stored header. Only the keyring can verify it. */
export async function readHeader(run: Run): Promise<VaultHeader> {
  const [row] = await run(READ);
  if (row === undefined) throw new Problem('integrity_failure');
  return toHeader(row);
}

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

export function headerMethods({ read, change }: Connections) {
  return {
    header: async () => readHeader(read),

    replaceHeader: (header, expected, audit) =>
      change(async ({ run, record }) => {
        if (!(await replace(run, header, expected))) return false;
        await record(audit);
        return true;
      }),

    replaceMasterKey: (header, expected, all, audit) =>
      change(async ({ run, record }) => {
        const wrapped = all.flatMap(({ tenant_id, keys }) =>
          keys.map((key) => ({ ...key, tenant: uuidKey(tenant_id) })),
        );
        const count = firstValue(await run(COUNT_KEYS));
        if (count !== wrapped.length || !(await replace(run, header, expected))) return false;
        const lists = listsOf(wrapped, 'tenant', 'key_id', 'wrapped', 'generation');
        const changed = firstValue(await run(REWRAP, [...lists, expected.generation]));
        // Another process has replaced keys since they were read.
        if (changed !== wrapped.length) throw new Rollback(false);
        await record(audit);
        return true;
      }),
  } satisfies Partial<Store>;
}
