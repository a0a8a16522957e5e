import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { armor } from 'age-encryption';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Command, cleanEnvironment, type Ran, startServe } from '../scripts/run-script.ts';
import { isThere, makePlace, type Place, startOnTerminal, VAULT_BIN } from './cli-fixture.ts';

const CARDS =
  'pan,mm,yyyy,who\n4242424242424242,1,2031,"Ann, B"\n4242424242424241,1,2031,\n378282246310005,12,2032,C\n';
const UNUSED = 'vault: columns without a member: yyyy\nhint: keep one with --map metadata.NAME=COLUMN\n';
const MAP = ['--type', 'card', '--map', 'number=pan', '--map', 'expiration_month=mm', '--map', 'metadata.who=who'];

/** The bytes in a chunk of an encrypted export. */
const CHUNK = 64 * 1024;

let place: Place;
let cwd: string;
const inside = (name: string) => path.join(cwd, name);
/** API keys by vault file: of an application with all token permissions, and of the management application. */
const keys = new Map<string, string>();
const managementKeys = new Map<string, string>();
const vault = (file: string, command: Command, own: Readonly<Record<string, string>> = {}, stdin = ''): Promise<Ran> =>
  place.vault(command, { VAULT_FILE: file, VAULT_API_KEY: keys.get(file) ?? '', ...own }, stdin);
