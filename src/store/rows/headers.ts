import type { Store, VaultHeader } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { SharedParts } from './dialect.ts';
import { raw } from './fragment.ts';
import { Rollback } from './rollback.ts';
import { askValue, type StoreSteps } from './store-steps.ts';

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
        const rewrapped = yield dialect.rewrapped(wrapped, expected.generation);
        // Another process has replaced keys since they were read.
        if (rewrapped.flat().length !== wrapped.length) throw new Rollback(false);
        yield { entry: audit };
        return true;
      }),
  } satisfies Partial<Store>;
}
