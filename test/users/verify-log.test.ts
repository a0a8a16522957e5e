import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { linkOf } from '../../src/core/audit/audit-link.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { appendForged, FORGED } from '../checks/forged-rows.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { endOf, makePlace } from '../process/cli-fixture.ts';
import { POSIX } from './page-fixture.ts';

const fileHere = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const PYTHON = ['-B', fileHere('verify-log.py')];

const FROM_END = (n: number) => `(SELECT max(sequence) - ${n} FROM audit)`;
const BYTE = (column: string, at: number) =>
  `${column} = CAST(substr(${column}, 1, ${at}) || x'00ff00ff' || substr(${column}, ${at + 5}) AS BLOB)`;

/** Alterations of a file without its key: the statement, and what the program says. */
const ALTERATIONS: Readonly<Record<string, readonly [sql: string, what: RegExp]>> = {
  'an altered row': [`UPDATE audit SET ${BYTE('sealed', 60)} WHERE sequence = ${FROM_END(2)}`, /another link/],
  'another time': [`UPDATE audit SET at = at + 1 WHERE sequence = ${FROM_END(2)}`, /another link/],
  'a removed row': [`DELETE FROM audit WHERE sequence = ${FROM_END(3)}`, /is missing/],
  'no link at the end': [`UPDATE audit SET link = x'' WHERE sequence = ${FROM_END(0)}`, /has no link/],
  'a cut end': [`DELETE FROM audit WHERE sequence > ${FROM_END(3)}`, /differ from the log/],
  'another base': ['UPDATE audit SET at = at + 1 WHERE sequence = (SELECT min(sequence) FROM audit)', /decrypted/],
  'no base': ['DELETE FROM audit WHERE sequence = (SELECT min(sequence) FROM audit)', /no envelope under/],
  'a record of another revision': ['UPDATE application SET revision = revision + 1', /records differ/],
  'a removed token': ["DELETE FROM token WHERE id = 'kept'", /records differ/],
  'a removed tombstone': ["DELETE FROM tombstone WHERE id = 'gone'", /records differ/],
  'a removed key of a tenant': ['DELETE FROM tenant_key WHERE key_id = 1', /records differ/],
  'another header': ['UPDATE header SET created_at = created_at + 1', /another MAC/],
  'a damaged slot': [`UPDATE slot SET ${BYTE('bytes', 20)}`, /no slot/],
};

/** Alterations of the rows without the key, which are then numbered and linked again. */
const REWRITTEN: Readonly<
  Record<string, readonly [alter: (rows: readonly AuditEntry[]) => readonly AuditEntry[], what: RegExp]>
> = {
  'a removed row': [(rows) => rows.toSpliced(-3, 1), /another witness/],
  'two swapped rows': [(rows) => [...rows.slice(0, -2), ...rows.slice(-2).toReversed()], /another witness/],
  'a copied row': [(rows) => [...rows, ...rows.slice(-1)], /is a copy/],
  'an older time': [(rows) => rows.map((row, n) => (n === 3 ? { ...row, at: row.at - 1 } : row)), /decrypted/],
};

/** Replaces the rows behind the base by altered ones, numbered and linked again. */
function rewrite(connection: Connection, alter: (rows: readonly AuditEntry[]) => readonly AuditEntry[]): void {
  const query = 'SELECT sequence, at, sealed, link FROM audit ORDER BY sequence';
  const [base, ...rows] = connection.prepare<[], AuditEntry>(query).all();
  if (base === undefined) throw new Error('the log has no base');
  connection.prepare('DELETE FROM audit WHERE sequence > ?').run(base.sequence);
  const insert = connection.prepare('INSERT INTO audit (sequence, at, sealed, link) VALUES (?, ?, ?, ?)');
  let before = base.link;
  for (const [index, { at, sealed }] of alter(rows).entries()) {
    const row = { sequence: base.sequence + 1 + index, at, sealed };
    before = linkOf(before, [row]);
    insert.run(row.sequence, at, sealed, before);
  }
}