const result = async (file: string, command: Command, own: Readonly<Record<string, string>> = {}) => {
  const ran = await vault(file, command, own);
  expect(ran).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

async function make(file: string): Promise<void> {
  const name = path.basename(file, '.db');
  const management = await place.init(name);
  managementKeys.set(file, management);
  const permissions = 'token:create,token:read,token:update,token:delete';
  keys.set(file, await place.application(name, management, permissions));
}

async function keyWith(file: string, permission: string): Promise<string> {
  const words = ['apps', 'create', '--name', 'b', '--type', 'private', '--permission', permission, '--field', 'key'];
  return (await vault(file, words, { VAULT_API_KEY: managementKeys.get(file) ?? '' })).stdout.trim();
}

const lines = (count: number, id: (n: number) => object = (n) => ({ id: `row-${n}` })) =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ ...id(n), type: 'token', data: { n } })}\n`).join('');

/** Rows that are longer than a chunk of an encrypted export (64 KiB). */
const FEW_LONG = lines(4).replaceAll('"n":', `"long":"${'x'.repeat(100_000)}","n":`);

/** Starts a command on a file and kills it once `until` resolves to true. Resolves to the signal. */
async function killed(
  file: string,
  words: readonly string[],
  until: () => Promise<boolean>,
): Promise<NodeJS.Signals | null> {
  const env = cleanEnvironment({ VAULT_FILE: file, VAULT_API_KEY: keys.get(file) ?? '' });
  const child = spawn(process.execPath, [VAULT_BIN, ...words], { cwd, env, stdio: 'ignore' });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.on('close', (_code, signal) => resolve(signal)));
  while (child.exitCode === null && !(await until())) await sleep(5);
  child.kill('SIGKILL');
  return ended;
}

beforeEach(async () => {
  place = makePlace(onTestFinished);
  cwd = place.cwd;
  await make('one.db');
});

it('an export to standard output rejects --output formats that it cannot print', async () => {
  await make('v.db');
  for (const format of ['csv', 'table']) {
    const { exitCode, stdout, stderr } = await vault('v.db', ['export', '--plaintext', '-o', format]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(`--output ${format} works only with --out`);
    expect(stderr).toContain('--format csv');
  }
  const field = await vault('v.db', ['export', '--plaintext', '--field', 'tokens']);
  expect(field).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('--field works only with --out'),
  });
  for (const format of ['json', 'ndjson']) await vault('v.db', ['export', '--plaintext', '-o', format]).then(isDone);
  isDone(await vault('v.db', ['export', '--plaintext'], { VAULT_OUTPUT: 'csv' }));
  isDone(await vault('v.db', ['export', '--plaintext', '--out', 'out.ndjson', '-o', 'csv']));
});

const isDone = (ran: Ran) => expect(ran).toMatchObject({ exitCode: 0 });

it('moves encrypted tokens from one vault to another, and names refused rows', {
  timeout: 60_000,
}, async () => {
  await make('two.db');
  writeFileSync(inside('cards.csv'), CARDS);
  const first = await vault('one.db', ['import', 'cards.csv', ...MAP, '--errors', 'errors.ndjson']);
  expect(first).toMatchObject({
    exitCode: 7,
    stdout: '{"created":2,"skipped":0,"failed":1}\n',
    stderr:
      UNUSED +
      'vault: 2 created, 0 already existed, 1 rejected\n' +
      'hint: errors.ndjson lists the failed rows; correct those rows and import them as a separate file\n',
  });
  const [refused] = readFileSync(inside('errors.ndjson'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(refused).toMatchObject({ line: 3, status: 400, code: 'invalid_request' });
  expect(readFileSync(inside('errors.ndjson'), 'utf8')).not.toContain('424242');

  const { recipient } = await result('two.db', ['keygen', '--out', 'two.txt']);
  if (process.platform !== 'win32') expect(statSync(inside('two.txt')).mode & 0o777).toBe(0o600);
  const encrypted = ['export', '--recipient', recipient, '--out', 'cards.age'];
  expect(await result('one.db', encrypted)).toMatchObject({ tokens: 2, view: 'full', encrypted: 'recipient' });
  expect(readFileSync(inside('cards.age')).includes('4242424242424242')).toBe(false);
  expect(await vault('one.db', encrypted)).toMatchObject({ exitCode: 6 });
  const imported = await result('two.db', ['import', 'cards.age', '--identity', 'two.txt']);
  expect(imported).toEqual({ created: 2, skipped: 0, failed: 0 });
  const [one, two] = [
    await vault('one.db', ['export', '--plaintext']),
    await vault('two.db', ['export', '--plaintext']),
  ];
  expect(two.stdout).toBe(one.stdout);
  expect(two.stdout).toContain('4242424242424242');
  expect((await vault('two.db', ['export', '--masked'])).stdout).not.toContain('4242424242424242');
});

it('deduplicates rows by their fingerprints, as a create does', { timeout: 60_000 }, async () => {
  const rows = ['1', '"1"', '1.0', '{"a":1,"b":2}', '{"b":2,"a":1}', '1'];
  const row = (data: string) => `{"type":"token","data":${data},"deduplicate_token":true}\n`;
  writeFileSync(inside('rows.ndjson'), rows.map(row).join(''));
  expect(await result('one.db', ['import', 'rows.ndjson'])).toMatchObject({ failed: 0 });
  const { pagination } = await result('one.db', ['tokens', 'list', '--output', 'json']);
  expect(pagination.total_items).toBe(4);
});

it('asks nothing without a terminal, and rejects invalid flags', { timeout: 60_000 }, async () => {
  writeFileSync(inside('untyped.csv'), 'data\n1\n');
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['export'], '--recipient'],
    [['export', '--plaintext', '--recipient', 'x'], 'only one of'],
    [['export', '--masked', '--url', 'http://127.0.0.1:1', '--out', 'x'], 'works only with --file'],
    [['export', '--recipient', 'x'], '--recipient is not an X25519 age public key'],
    [['export', '--plaintext', '--format', 'xml'], '--format'],
    [['import', 'none.ndjson'], 'none.ndjson'],
    [['import', 'untyped.csv'], '--type'],
    [['import', 'x.ndjson', '--map', 'a=b'], 'only with a CSV'],
    [['keygen'], '--out'],
  ];
  for (const [words, text] of cases) {
    const ran = await vault('one.db', words);
    expect(ran, words.join(' ')).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(text) });
  }
  const unknown = await vault(
    'one.db',
    ['import', '-'],
    { VAULT_API_KEY: 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo' },
    lines(3),
  );
  expect(unknown).toMatchObject({ exitCode: 4, stdout: '' });
});

it('accepts - as standard output for text, and rejects it for files', { timeout: 60_000 }, async () => {
  expect(await vault('one.db', ['import', '-'], {}, lines(2))).toMatchObject({ exitCode: 0 });
  const plain = await vault('one.db', ['export', '--plaintext']);
  expect(await vault('one.db', ['export', '--plaintext', '--out', '-'])).toEqual(plain);
  expect(await vault('one.db', ['export', '--plaintext'], { VAULT_OUT: '-' })).toEqual(plain);
  const audit = await vault('one.db', ['audit', 'export', '--out', '-']);
  expect(audit.stdout.split('\n').length).toBeGreaterThan(5);
  writeFileSync(inside('seed.yaml'), 'tokens: { visa: { type: token, data: 1 } }\n');
  const seeded = await vault('new.db', ['seed', 'apply', 'seed.yaml', '--out', '-'], {
    VAULT_FILE: 'one.db',
    VAULT_API_KEY: managementKeys.get('one.db') ?? '',
  });
  expect(seeded).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"visa"') });
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['--out', ['keygen', '--out', '-']],
    ['--file', ['restore', 'x', '--file', '-']],
    ['--file', ['init', '--file', '-']],
    ['--key-file', ['init', '--file', 'new.db', '--key-file', '-']],
    ['--key-out', ['init', '--file', 'new.db', '--key-out', '-']],
    ['--key-out', ['tenant', 'create', '--name', 'n', '--key-out', '-']],
    ['--errors', ['import', 'x', '--errors', '-']],
    ['--resume', ['import', 'x', '--resume', '-']],
    ['--ready-file', ['serve', '--port', '0', '--ready-file', '-']],
    ['--file', ['serve', '--dev', '--port', '0', '--file', '-']],
  ];
  writeFileSync(inside('x'), '');
  const before = readdirSync(cwd).sort();
  for (const [flag, words] of cases) {
    const ran = await vault('one.db', words);
    expect(ran, words.join(' ')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining(`vault: ${flag}: - is standard output; the flag needs a file path`),
    });
  }
  expect(readdirSync(cwd).sort()).toEqual(before);
});

it('reports how many rows were created, refused and left', { timeout: 90_000 }, async () => {
  const file = 'one.db';
  const rows = (count: number) => ({
    exitCode: 0,
    stdout: `{"created":${count},"skipped":0,"failed":0}\n`,
    stderr: '',
  });
  writeFileSync(inside('rows.ndjson'), lines(40));
  const refused = await vault(file, ['import', 'rows.ndjson'], {
    VAULT_API_KEY: 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo',
  });
  expect(refused).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('0 created, 0 already existed, 0 rejected, 40 left'),
  });
  const readOnly = await keyWith(file, 'token:read');
  const denied = await vault(file, ['import', 'rows.ndjson'], { VAULT_API_KEY: readOnly });
  expect(denied).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('0 created, 0 already existed, 0 rejected, 40 left'),
  });
  expect(denied.stderr).toContain('token:create');
  expect(await vault(file, ['import', 'rows.ndjson'])).toMatchObject(rows(40));

  // A card whose mask is null needs token:update. Without it, the row is refused and all others are created.
  const card = (id: string, mask: object) =>
    JSON.stringify({ id, type: 'card_number', data: '4242424242424242', ...mask });
  writeFileSync(
    inside('cards.ndjson'),
    `${card('card-1', {})}\n${card('card-2', { mask: null })}\n${card('card-3', {})}\n`,
  );
  const creator = await keyWith(file, 'token:create');
  const some = await vault(file, ['import', 'cards.ndjson'], { VAULT_API_KEY: creator });
  expect(some).toMatchObject({ exitCode: 7, stdout: '{"created":2,"skipped":0,"failed":1}\n' });
  expect(some.stderr).toContain('line 2: The application does not hold the permission token:update.');
  expect(some.stderr).toContain('2 created, 0 already existed, 1 rejected');
  expect(await vault(file, ['tokens', 'get', 'card-2'])).toMatchObject({ exitCode: 3 });
  expect(await vault(file, ['import', 'cards.ndjson'])).toMatchObject({
    stdout: '{"created":1,"skipped":2,"failed":0}\n',
  });

  // The error of a row is the same as with `--errors`. The next run with the journal counts the refused rows.
  writeFileSync(inside('wrong.ndjson'), '{"type":"token","data":1,"foo":2}\n{"type":"token","data":2}\n');
  const wrong = await vault(file, ['import', 'wrong.ndjson', '--resume', 'wrong.journal']);
  expect(wrong).toMatchObject({ exitCode: 7, stdout: '{"created":1,"skipped":0,"failed":1}\n' });
  expect(wrong.stderr).toContain('vault: line 1: foo: is not a known member\n');
  const again = await vault(file, ['import', 'wrong.ndjson', '--resume', 'wrong.journal']);
  expect(again.stderr).toContain('vault: 1 row was rejected in earlier runs\n');

  // Stop the daemon during an import.
  const daemon = await startServe(cwd, ['--file', file, '--log', 'false']);
  writeFileSync(
    inside('many.ndjson'),
    lines(20_000, (n) => ({ id: `many-${n}` })),
  );
  const remote = { VAULT_FILE: '', VAULT_URL: String(daemon.ready['url']) };
  const running = vault(file, ['import', 'many.ndjson', '--resume', 'journal'], remote);
  while (!existsSync(inside('journal')) || JSON.parse(readFileSync(inside('journal'), 'utf8')).rows === 0)
    await sleep(5);
  await daemon.stop();
  const stopped = await running;
  expect(stopped.exitCode).toBe(8);
  const [, created, left] = /: (\d+) created, 0 already existed, 0 rejected, (\d+) left/.exec(stopped.stderr) ?? [];
  expect(Number(created)).toBeGreaterThanOrEqual(2_000);
  expect(Number(created) + Number(left)).toBe(20_000);
  expect(stopped.stderr).toContain('--resume journal');
});

it('reports what to correct when the file cannot be imported', { timeout: 60_000 }, async () => {
  const importing = (name: string, text: string | Uint8Array, words: readonly string[] = MAP) => {
    writeFileSync(inside(name), text);
    return vault('one.db', ['import', name, ...words]);
  };
  const ended = async (ran: Promise<Ran>) => (await ran).stderr.trimEnd().split('\n').slice(-2);
  const nothing = ['vault: nothing was imported', 'hint: correct it, then run again'];
  const header = 'pan,mm,yyyy,who\n';
  expect(await ended(importing('ragged.csv', `${header}4242424242424242,1\n`))).toEqual(nothing);
  expect(await ended(importing('quote.csv', `${header}"4242424242424242,1,2031,A\n`))).toEqual(nothing);
  expect(await ended(importing('binary.ndjson', Uint8Array.of(0xff, 0xfe, 0, 1, 2), []))).toEqual(nothing);

  const { recipient } = await result('one.db', ['keygen', '--out', 'own.txt']);
  await result('one.db', ['keygen', '--out', 'other.txt']);
  await result('one.db', ['export', '--recipient', recipient, '--out', 'tokens.age']);
  const journaled = ['import', 'tokens.age', '--identity', 'other.txt', '--resume', 'not-made'];
  expect(await vault('one.db', journaled)).toMatchObject({
    exitCode: 10,
    stderr: expect.stringContaining('no key of --identity'),
  });
  expect(existsSync(inside('not-made'))).toBe(false);

  const half = `${header}4242424242424242,1,2031,A\n378282246310005,12,2032,C\n4242424242424242,1\n`;
  const stopped = await importing('half.csv', half);
  expect(stopped.exitCode).toBe(7);
  expect(stopped.stderr).toContain(
    'the import stopped: 2 created, 0 already existed, 0 rejected, the rest not imported\n',
  );
  expect(stopped.stderr).toContain('hint: correct it, then run again: finished rows with an id');
  const resumed = await importing('half.csv', half, [...MAP, '--resume', 'j']);
  expect(resumed.stderr).toContain('hint: correct it, then run again with --resume j: it continues');
  const corrected = await importing('half.csv', `${half.trimEnd()},2031,D\n`, [...MAP, '--resume', 'j']);
  expect(corrected).toMatchObject({
    exitCode: 0,
    stdout: '{"created":1,"skipped":2,"failed":0}\n',
    stderr: UNUSED,
  });
});

