import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRetention } from '../../src/cli/commands/serve/audit-retention.ts';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { linkOf } from '../../src/core/audit/audit-link.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import { readArchives } from '../../src/history/audit-archive.ts';
import { pruneAudit } from '../../src/history/prune-audit.ts';
import { lastEntries } from '../../src/history/read-entries.ts';
import { readLog } from '../../src/history/read-log.ts';
import { resetVault } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { keepRows, putBack, TOKENS } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import {
  archiveIn,
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  openedForKeyHolder,
  openedVault,
  prune,
  RULE,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

const SOUND = { ok: true, findings: [] };

const verify = (file: string) => withAdmin(file, (admin) => admin.verifyAudit());

async function change(vault: FileVault, id: string, data: number | string): Promise<number> {
  const body = { data };
  return (await callOnce(vault, vault.apiKey, 'updateToken', { id, body })).status;
}

const MINUTE = 60_000;

/** Changes a token while the clock of the vault is a thousand days ahead. */
async function changeAhead({ file, apiKey }: FileVault, id: string): Promise<void> {
  const now = () => Date.now() + 1000 * 24 * 60 * MINUTE;
  const opened = await openFileVault({ file, credential: CREDENTIAL, clock: { now, cutoff: now, settled: now } });
  const { status } = await callVault(opened, apiKey, 'updateToken', { id, body: { data: 'ahead' } });
  expect(status).toBe(200);
  await opened.close();
}

async function sequencesOf(events: AsyncIterable<{ readonly sequence: number }>): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const { sequence } of events) found.push(sequence);
  return found;
}

/** Resolves to the rows behind the base. */
async function sequences(file: string): Promise<readonly number[]> {
  let found: readonly number[] = [];
  await tamperFile(file, (connection) => {
    const rows = 'SELECT sequence FROM audit WHERE sequence > (SELECT min(sequence) FROM audit) ORDER BY sequence';
    found = connection.prepare<[], number>(rows).pluck().all();
  });
  return found;
}

describe('a prune', () => {
  it('keeps later entries, also those that were written before it', async () => {
    const vault = await fileVault(3);
    const time = await pauseFor(5);
    await change(vault, 'token-0', 'later');
    await callOnce(vault, vault.apiKey, 'deleteToken', { id: 'token-1' });
    const rows = (await sequences(vault.file)).length;
    const { archive } = await prune(vault, 'old', time);
    expect(archive?.through.sequence).toBe(rows - 2);
    expect(await doctor(vault.file)).toMatchObject({ ...SOUND, checked: { tokens: 2 } });
    expect(await change(vault, 'token-0', 'latest')).toBe(200);
    expect(await change(vault, 'token-2', 'latest')).toBe(200);
    expect(await doctor(vault.file)).toMatchObject(SOUND);
  });

  it('passes over entries of a clock that was ahead, if an older one follows', async () => {
    const vault = await fileVault(2);
    await changeAhead(vault, 'token-0');
    await change(vault, 'token-1', 'in time');
    const old = (await sequences(vault.file)).length;
    await changeAhead(vault, 'token-0');
    const { archive } = await prune(vault, 'old');
    expect(archive?.through.sequence).toBe(old);
    expect((await prune(vault, 'none', Date.now() - MINUTE)).archive).toBeUndefined();
    expect(await doctor(vault.file)).toMatchObject(SOUND);
  });

  it('leaves a commit whose rows are partly old enough', async () => {
    const vault = await fileVault(2);
    const rows = (await sequences(vault.file)).length;
    let time = Date.now();
    const now = () => (time += 10_000);
    const clock = { now, cutoff: now, settled: now };
    const { store, audit, close } = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL, clock });
    const read = { action: 'getToken', status: 200, tenant_id: vault.tenantId, entities: ['token-0'] } as const;
    await store.appendAudit([audit.draft(read), audit.draft(read)]);
    await close();
    const { archive } = await prune(vault, 'old', time - 5000);
    expect(archive?.through.sequence).toBe(rows);
    expect((await sequences(vault.file))[0]).toBe(rows + 1);
    expect(await doctor(vault.file)).toMatchObject(SOUND);
  });

  it('removes nothing of a damaged audit', async () => {
    const vault = await fileVault(3);
    await tamperFile(vault.file, (connection) => connection.exec('UPDATE audit SET at = at - 1 WHERE sequence = 4'));
    const damaged = { code: 'damaged', message: expect.stringContaining('row 4') };
    await expect(prune(vault)).rejects.toMatchObject(damaged);
    expect((await sequences(vault.file))[0]).toBe(1);
    expect(archiveIn(vault).exists()).toBe(false);
  });
});

