import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { FAULTS } from '../../src/contract/faults.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { makePlace } from './cli-fixture.ts';

const posix = process.platform !== 'win32';

const place = makePlace();
let managementKey = '';
beforeAll(async () => {
  managementKey = await place.init('v');
  writeFileSync(place.inside('api.key'), managementKey, { mode: 0o600 });
  writeFileSync(place.inside('passphrase'), 'correct horse battery\n', { mode: 0o600 });
  writeFileSync(place.inside('wrong-passphrase'), 'incorrect horse battery\n', { mode: 0o600 });
  writeFileSync(place.inside('wrong.key'), randomBytes(32), { mode: 0o600 });
  writeFileSync(place.inside('short.key'), randomBytes(31), { mode: 0o600 });
  const made = await place.vault('init --file p.db --passphrase-file passphrase');
  if (made.exitCode !== 0) throw new Error(made.stderr);
});

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

const LIST = 'tenant list --file x.db --key-file v.db.key';

interface Failure {
  readonly part: string;
  readonly what: string;
  readonly command: string;
  /** How to create `x.db` before the command runs. */
  readonly made: string | undefined;
  readonly exitCode: number;
  readonly fact: string;
  readonly hint: string | undefined;
}

/** `x.db: …` describes how to create that file. A case without a command lists the tenants of `x.db`. */
const FAILURES = readTable('cli-failures').map(({ part, fields: [what = '', ...rest] }): Failure => {
  const at = rest.findIndex((field) => /^\d+( |$)/.test(field));
  const [, exitCode, fact = ''] = /^(\d+) ?(.*)$/.exec(rest[at] ?? '') ?? [];
  const made = rest[0]?.startsWith('x.db: ') ? rest[0].slice(6) : undefined;
  const [command = LIST] = rest.slice(made === undefined ? 0 : 1, at);
  return { part, what, command, made, exitCode: Number(exitCode), fact, hint: rest[at + 1] };
});
const failures = (wanted: string) => FAILURES.filter(({ part }) => part === wanted);

/** Creates `x.db` as described. Needs no key. */
function make(made: string): void {
  const file = place.inside('x.db');
  const [, text] = /^text ?(.*)$/.exec(made) ?? [];
  if (made === 'a link') symlinkSync('v.db', file);
  else if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
  else {
    copyFileSync(place.inside('v.db'), file);
    const connection = new Database(file);
    connection.exec(/^a copy with (.*)$/.exec(made)?.[1] ?? '');
    connection.close();
    chmodSync(file, made.endsWith('others can write') ? 0o622 : 0o600);
  }
}

async function check({ command, made, exitCode, fact, hint }: Failure): Promise<void> {
  if (made !== undefined) make(made);
  const before = readdirSync(place.cwd);
  const ran = await place.vault(command);
  rmSync(place.inside('x.db'), { force: true });
  expect({ exitCode: ran.exitCode, stdout: ran.stdout }).toEqual({ exitCode, stdout: '' });
  const [told = '', ...others] = ran.stderr.trimEnd().replaceAll(place.cwd, '<folder>').split('\n');
  const shown = told.replace(/(this version reads )\d+/, '$1<format>').replace(UUID, '<id>');
  expect(shown).toBe(fact === '' ? shown : `vault: ${fact}`);
  expect(told).toMatch(/^vault: ./);
  if (hint !== undefined) expect(others).toEqual([`hint: ${hint}`]);
  expect(ran.stderr).not.toMatch(/4242|horse/);
  expect(ran.stderr).not.toContain(managementKey);
  expect(readdirSync(place.cwd).filter((name) => !before.includes(name))).toEqual([]);
}

describe('a file that does not open', () => {
  it('opens with its key', async () => {
    make('a copy');
    expect(await place.vault(LIST)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await place.vault('tenant list --file p.db --passphrase-file passphrase')).toMatchObject({ exitCode: 0 });
    rmSync(place.inside('x.db'));
  });

  it.each(failures('on a file'))('$what: $exitCode', check);

  it.each(failures('where files have modes'))('$what: $exitCode', async (failure) => {
    if (posix) await check(failure);
    else expect(process.getuid).toBeUndefined();
  });

  it('reports each with its own message', () => {
    const facts = FAILURES.filter(({ part }) => part !== 'elsewhere').map(({ what, fact }) =>
      what.endsWith('database') ? what : fact,
    );
    expect(new Set(facts).size).toBe(facts.length);
  });
});

it('lists the other tenants beside a damaged one, in every form', async () => {
  make('a copy');
  const words = '--file x.db --key-file v.db.key';
  const id = (await place.vault(`tenant list -q ${words}`)).stdout.trim();
  const added = (await place.vault(`tenant create --name other --field tenant.id ${words}`)).stdout.trim();
  const connection = new Database(place.inside('x.db'));
  connection.exec('UPDATE tenant SET modified_at = 1 WHERE tenant = 1');
  connection.close();
  const stderr = `vault: tenant ${id} is damaged and was skipped\nhint: ${FAULTS.damaged.hint}\n`;
  const rotated = await place.vault(`keys rotate ${words}`);
  expect(rotated).toMatchObject({ exitCode: 9, stderr });
  expect(JSON.parse(rotated.stdout)).toMatchObject({ tenants: [{ tenant_id: added }], damaged: [id] });
  const listed = await place.vault(`tenant list ${words}`);
  expect(listed).toMatchObject({ exitCode: 9, stderr });
  expect(JSON.parse(listed.stdout)).toMatchObject({ data: [{ id: added }], damaged: [id] });
  expect(await place.vault(`tenant list -q ${words}`)).toEqual({ exitCode: 9, stdout: `${added}\n`, stderr });
  const table = await place.vault(`keys rotate -o table ${words}`);
  expect(table).toMatchObject({ exitCode: 9, stdout: expect.stringMatching(RegExp(`^${added} `, 'm')) });
  expect(table.stderr).toBe(`vault: generation: 1, damaged: ${id}\n${stderr}`);
  expect(await place.vault(`dev reset --yes ${words}`)).toEqual({
    exitCode: 9,
    stdout: `{"removed_tokens":0,"damaged":["${id}"]}\n`,
    stderr,
  });
  rmSync(place.inside('x.db'));
});

describe('commands without an endpoint report their own failures', () => {
  it.each(failures('elsewhere'))('$what: $exitCode', check);

  it('a port in use: 8', async () => {
    const { port } = new URL((await place.serve(['--file', 'v.db'])).url);
    const another = 'hint: choose another --port, or 0 for a free one\n';
    const commands = [
      [`serve --file v.db --port ${port}`, another],
      [`ui --file v.db --no-open --port ${port}`, another],
      [`serve --file v.db --port 0 --metrics 127.0.0.1:${port}`, 'hint: choose another address for --metrics\n'],
    ] as const;
    for (const [command, hint] of commands) {
      const ran = await place.vault(command);
      expect(ran).toMatchObject({ exitCode: 8, stdout: '' });
      expect(ran.stderr).toBe(`vault: port ${port} on 127.0.0.1 is in use\n${hint}`);
    }
  });
});
