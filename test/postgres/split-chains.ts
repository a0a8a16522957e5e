import { createChainRecorder } from '../../src/core/audit/chain-events.ts';
import type { AuditDraft, AuditHead } from '../../src/core/audit/ports.ts';
import { storedBytes, storedNumber } from '../../src/store/rows/stored-value.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import type { StorePlace } from '../../src/vault/place.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { openTestClient } from './lane-fixture.ts';

/**
 * Rewrites the audit of a store as if a second process had written every other row after the first `kept` rows: opens
 * chain 1, divides the rows, records chain 1 in the root, and then its end.
 */
export async function splitChains(place: StorePlace, kept: number): Promise<void> {
  const { store, keyring, audit, close } = await openForKeyHolder({ store: place, credential: CREDENTIAL });
  const { run } = await openTestClient(place.url);
  try {
    const rows = await run({
      text: `SELECT sequence, at, sealed FROM vault.audit WHERE chain = 0 AND sequence > ${kept} ORDER BY sequence`,
    });
    const subjects = await run({
      text: `SELECT sequence, n, uuid_send(blind) FROM vault.audit_subject WHERE sequence > ${kept}`,
    });
    await run({ text: `DELETE FROM vault.audit WHERE chain = 0 AND sequence > ${kept}` });
    await run({ text: `DELETE FROM vault.audit_subject WHERE sequence > ${kept}` });
    const heads = new Map([['0', await store.auditHead('0')]]);
    const append = async (chain: string, { at, sealed, link }: Pick<AuditDraft, 'at' | 'sealed' | 'link'>) => {
      const head: AuditHead | undefined = heads.get(chain);
      const sequence = (head?.sequence ?? 0) + 1;
      const own = link(head?.link ?? new Uint8Array(), sequence);
      heads.set(chain, { chain, sequence, link: own });
      await run({ text: 'INSERT INTO vault.audit VALUES ($1, $2, $3, $4, $5)' }, [chain, sequence, at, own, sealed]);
      return { chain, sequence, link: own };
    };
    const recorder = createChainRecorder(audit);
    const opened = await append('0', recorder.opened('1'));
    heads.set('1', { ...opened, chain: '1', sequence: 0 });
    await run({ text: 'INSERT INTO vault.chain VALUES (1, 5, 5, 6, 7, 0)' });
    await run({ text: "INSERT INTO vault.audit VALUES (1, 0, $1, $2, '')" }, [storedNumber(rows[0]?.[1]), opened.link]);
    for (const [index, [old, at, sealed]] of rows.entries()) {
      const draft = { at: storedNumber(at), sealed: storedBytes(sealed) };
      const link: AuditDraft['link'] = (previous, sequence) => keyring.auditLink(previous, { ...draft, sequence });
      const { chain, sequence } = await append(String(index % 2), { ...draft, link });
      for (const [, n, blind] of subjects.filter(([of]) => of === old)) {
        const text = "INSERT INTO vault.audit_subject VALUES (encode($1, 'hex')::uuid, $2, $3, $4)";
        await run({ text }, [storedBytes(blind), chain, sequence, storedNumber(n)]);
      }
    }
    const end = heads.get('1') ?? opened;
    await append('0', recorder.noted([end]));
    await append('0', recorder.closed(end));
    await run({ text: 'DELETE FROM vault.audit_index' });
    await run({ text: 'UPDATE vault.chain SET logged = 0' });
  } finally {
    await close();
  }
}