describe.runIf(POSIX)('the program that was written from docs/format.md', { timeout: 60_000 }, () => {
  const place = makePlace();
  const env = { VAULT_FILE: 'v.db' };
  const verify = async (file: string, ...archives: readonly string[]) => {
    const child = spawn('python3', [...PYTHON, file, 'v.db.key', ...archives], { cwd: place.cwd });
    const { stdout, stderr, exitCode } = await endOf(child, 30_000);
    expect(stderr).toBe('');
    return { exitCode, ...JSON.parse(stdout) };
  };
  const vault = async (line: string, key?: string) => {
    const ran = await place.vault(line, { ...env, ...(key !== undefined && { VAULT_API_KEY: key }) });
    expect(ran, `${line}: ${ran.stderr}`).toMatchObject({ exitCode: 0 });
    return ran.stdout.trim();
  };

  beforeAll(async () => {
    const management = await place.init('v');
    const key = await place.application('v', management, 'token:create,token:read,token:update,token:delete');
    for (const id of ['gone', 'kept', 'größe']) await vault(`tokens create --id ${id} --type token --text one`, key);
    await vault('tokens patch kept --text two', key);
    await vault('tokens get kept', key);
    await vault('tokens delete gone --yes', key);
    await place.vault('tokens get nowhere', { ...env, VAULT_API_KEY: management });
    await vault('audit prune --before 1ms --archive first --yes');
    await vault('keys rotate --master --yes');
    await vault('keys rotate --indexes --yes');
    await vault('tenant create --name other');
    await vault('apps create --name brief --type private --permission token:create', management);
    await vault('apps update brief --name shorter --permission token:create', management);
    await vault('apps delete shorter --yes', management);
    await vault('audit prune --before 1ms --archive second --yes');
    await vault('keys add --new-key-file other.key');
    await vault('tokens create --id late --type token --text x', key);
    await vault('tokens patch late --text y', key);
    await vault('tokens delete late --yes', key);
    await vault('tokens get kept', key);
  }, 60_000);

  it('computes the cases of the page', async () => {
    const cases = fileHere('../vectors/format.txt');
    const { stdout } = spawnSync('python3', ['-B', fileHere('verify-vectors.py'), cases], { encoding: 'utf8' });
    expect(stdout).toMatch(/^\d{2}\n$/);
    const altered = readFileSync(cases, 'utf8').replaceAll(/[0-9a-f]{2}$/gm, '00');
    writeFileSync(place.inside('altered'), altered);
    const script = [fileHere('verify-vectors.py'), place.inside('altered')];
    const control = spawnSync('python3', ['-B', ...script], { encoding: 'utf8' });
    expect(control.stdout.split('\n').length).toBeGreaterThan(10);
  });

  it('agrees with `vault audit verify`, and reads archives', async () => {
    const { entries, head } = JSON.parse(await vault('audit verify'));
    const found = await verify('v.db');
    expect(found).toEqual({ exitCode: 0, ok: true, rows: expect.any(Number), entries, head });
    const exported = (await vault('audit export --archive first --archive second --yes')).split('\n');
    const all = await verify('v.db', 'second', 'first');
    expect(all).toMatchObject({ ok: true, head, entries: exported.length });
    expect(all.rows).toBeGreaterThan(found.rows + 10);
    expect(JSON.parse(await vault('doctor'))).toMatchObject({ ok: true });
  });

  const altered = (change: (connection: Connection) => void) => {
    copyFileSync(place.inside('v.db'), place.inside('altered.db'));
    return tamperFile(place.inside('altered.db'), change);
  };

  it.each(Object.entries(ALTERATIONS))('finds %s', async (_name, [sql, what]) => {
    await altered((connection) => connection.exec(`PRAGMA foreign_keys = OFF; ${sql}`));
    expect(await verify('altered.db')).toEqual({ exitCode: 9, ok: false, what: expect.stringMatching(what) });
  });

  it.each(Object.entries(REWRITTEN))('finds %s in a log that was linked again', async (_name, [alter, what]) => {
    await altered((connection) => rewrite(connection, alter));
    expect(await verify('altered.db')).toEqual({ exitCode: 9, ok: false, what: expect.stringMatching(what) });
  });

  it('control: a log that was linked again without a change is accepted', async () => {
    await altered((connection) => rewrite(connection, (rows) => rows));
    expect(await verify('altered.db')).toMatchObject({ ok: true });
  });

  it.each(Object.entries(FORGED))('finds %s, sealed with the key', async (_name, forged) => {
    await altered(() => undefined);
    const key = new Uint8Array(readFileSync(place.inside('v.db.key')));
    await appendForged(place.inside('altered.db'), { kind: 'key_file', key }, forged);
    expect(await verify('altered.db')).toMatchObject({ ok: false, what: expect.stringMatching(forged.what[1]) });
  });

  it.each([
    ['a removed row', (lines: readonly string[]) => lines.toSpliced(3, 1), /gap/],
    [
      'an altered row',
      (lines: readonly string[]) => lines.with(3, (lines[3] ?? '').replace(',1', ',2')),
      /another link/,
    ],
    [
      'another header',
      (lines: readonly string[]) => lines.with(0, (lines[0] ?? '').replace('[0,', '[1,')),
      /another MAC/,
    ],
    ['a line too many', (lines: readonly string[]) => lines.toSpliced(3, 0, lines[3] ?? ''), /gap/],
  ])('finds %s in an archive', async (_name, alter, what) => {
    const lines = readFileSync(place.inside('first'), 'utf8').split('\n');
    writeFileSync(place.inside('other'), alter(lines).join('\n'));
    expect(await verify('v.db', 'other', 'second')).toMatchObject({ ok: false, what: expect.stringMatching(what) });
  });

  it('finds a missing archive, and another key file', async () => {
    expect(await verify('v.db', 'second')).toMatchObject({ ok: false, what: expect.stringContaining('is missing') });
    expect(await verify('v.db', 'first')).toMatchObject({ ok: false, what: expect.stringContaining('archive') });
    await place.init('w');
    expect(await verify('w.db')).toMatchObject({ ok: false, what: expect.stringContaining('opens no slot') });
  });
});
