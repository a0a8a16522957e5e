import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { optionally, storedInstant, storedText } from '../rows/stored-value.ts';
import type { Connections } from './connections.ts';
import type { Statement } from './sql-client.ts';
import { storedUuid } from './uuid-text.ts';

/** Each call asks for the version, so daemons notice at once that the vault was moved away. */
const AUTHORITY: Statement = {
  name: 'authorityVersion',
  text: 'SELECT s.authority, f.format < 0 FROM vault.sweep s, vault.format f',
};

// A sweep is also due if the last one is far in the future: a sweep under a clock far ahead must not stop later ones.
// The column has no MAC, because an edit can only delay one sweep by an hour or start it at once.
const IS_DUE = 'SELECT swept_at NOT BETWEEN $1 AND $2 FROM vault.sweep';
const CLAIM = 'UPDATE vault.sweep SET swept_at = $3 WHERE swept_at NOT BETWEEN $1 AND $2 RETURNING 1';

const NOTE = 'SELECT clock_note FROM vault.sweep';
const REPLACE_NOTE = 'UPDATE vault.sweep SET clock_note = $1 WHERE clock_note = $2 RETURNING 1';

const optionalInstant = optionally(storedInstant);

/**
 * Returns the query for the first or last expiry of live records that meets the condition. The other conditions are
 * those of the indexes.
 */
function expiries(aggregate: 'min' | 'max', condition: string): string {
  return `SELECT ${aggregate}(expires_at) AS at FROM vault.token
      WHERE expires_at IS NOT NULL AND deleted_at IS NULL AND expires_at ${condition}
    UNION ALL SELECT ${aggregate}(expires_at) FROM vault.application WHERE expires_at IS NOT NULL AND expires_at ${condition}`;
}
const LATEST = `SELECT max(at) FROM (${expiries('max', '<= $1')}) e`;
const NEXT = `SELECT min(at) FROM (${expiries('min', '> $1')}) e`;

/** Returns the functions for the row of `sweep` and the times of expiries, which all processes share. */
export function sweepMethods({ read, change }: Connections) {
  let authority: Promise<string> | undefined;

  return {
    authorityVersion() {
      // All callers of one turn share a query. Send it after the last call, so that each caller sees every change that
      // was committed before its call.
      authority ??= nextTurn().then(async () => {
        authority = undefined;
        const [[version, isMoved] = []] = await read(AUTHORITY);
        if (isMoved === true) throw new Problem('vault_moved', { retryAfter: 1 });
        return storedUuid(version);
      });
      return authority;
    },

    async claimSweep(now, interval) {
      const near = [now - interval + 1, now + interval - 1];
      // Read first: most callers do not get the claim, and a read needs no lock.
      const [row] = await read(IS_DUE, near);
      return row?.[0] === true && change(async ({ run }) => (await run(CLAIM, [...near, now])).length === 1);
    },

    async clockNote() {
      const [row] = await read(NOTE);
      return storedText(row?.[0]);
    },

    replaceClockNote: (note, expected) =>
      change(async ({ run }) => (await run(REPLACE_NOTE, [note, expected])).length === 1),

    async latestExpiry(now) {
      const [row] = await read(LATEST, [now]);
      return optionalInstant(row?.[0]) ?? 0;
    },

    async nextExpiry(now) {
      const [row] = await read(NEXT, [now]);
      return optionalInstant(row?.[0]);
    },
  } satisfies Partial<Store>;
}