it('imports through a daemon, and exports what the key may read', { timeout: 60_000 }, async () => {
  const daemon = await startServe(cwd, ['--file', 'one.db', '--log', 'false']);
  const remote = { VAULT_FILE: '', VAULT_URL: String(daemon.ready['url']) };
  expect(await vault('one.db', ['import', '-'], remote, lines(120))).toMatchObject({
    exitCode: 0,
    stdout: '{"created":120,"skipped":0,"failed":0}\n',
  });
  const { stdout } = await vault('one.db', ['export', '--plaintext'], remote);
  const ids = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(ids.sort()).toEqual(Array.from({ length: 120 }, (_, n) => `row-${n}`).sort());
  const masked = await vault('one.db', ['export', '--masked'], remote);
  expect(masked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('works only with --file') });
  expect(await daemon.stop()).toBe(0);
});

it('is completed by the next run after a kill', { timeout: 180_000 }, async () => {
  const count = 6_000;
  writeFileSync(
    inside('rows.ndjson'),
    lines(count, () => ({})),
  );
  const total = async () => (await result('one.db', ['tokens', 'list', '--size', '1'])).pagination.total_items;
  const journal = () => (existsSync(inside('journal')) ? JSON.parse(readFileSync(inside('journal'), 'utf8')).rows : 0);
  const words = ['import', 'rows.ndjson', '--resume', 'journal'];
  expect(await killed('one.db', words, async () => journal() >= 2_000)).toBe('SIGKILL');
  const made = await total();
  expect(made).toBeGreaterThanOrEqual(2_000);
  expect(made).toBeLessThan(count);
  const { created, skipped, failed } = await result('one.db', words);
  expect(failed).toBe(0);
  expect(created).toBe(count - made);
  expect(skipped).toBeLessThan(count);
  expect(await total()).toBe(count);

  const begun = async () => readdirSync(cwd).some((name) => name.startsWith('out.'));
  expect(await killed('one.db', ['export', '--plaintext', '--out', 'out'], begun)).toBe('SIGKILL');
  expect(existsSync(inside('out'))).toBe(false);
  expect(await result('one.db', ['export', '--plaintext', '--out', 'out'])).toMatchObject({ tokens: count });
  expect(readFileSync(inside('out'), 'utf8').trim().split('\n')).toHaveLength(count);
  expect(await result('one.db', ['doctor'])).toMatchObject({ ok: true });
});