/** Runs a prune. Before each `appendAudit` and `moveBase`, calls `before` with the number of that call, from 1. */
async function pruneWith(
  vault: FileVault,
  before: (method: 'appendAudit' | 'moveBase', call: number) => Promise<void>,
  time = Date.now() + 1,
  name = `archive-${Math.random()}`,
) {
  const opened = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL });
  let calls = 0;
  const around =
    <Values extends readonly unknown[], Result>(
      method: 'appendAudit' | 'moveBase',
      write: (...values: Values) => Promise<Result>,
    ) =>
    async (...values: Values) => {
      calls += 1;
      await before(method, calls);
      return write(...values);
    };
  const { store } = opened;
  const appendAudit = around('appendAudit', store.appendAudit);
  const moveBase = around('moveBase', store.moveBase);
  const parts = {
    ...opened,
    store: { ...store, appendAudit, moveBase },
    yieldToLoop: async () => undefined,
  };
  try {
    return await pruneAudit(parts, time, () => archiveIn(vault, name));
  } finally {
    await opened.close();
  }
}

/** Waits for `ms` milliseconds. Resolves to the time after the pause. */
async function pauseFor(ms: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return Date.now();
}

describe('an interrupted prune', () => {
  it('is refused while an entry contradicts the entries before it', async () => {
    const vault = await fileVault(1);
    const before = await keepRows(vault.file);
    await change(vault, 'token-0', 'changed');
    await putBack(vault.file, before, TOKENS);
    await resetVault({ file: vault.file, credential: CREDENTIAL }, undefined);
    await expect(prune(vault, 'refused')).rejects.toMatchObject({ code: 'damaged' });
    expect(archiveIn(vault, 'refused').exists()).toBe(false);
  });

  it('is refused while a record of authority differs, and a token may differ', async () => {
    const vault = await fileVault(1);
    const before = await keepRows(vault.file);
    const made = { name: 'b', type: 'private', rules: [RULE] };
    await callOnce(vault, vault.management, 'createApplication', { body: made });
    await change(vault, 'token-0', 'changed');
    await putBack(vault.file, before, TOKENS);
    expect((await prune(vault)).removed).toBeGreaterThan(0);
    await putBack(vault.file, before, ['application', 'application_key']);
    await expect(prune(vault, 'refused')).rejects.toMatchObject({
      code: 'damaged',
      hint: expect.stringContaining('doctor'),
    });
    expect(archiveIn(vault, 'refused').exists()).toBe(false);
  });

  it('reports no damage when another one removes its rows', async () => {
    const vault = await fileVault(3);
    const file = archiveIn(vault);
    const write: typeof file.write = async (pieces) => {
      await prune(vault, 'other');
      await file.write(pieces);
    };
    const pruned = withAdmin(vault.file, (admin) => admin.pruneAudit(Date.now(), { ...file, write }));
    await expect(pruned).rejects.toMatchObject({ code: 'conflict', message: 'entries were pruned meanwhile' });
    expect(file.exists()).toBe(false);
    expect(await doctor(vault.file)).toMatchObject(SOUND);
  });

  it('fails after another one has moved the base, and both archives are valid', async () => {
    const vault = await fileVault(3);
    // The first call removes nothing, and the second one writes the entry.
    const run = pruneWith(
      vault,
      async (_method, call) => void (call === 3 && (await prune(vault, 'other'))),
      undefined,
      'one',
    );
    await expect(run).rejects.toMatchObject({ code: 'conflict', message: 'entries were pruned meanwhile' });
    const archives = ['one', 'other'].map((name) => archiveIn(vault, name));
    expect(await doctor(vault.file, { archives })).toMatchObject(SOUND);
  });

  it('is not stopped by the unfinished archive of a killed process with the same id', async () => {
    const vault = await fileVault(2);
    writeFileSync(`${archiveIn(vault).path}.${process.pid}.tmp`, 'unfinished');
    expect(await prune(vault)).toMatchObject({ archive: { path: archiveIn(vault).path } });
  });

  it.each([
    ['appendAudit', false],
    ['appendAudit', true],
    ['moveBase', false],
    ['moveBase', true],
  ] as const)('leaves a sound vault beside another one before %s (killed: %s)', async (step, isKilled) => {
    const vault = await fileVault(3);
    const time = await pauseFor(5);
    await change(vault, 'token-0', 'later');
    await pauseFor(5);
    const stop = async (method: string) => {
      if (isKilled && method === 'moveBase') throw new Error('killed');
    };
    const beside = async (method: string) => {
      if (method !== step) return;
      const other = pruneWith(vault, stop);
      await (isKilled ? expect(other).rejects.toThrow('killed') : other);
    };
    const pruned = pruneWith(vault, beside, time);
    const conflict = { code: 'conflict', message: 'entries were pruned meanwhile' };
    await (isKilled ? pruned : expect(pruned).rejects.toMatchObject(conflict));
    expect(await verify(vault.file)).toMatchObject({ ok: true });
    expect(await doctor(vault.file)).toMatchObject({ ...SOUND, checked: { tokens: 3 } });
    expect(await change(vault, 'token-0', 'last')).toBe(200);
    expect(await change(vault, 'token-1', 'last')).toBe(200);
    await prune(vault, 'next');
    expect(await doctor(vault.file)).toMatchObject({ ...SOUND, checked: { tokens: 3 } });
  });
});

