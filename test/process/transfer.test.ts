import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { armor } from 'age-encryption';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Command, Ran } from '../scripts/run-script.ts';
import { isThere, makePlace, type Place, startOnTerminal } from './cli-fixture.ts';

/** The bytes in a chunk of an encrypted export. */
const CHUNK = 64 * 1024;

/** Rows that are longer than a chunk of an encrypted export. */
const FEW_LONG = Array.from({ length: 4 }, (_, n) => {
  return `${JSON.stringify({ id: `row-${n}`, type: 'token', data: { long: 'x'.repeat(100_000), n } })}\n`;
}).join('');

let place: Place;
let env: Readonly<Record<string, string>>;
const vault = (command: Command, stdin = '') => place.vault(command, env, stdin);
const result = async (command: Command, stdin = '') => {
  const ran = await vault(command, stdin);
  isDone(ran);
  return ran.stdout === '' ? undefined : JSON.parse(ran.stdout);
};
const isDone = (ran: Ran) => expect(ran).toMatchObject({ exitCode: 0 });

/** Creates a vault `NAME.db`. Returns the variables that name it, with a key that may create and read every token. */
async function make(name: string) {
  const key = await place.application(name, await place.init(name), 'token:create,token:read');
  return { VAULT_FILE: `${name}.db`, VAULT_API_KEY: key };
}

beforeEach(async () => {
  place = makePlace(onTestFinished);
  env = await make('one');
  await result('import -', FEW_LONG);
});

it.runIf(isThere('script') && isThere('age'))(
  'the program age and a vault open files of each other',
  {
    timeout: 60_000,
  },
  async () => {
    const { cwd, inside } = place;
    const age = (...words: readonly string[]) => execFileSync('age', words, { cwd, encoding: 'latin1' });
    const recipientOf = (file: string) => execFileSync('age-keygen', ['-y', file], { cwd, encoding: 'utf8' }).trim();
    const importAgain = async (words: Command, stdin = '') =>
      expect(await result(words, stdin)).toEqual({ created: 0, skipped: 4, failed: 0 });
    await result('export --plaintext --out plain');
    await result('keygen --out ours');
    if (process.platform !== 'win32') expect(statSync(inside('ours')).mode & 0o777).toBe(0o600);
    execFileSync('age-keygen', ['-o', 'theirs'], { cwd, stdio: 'ignore' });
    const recipients = `--recipient ${recipientOf('ours')} --recipient ${recipientOf('theirs')}`;
    await result(`export ${recipients} --out both.age`);
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
    // A wrong tenant is an error before the prompt, so that nobody types a passphrase in vain.
    expect(await startOnTerminal('export --tenant nobody --out x.pass', { cwd, env }, [])).toMatchObject({
      exitCode: 3,
      stdout: expect.not.stringContaining('Passphrase'),
    });
    expect(readFileSync(inside('opened'))).toEqual(readFileSync(inside('plain')));
    await type('-p -o theirs.pass plain', 'age', 'Enter passphrase', 'Confirm passphrase');
    // A byte order mark before the passphrase is ignored.
    writeFileSync(inside('phrase'), `\ufeff${typed}\r\n`, { mode: 0o600 });
    await importAgain('import theirs.pass --age-passphrase-file phrase');
  },
);

it('imports the rows before a cut, from a file and from a pipe', { timeout: 60_000 }, async () => {
  const { recipient } = await result('keygen --out own');
  await result(`export --recipient ${recipient} --out whole.age`);
  const whole = readFileSync(place.inside('whole.age'));
  writeFileSync(place.inside('cut.age'), whole.subarray(0, -CHUNK));
  for (const [n, [file, stdin]] of [['cut.age'], ['-', armor.encode(whole).slice(0, -CHUNK)]].entries()) {
    const cut = await place.process(`import ${file} --identity own`, await make(`into-${n}`), stdin);
    expect(cut).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('the import stopped: 3 created, 0') });
    expect(cut.stderr).toMatch(/^vault: the encrypted file is damaged or truncated \(.*\)\nhint: copy the file/);
  }
});
