import type { Store, VaultHeader } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { SharedParts } from './dialect.ts';
import { raw, sql } from './fragment.ts';
import { Rollback } from './rollback.ts';
import { askValue, type StoreSteps } from './store-steps.ts';
import { numberOfTenant } from './tenant-number.ts';

export function headerMethods({ dialect, read, change }: SharedParts) {
  /** Replaces the header. Returns false if the stored one is no longer `expected`. */
  function* replace(header: VaultHeader, expected: VaultHeader): StoreSteps<boolean> {
    const stored = yield* dialect.readHeader();
    if (stored === undefined || Buffer.compare(stored.mac, expected.mac) !== 0) return false;
    yield* dialect.writeHeader(header);
    return true;
  }

  return {
    header: () =>
      read(function* () {
        const header = yield* dialect.readHeader();
        if (header === undefined) throw new Problem('integrity_failure');
        return header;
      }),

    replaceHeader: (header, expected, audit) =>
      change('destroyed', function* () {
        if (!(yield* replace(header, expected))) return false;
        yield { entry: audit };
        return true;
      }),

    replaceMasterKey: (header, expected, all, audit) =>
      change('destroyed', function* () {
        const wrapped = all.flatMap(({ tenant_id, keys }) => keys.map((key) => ({ ...key, tenant_id })));
        const count = yield* askValue(raw('SELECT count(*) FROM vault.tenant_key'));
        if (count !== wrapped.length || !(yield* replace(header, expected))) return false;
        const rewrapped = yield wrapped.map(
          (key) => sql`UPDATE vault.tenant_key SET wrapped = ${key.wrapped}, generation = ${key.generation}
            WHERE tenant = ${numberOfTenant(dialect, key.tenant_id)} AND key_id = ${key.key_id}
              AND generation = ${expected.generation} RETURNING 1`,
        );
        // Another process has replaced keys since they were read.
        if (rewrapped.flat().length !== wrapped.length) throw new Rollback(false);
        yield { entry: audit };
        return true;
      }),
  } satisfies Partial<Store>;
}
