import { beforeEach, describe, expect, it } from 'vitest';
import { linkOf, NO_LINK, START } from '../../src/core/audit/audit-link.ts';
import type { AuditEntry, AuditHead } from '../../src/core/audit/ports.ts';
import { createSeenRows } from '../../src/core/audit/seen-rows.ts';
import { walkAudit } from '../../src/core/audit/walk-audit.ts';
import type { Store } from '../../src/core/ports.ts';
import { openTestAudit } from './audit-fixture.ts';

// Computed by Python: hashlib.sha256(previous + struct.pack('>QqI', sequence, at, len(sealed)) + sealed …).digest()[:16]
it.each([
  [NO_LINK, [[1, 1_700_000_000_000, 'abc']], 'd7d7a8ade029e2819f13cf4bc4602f59'],
  [
    NO_LINK,
    [
      [1, 1_700_000_000_000, 'abc'],
      [2, 1_700_000_000_001, ''],
    ],
    '3fef8b738243e9925afe18f8bf574f61',
  ],
  [Buffer.from([...Array(16).keys()]), [[2 ** 33, -1, '\0\x01']], 'c0612de9909fc43f5d0965836a16912c'],
] as const)('a link is the beginning of a SHA-256: %#', (previous, rows, expected) => {
  const linked = rows.map(([sequence, at, text]) => ({ sequence, at, sealed: Buffer.from(text, 'latin1') }));
  expect(Buffer.from(linkOf(previous, linked)).toString('hex')).toBe(expected);
});

it('a set of many rows knows each of them', () => {
  const seen = createSeenRows();
  const rows = Array.from({ length: 1000 }, (_, n) => linkOf(NO_LINK, [{ sequence: n, at: 0, sealed: NO_LINK }]));
  expect(rows.filter((row) => seen.has(row))).toEqual([]);
  expect(rows.filter((row) => !seen.has(row))).toEqual([]);
});

const TENANT = '22222222-2222-4222-8222-222222222222';

describe('an audit that somebody without the key alters and links again', () => {
  let rows: AuditEntry[];
  let verify: (altered: readonly AuditEntry[]) => Promise<string>;

  /** Writes six rows. The writers of 2 and 3 knew the same row, as do calls at the same time. */
  beforeEach(async () => {
    let known: AuditHead = START;
    const { keyring, store, audit } = await openTestAudit({ known: () => known });
    for (let n = 1; n <= 6; n += 1) {
      if (n !== 3) known = await store.auditHead();
      const draft = audit.draft({ action: 'getToken', status: 200, tenant_id: TENANT, entities: [`token ${n}`] });
      await store.appendAudit([draft]);
    }
    rows = [...(await store.readAudit(0, 10))];
    verify = async (altered) => {
      const found = {
        auditHead: async () => altered.at(-1) ?? { ...START, at: 0 },
        readAudit: async (after: number, limit: number) =>
          altered.filter(({ sequence }) => sequence > after).slice(0, limit),
      };
      const names: string[] = [];
      try {
        for await (const { event } of walkAudit({ store: found, keyring })) names.push(...event.entities);
      } catch (error) {
        return (error as Error).message;
      }
      return names.map((name) => name.slice(-1)).join('');
    };
  });

  /** Numbers and links rows again. */
  function linked(order: readonly number[]): readonly AuditEntry[] {
    let link = NO_LINK;
    return order.map((n, index) => {
      const row = { ...(rows[n - 1] as AuditEntry), sequence: index + 1 };
      link = linkOf(link, [row]);
      return { ...row, link };
    });
  }

  it.each([
    ['unaltered', [1, 2, 3, 4, 5, 6], '123456'],
    ['without a row', [1, 2, 4, 5, 6], 'row 3 of the audit was written after another row 3'],
    ['without the first row', [2, 3, 4, 5, 6], 'row 1 of the audit was written after another row 1'],
    ['with two rows exchanged', [1, 2, 3, 5, 4, 6], 'row 4 of the audit was written after another row 4'],
    [
      'with two rows exchanged that did not know each other',
      [1, 3, 2, 4, 5, 6],
      'row 4 of the audit was written after another row 3',
    ],
    ['with a row doubled', [1, 2, 3, 4, 5, 6, 5], 'row 7 of the audit is a copy of an earlier row'],
    ['without the last but one row', [1, 2, 3, 4, 6], 'row 5 of the audit was written after another row 5'],
    ['without the rows before the last one', [1, 2, 6], 'row 3 of the audit was written after another row 5'],
  ])('%s', async (_, order, expected) => expect(await verify(linked(order))).toBe(expected));

  it('waiting events are written in commits of few rows, and none twice after a failure', async () => {
    let failures = 1;
    const sizes: number[] = [];
    const writesTo = (file: Store) => ({
      async appendAudit(drafts: Parameters<Store['appendAudit']>[0]) {
        if (sizes.length === 1 && failures-- > 0) throw new Error('busy');
        sizes.push(drafts.length);
        await file.appendAudit(drafts);
      },
    });
    const { store, audit } = await openTestAudit({ writesTo, strict: false });
    const entities = Array.from({ length: 600 }, (_, n) => `token-${n}`);
    for (let n = 0; n < 120; n += 1) audit.record({ action: 'detokenize', status: 200, entities });
    await expect(audit.flush()).rejects.toThrow('busy');
    await audit.flush();
    expect(sizes).toEqual([50, 50, 20]);
    expect((await store.auditHead()).sequence).toBe(120);
  });

  it('a writer that knew only the first of many rows is no damage', async () => {
    let known: AuditHead = START;
    const { keyring, store, audit } = await openTestAudit({ known: () => known });
    const write = async () => store.appendAudit([audit.draft({ action: 'getToken', status: 200, entities: [] })]);
    for (let n = 1; n <= 1001; n += 1) {
      await write();
      known = await store.auditHead();
    }
    const second = (await store.readAudit(1, 1))[0] as AuditEntry;
    for (known of [START, second]) await write();
    const count = async (from?: AuditHead) => {
      let events = 0;
      for await (const _ of walkAudit({ store, keyring }, from)) events += 1;
      return events;
    };
    expect(await count()).toBe(1003);
    expect(await count(second)).toBe(1001);
  });

  it('whose rows of a commit have no link behind them', async () => {
    const [first, ...others] = rows;
    const open = others.map((row) => ({ ...row, link: new Uint8Array() }));
    expect(await verify([first as AuditEntry, ...open])).toBe('row 2 of the audit has no link behind it');
  });

  it('whose rows of a commit were altered, reports the first one that does not open', async () => {
    const [first, ...others] = rows.map((row, index) => (index === 2 ? { ...row, at: row.at + 1 } : row));
    const open = others.map((row) => (row.sequence < 6 ? { ...row, link: new Uint8Array() } : row));
    expect(await verify([first as AuditEntry, ...open])).toBe('row 3 of the audit was altered or moved');
  });

  it('an end without later witnesses can be removed, which only an anchor shows', async () => {
    expect(await verify(rows.slice(0, 4))).toBe('1234');
  });
});