it.runIf(isThere('script') && isThere('age'))(
  'the program age and a vault open files of each other',
  {
    timeout: 60_000,
  },
  async () => {
    const env = { VAULT_FILE: 'one.db', VAULT_API_KEY: keys.get('one.db') ?? '' };
    const age = (...words: readonly string[]) => execFileSync('age', words, { cwd, encoding: 'latin1' });
    const recipientOf = (file: string) => execFileSync('age-keygen', ['-y', file], { cwd, encoding: 'utf8' }).trim();
    const importAgain = async (words: Command, stdin = '') =>
      expect(await vault('one.db', words, {}, stdin)).toMatchObject({
        stdout: '{"created":0,"skipped":4,"failed":0}\n',
      });
    isDone(await vault('one.db', ['import', '-'], {}, FEW_LONG));
    await result('one.db', ['export', '--plaintext', '--out', 'plain']);
    await result('one.db', ['keygen', '--out', 'ours']);
    execFileSync('age-keygen', ['-o', 'theirs'], { cwd, stdio: 'ignore' });
    const recipients = `--recipient ${recipientOf('ours')} --recipient ${recipientOf('theirs')}`;
    isDone(await vault('one.db', `export ${recipients} --out both.age`));
    for (const name of ['ours', 'theirs']) {
      expect(age('-d', '-i', name, 'both.age')).toBe(readFileSync(inside('plain'), 'latin1'));
      age('-e', '-i', name, '-o', `${name}.age`, 'plain');
      await importAgain(`import ${name}.age --identity ${name}`);
      await importAgain(`import - --identity ${name}`, age('-e', '-a', '-i', name, 'plain'));
    }

    const typed = 'anchor marble window thread';
    const type = async (line: string, program: string | undefined, ...prompts: readonly string[]) => {
      const answers = prompts.map((prompt) => [prompt, `${typed}\r`] as const);
      expect(await startOnTerminal(line, { cwd, env, program }, answers)).toMatchObject({ exitCode: 0 });
    };
    await type('export --out ours.pass', undefined, 'Passphrase for the export', 'Repeat');
    await type('-d -o opened ours.pass', 'age', 'Enter passphrase');
    expect(readFileSync(inside('opened'))).toEqual(readFileSync(inside('plain')));
    await type('-p -o theirs.pass plain', 'age', 'Enter passphrase', 'Confirm passphrase');
    await type('import theirs.pass', undefined, 'Passphrase of the export');
    // A byte order mark before the passphrase is ignored.
    writeFileSync(inside('phrase'), `\ufeff${typed}\r\n`, { mode: 0o600 });
    await importAgain('import theirs.pass --age-passphrase-file phrase');
  },
);

it('imports the rows before a cut, from a file and from a pipe', { timeout: 60_000 }, async () => {
  isDone(await vault('one.db', ['import', '-'], {}, FEW_LONG));
  const { recipient } = await result('one.db', ['keygen', '--out', 'own']);
  await result('one.db', ['export', '--recipient', recipient, '--out', 'whole.age']);
  const whole = readFileSync(inside('whole.age'));
  writeFileSync(inside('cut.age'), whole.subarray(0, -CHUNK));
  for (const [n, [file, stdin]] of [['cut.age'], ['-', armor.encode(whole).slice(0, -CHUNK)]].entries()) {
    await make(`${n}.db`);
    const env = { VAULT_FILE: `${n}.db`, VAULT_API_KEY: keys.get(`${n}.db`) ?? '' };
    const cut = await place.process(`import ${file} --identity own`, env, stdin);
    expect(cut).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('the import stopped: 3 created, 0') });
    expect(cut.stderr).toMatch(/^vault: the encrypted file is damaged or truncated \(.*\)\nhint: copy the file/);
  }
});