describe('after a prune', () => {
  it('a tombstone without an entry is found, and one whose entry was pruned is sound', async () => {
    const vault = await fileVault(3);
    const remove = (id: string) => callOnce(vault, vault.apiKey, 'deleteToken', { id });
    await remove('token-0');
    await prune(vault);
    expect(await doctor(vault.file)).toMatchObject(SOUND);
    const last = (await sequences(vault.file)).at(-1);
    await callOnce(vault, vault.apiKey, 'createToken', { body: { id: 'later', type: 'token', data: 1 } });
    await remove('later');
    expect(await doctor(vault.file)).toMatchObject(SOUND);
    await tamperFile(vault.file, (connection) => connection.exec(`DELETE FROM audit WHERE sequence > ${last}`));
    const found = { table: 'tenant', id: vault.tenantId, what: expect.stringContaining('no entry names') };
    expect((await doctor(vault.file)).findings).toContainEqual(found);
    const archives = [archiveIn(vault)];
    const named = { table: 'tombstone', id: 'later', what: expect.stringContaining('is not in the audit') };
    const { findings } = await doctor(vault.file, { archives });
    expect(findings).toContainEqual(named);
  });

  it.each(['token', 'tombstone'])('doctor finds a removed %s without the archives', async (table) => {
    const vault = await fileVault(3);
    await callOnce(vault, vault.apiKey, 'deleteToken', { id: 'token-0' });
    await prune(vault);
    const id = table === 'token' ? 'token-1' : 'token-0';
    await tamperFile(vault.file, (connection) => {
      connection.exec(`PRAGMA foreign_keys = OFF; DELETE FROM ${table} WHERE id = '${id}'`);
    });
    const found = { table: 'tenant', id: vault.tenantId, what: expect.stringContaining('no entry names') };
    expect((await doctor(vault.file)).findings).toContainEqual(found);
    const { findings } = await doctor(vault.file, { archives: [archiveIn(vault)] });
    expect(findings).toContainEqual({ table, id, what: expect.stringContaining('removed outside the vault') });
  });

  it('a check accepts that a prune removes rows of the index meanwhile', async () => {
    const vault = await fileVault(2);
    const before = Date.now() + 1;
    await new Promise((resolve) => setTimeout(resolve, 2));
    await change(vault, 'token-0', 'later');
    await withVault(vault.file, (served) => served.sweep());
    const opened = await openedForKeyHolder(vault.file);
    let isFirst = true;
    const findUnlogged: typeof opened.store.findUnlogged = async (rows) => {
      if (isFirst) await prune(vault, 'old', before);
      isFirst = false;
      return opened.store.findUnlogged(rows);
    };
    const { bad, base } = await readLog({ ...opened, store: { ...opened.store, findUnlogged } });
    expect({ bad, base: base.sequence, isFirst }).toEqual({ bad: [], base: 0, isFirst: false });
    expect((await readLog(opened)).base.sequence).toBeGreaterThan(0);
  });

  it('a check with archives gives up if a prune has removed later rows meanwhile', async () => {
    const vault = await fileVault(2);
    await prune(vault, 'first');
    const opened = await openedForKeyHolder(vault.file);
    const archives = await readArchives(opened, [archiveIn(vault, 'first')]);
    expect(await readLog({ ...opened, archives })).toMatchObject({ bad: [] });
    await prune(vault, 'second');
    await expect(readLog({ ...opened, archives })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('entries are read from overlapping archives in any order, and from the log', async () => {
    const vault = await fileVault(3);
    await change(vault, 'token-0', 'one');
    const before = await withAdmin(vault.file, (admin) => sequencesOf(admin.events()));
    await prune(vault, 'first');
    await change(vault, 'token-0', 'two');
    await prune(vault, 'second');
    await change(vault, 'token-0', 'three');
    await withAdmin(vault.file, async (admin) => {
      const archives = ['second', 'first', 'first'].map((name) => archiveIn(vault, name));
      const all = await sequencesOf(admin.events(archives));
      expect(all.slice(0, before.length)).toEqual(before);
      expect(all.length).toBeGreaterThan(before.length + 3);
      const newest = all.toReversed();
      for (let limit = 1; limit <= all.length + 1; limit += 1) {
        const found = await admin.lastEvents(() => true, limit, archives);
        expect(found.map(({ sequence }) => sequence)).toEqual(newest.slice(0, limit));
      }
      const updates = await admin.lastEvents(({ event }) => event.action === 'updateToken', 2, archives);
      expect(updates.map(({ event }) => event.revision)).toEqual([4, 3]);
    });
  });

  it('a list with archives gives up if a prune has removed later rows meanwhile', async () => {
    const vault = await fileVault(2);
    await prune(vault, 'first');
    const opened = await openedForKeyHolder(vault.file);
    const { keyring, store } = opened;
    const list = (parts: typeof store) =>
      lastEntries({ keyring, store: parts }, () => true, 99, [archiveIn(vault, 'first')]);
    expect(await list(store)).not.toHaveLength(0);
    const auditHead = async () => {
      await prune(vault, 'second');
      return store.auditHead();
    };
    await expect(list({ ...store, auditHead })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('an archive that was altered, cut or swapped is found', async () => {
    const [vault, other] = [await fileVault(3), await fileVault(3)];
    await prune(vault, 'first');
    await change(vault, 'token-0', 'later');
    await prune(vault, 'second');
    await prune(other, 'first');
    const file = archiveIn(vault, 'first');
    const check = () => withAdmin(vault.file, (admin) => admin.verifyArchive(file, archiveIn(vault, 'second')));
    expect(await check()).toMatchObject({ ok: true });
    const text = readFileSync(file.path, 'utf8');
    const lines = text.split(/(?<=\n)/);
    const header = JSON.parse(lines[0] ?? '');
    const [sequence, link] = JSON.parse(lines[1] ?? '').filter((_: unknown, at: number) => at % 2 === 0);
    const without = (at: number) => lines.filter((_, n) => n !== at).join('');
    const cases: Readonly<Record<string, readonly [text: string, what: RegExp]>> = {
      'an altered row': [text.replace(/^\[3,(\d+)/m, '[3,1$1'), /3 was altered or moved/],
      'a removed row': [without(3), /3 is missing/],
      'two swapped rows': [[...lines.slice(0, 3), lines[4], lines[3], ...lines.slice(5)].join(''), /3 is missing/],
      'no last row': [without(lines.length - 1), /is missing/],
      'a row too many': [text + lines.at(-1), /is missing/],
      'a shorter beginning': [
        [`${JSON.stringify({ ...header, after: [sequence, link] })}\n`, ...lines.slice(2)].join(''),
        /altered header/,
      ],
      'another vault': [readFileSync(archiveIn(other, 'first').path, 'utf8'), /of another vault/],
      'no archive': ['{}\n', /is not an audit archive/],
      'an empty file': ['', /is not an audit archive/],
    };
    for (const [name, [altered, what]] of Object.entries(cases)) {
      writeFileSync(file.path, altered);
      const report = await check().catch((error: Error) => ({
        ok: false,
        first_bad: { sequence: '', what: error.message },
      }));
      const { sequence: at = '', what: said = '' } = report.first_bad ?? {};
      expect(`${at} ${said}`, name).toMatch(what);
    }
  });

  it('doctor takes all archives, in any order, and finds what they cover', async () => {
    const vault = await fileVault(3);
    const remove = (id: string) => callOnce(vault, vault.apiKey, 'deleteToken', { id });
    await remove('token-0');
    await prune(vault, 'first');
    await change(vault, 'token-1', 'later');
    await prune(vault, 'second');
    await change(vault, 'token-1', 'last');
    const doctorWith = (...names: readonly string[]) => {
      const archives = names.map((name) => archiveIn(vault, name));
      return doctor(vault.file, { archives });
    };
    expect(await doctorWith('first', 'first', 'second')).toMatchObject(SOUND);
    const all = await doctorWith('second', 'first');
    expect(all).toMatchObject(SOUND);
    expect(all.checked.audit_entries).toBeGreaterThan((await doctor(vault.file)).checked.audit_entries);
    for (const [names, what] of [
      [['second'], /second begins at row \d+, and no archive ends before it/],
      [['first'], /first ends at row \d+, and the audit begins after row \d+/],
    ] as const) {
      const found = { table: 'archive', id: '', what: expect.stringMatching(what) };
      expect((await doctorWith(...names)).findings).toEqual([found]);
    }
    await tamperFile(vault.file, (connection) => connection.exec("DELETE FROM tombstone WHERE id = 'token-0'"));
    const lost = { table: 'tombstone', id: 'token-0', what: expect.stringContaining('removed outside the vault') };
    expect((await doctorWith('first', 'second')).findings).toContainEqual(lost);
    const unnamed = { table: 'tenant', id: vault.tenantId, what: expect.stringContaining('no entry names') };
    expect((await doctor(vault.file)).findings).toContainEqual(unnamed);
  });

  it('doctor finds a copy of an archived entry at the end with the archive, as SECURITY.md says', async () => {
    const vault = await fileVault(1);
    await callOnce(vault, vault.apiKey, 'getToken', { id: 'token-0' });
    const last = 'SELECT sequence, at, sealed, link FROM audit ORDER BY sequence DESC LIMIT 1';
    let read: AuditEntry | undefined;
    await tamperFile(vault.file, (connection) => {
      read = connection.prepare<[], AuditEntry>(last).get();
    });
    await prune(vault);
    await tamperFile(vault.file, (connection) => {
      const head = connection.prepare<[], AuditEntry>(last).get() as AuditEntry;
      const row = { ...(read as AuditEntry), sequence: head.sequence + 1 };
      const insert = 'INSERT INTO audit (sequence, at, sealed, link) VALUES (?, ?, ?, ?)';
      connection.prepare(insert).run(row.sequence, row.at, row.sealed, linkOf(head.link, [row]));
    });
    expect(await doctor(vault.file)).toMatchObject(SOUND);
    const report = await doctor(vault.file, { archives: [archiveIn(vault)] });
    expect(report.findings).toEqual([
      { table: 'audit', id: expect.any(String), what: expect.stringContaining('is a copy of an earlier row') },
    ]);
  });

  it('an anchor of an earlier state is accepted, and an older copy is not', async () => {
    const vault = await fileVault(3);
    const anchor = join(vault.folder, 'anchor');
    const older = readFileSync(vault.file);
    await change(vault, 'token-0', 'changed');
    await withVault(vault.file, async () => undefined, anchor);
    await prune(vault);
    expect(await doctor(vault.file, { anchor })).toMatchObject(SOUND);
    await withAdmin(vault.file, (admin) => admin.compareWithAnchor(anchor));
    const pruned = readFileSync(vault.file);
    writeFileSync(vault.file, older);
    await expect(withAdmin(vault.file, (admin) => admin.compareWithAnchor(anchor))).rejects.toMatchObject({
      code: 'damaged',
    });
    // A cut of the end is not a prune.
    writeFileSync(vault.file, pruned);
    await change(vault, 'token-0', 'again');
    await withVault(vault.file, async () => undefined, anchor);
    const end = '(SELECT max(sequence) FROM audit)';
    for (const [sql, message] of [
      [`UPDATE audit SET link = zeroblob(16) WHERE sequence = ${end}`, 'does not match the anchor'],
      [`DELETE FROM audit WHERE sequence = ${end}`, 'is older than its anchor'],
    ] as const) {
      await tamperFile(vault.file, (connection) => connection.exec(sql));
      await expect(withAdmin(vault.file, (admin) => admin.compareWithAnchor(anchor))).rejects.toMatchObject({
        message: expect.stringContaining(message),
      });
    }
  });
});

describe('the sweeper of a daemon', () => {
  const DAY = 86_400_000;

  /** Opens a vault and the prune of its sweeper. `turn` moves both clocks on first, and resolves to the reports. */
  async function sweeping() {
    const vault = await fileVault(3);
    const [rows, { folder }] = [(await sequences(vault.file)).length, vault];
    const place = join(folder, `vault-audit-000000000001-${String(rows).padStart(12, '0')}`);
    // The rows of the tenant and of the application have an entry for the API key, too.
    const moved = `moved ${rows + 2} audit entries to ${place}`;
    let [ahead, time] = [0, 0];
    const now = () => Date.now() + ahead;
    const opened = await openedVault(vault.file, { clock: { now, cutoff: now, settled: now } });
    const reported: string[] = [];
    const report = (fact: string) => void reported.push(fact);
    const sweep = createRetention({ keepMs: 10 * DAY, folder }, opened, report, () => time);
    const turn = async (after: number) => {
      ahead += after;
      time += after;
      await sweep();
      return reported.splice(0);
    };
    const archives = () => readdirSync(folder).filter((name) => name.startsWith('vault-audit-'));
    return { vault, rows, place, moved, opened, turn, archives };
  }

  it('moves entries once the oldest is a tenth older, at most once a day', async () => {
    const { vault, rows, place, moved, turn, archives } = await sweeping();
    expect(await turn(0)).toEqual([]);
    expect(await turn(10.9 * DAY)).toEqual([]);
    expect(archives()).toEqual([]);
    expect(await turn(0.2 * DAY)).toEqual([moved]);
    expect(archives()).toEqual([basename(place)]);
    expect((await sequences(vault.file))[0]).toBe(rows + 1);
    expect(await turn(60_000)).toEqual([]);
    expect(await turn(2 * DAY)).toEqual([]);
    // The entry of the prune, too, becomes old.
    expect(await turn(11 * DAY)).toMatchObject([expect.stringMatching(/^moved \d+ audit entries/)]);
    expect(archives()).toHaveLength(2);
    expect(await withAdmin(vault.file, (admin) => admin.verifyAudit())).toMatchObject({ ok: true });
  });

  it('moves entries behind one of a clock that was ahead', async () => {
    const { vault, opened, turn } = await sweeping();
    await turn(-2000 * DAY);
    await callVault(opened, vault.apiKey, 'updateToken', { id: 'token-0', body: { data: 'behind' } });
    expect(await turn(10.9 * DAY)).toEqual([]);
    expect(await turn(0.2 * DAY)).toMatchObject([expect.stringMatching(/^moved \d+ audit entries/)]);
  });

  it('uses the archive of an interrupted prune', async () => {
    const { vault, rows, place, moved, opened, turn } = await sweeping();
    // Interrupt the prune after it has written the archive.
    const full = () =>
      opened.pruneAudit(0, () => ({ ...archiveFile('--archive', place), lines: () => expect.fail('cut') }));
    await expect(full()).rejects.toThrow('cut');
    expect((await sequences(vault.file)).length).toBe(rows);
    expect(await turn(12 * DAY)).toEqual([moved]);
  });

  it('reports a failure, and tries again in an hour', async () => {
    const { vault, rows, place, moved, turn } = await sweeping();
    writeFileSync(place, 'mine');
    const failed = `old audit entries could not be archived: ${place} is not an audit archive; trying again in an hour`;
    expect(await turn(12 * DAY)).toEqual([failed]);
    expect(await turn(60_000)).toEqual([]);
    expect((await sequences(vault.file)).length).toBe(rows);
    rmSync(place);
    expect(await turn(60 * 60_000)).toEqual([moved]);
  });
});
