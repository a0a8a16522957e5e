import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { Encrypter } from 'age-encryption';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { askedAfter, HAS_TERMINALS, makePlace, type Place } from './cli-fixture.ts';

const PASSPHRASE = 'orchid lantern battery staple';

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
});

/** A vault that only the passphrase opens, and the file of its management key. It is made once, because that takes long. */
const made = makePlace();
beforeAll(async () => {
  writeFileSync(made.inside('p'), PASSPHRASE, { mode: 0o600 });
  await made.vault('init --file a.db --passphrase-file p --key-out m.key');
});
const copyVault = () => {
  for (const name of ['a.db', 'm.key']) copyFileSync(made.inside(name), place.inside(name));
};

describe.runIf(HAS_TERMINALS)('on a terminal', () => {
  it('init asks twice for a passphrase and rates it; only this passphrase opens the vault', async () => {
    const made = await place.onTerminal('init --file a.db -o json', [
      ['Passphrase', `${PASSPHRASE}\r`],
      ['Repeat', `${PASSPHRASE}\r`],
    ]);
    expect(made.stdout).toMatch(/vault: good: about \d+ bits/);
    expect(made.stdout).not.toContain('orchid');
    expect(made.exitCode).toBe(0);
    expect([existsSync(place.inside('a.db')), existsSync(place.inside('a.db.key'))]).toEqual([true, false]);
    const WRONG = 'orchid lantern battery stable\r';
    const twice = [
      ['Passphrase of a.db', WRONG],
      [askedAfter('does not open this vault'), WRONG],
    ] as const;
    const refused = await place.onTerminal('tenant list --file a.db', [
      ...twice,
      [askedAfter('does not open this vault'), WRONG],
    ]);
    expect(refused).toMatchObject({ exitCode: 10 });
    expect(refused.stdout.split('vault: the passphrase does not open this vault')).toHaveLength(4);
    // `-` is a prompt, too.
    const third = await place.onTerminal('tenant list --file a.db --passphrase-file - --field data[0].name', [
      ...twice,
      [askedAfter('does not open this vault'), `${PASSPHRASE}\r`],
    ]);
    expect(third).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('default') });
  });

  it('neither shows nor reads what is typed while a passphrase is checked', async () => {
    copyVault();
    const opened = await place.onTerminal('tenant list --file a.db --field name', [
      ['Passphrase of a.db', 'orchid lantern battery stable\r'],
      ['✔', 'typed ahead\rand more'],
      [askedAfter('does not open this vault'), `${PASSPHRASE}\r`],
    ]);
    expect(opened).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('default') });
    expect(opened.stdout).not.toMatch(/typed ahead|and more/);
    expect(opened.stdout.split('vault: the passphrase does not open this vault')).toHaveLength(2);
    for (const passphrase of [PASSPHRASE, 'orchid lantern battery stable']) {
      const stopped = await place.onTerminal('tenant list --file a.db', [
        ['Passphrase of a.db', `${passphrase}\r`],
        ['✔', '\x03'],
      ]);
      expect(stopped).toMatchObject({ exitCode: 130 });
    }
  });

  it('asks for no passphrase where only a key file opens the vault', async () => {
    await place.init('v');
    renameSync(place.inside('v.db.key'), place.inside('other.key'));
    const refused = await place.onTerminal('tenant list --file v.db', []);
    expect(refused).toMatchObject({ exitCode: 10, stdout: expect.stringContaining('no passphrase opens this vault') });
    expect(refused.stdout).not.toContain('Passphrase of');
  });

  it('asks for the passphrase before the form and before a confirmation', async () => {
    copyVault();
    const form = await place.onTerminal('apps create --file a.db --api-key-file m.key', [
      ['Passphrase of a.db', `${PASSPHRASE}\r`],
      ['Name', '\x03'],
    ]);
    expect(form.exitCode).toBe(130);
    const removed = await place.onTerminal('keys remove 7 --file a.db', [
      ['Passphrase of a.db', `${PASSPHRASE}\r`],
      ['(y/N)', 'n\r'],
    ]);
    expect(removed).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('nothing was done') });
  });

  it('init asks again for a short passphrase and for two that differ, and creates nothing after three tries', async () => {
    const short = ['(at least 12 characters; leave it empty for the key file a.db.key)', 'short\r'] as const;
    const again = [askedAfter('fewer than 12 characters'), 'short\r'] as const;
    const refused = await place.onTerminal('init --file a.db', [short, again, again]);
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stdout.split('fewer than 12 characters')).toHaveLength(4);
    expect(refused.stdout).not.toContain('Repeat');
    expect(existsSync(place.inside('a.db'))).toBe(false);
    const made = await place.onTerminal('init --file a.db --key-out m', [
      short,
      [askedAfter('fewer than 12 characters'), `${PASSPHRASE}\r`],
      ['Repeat', 'another passphrase\r'],
      ['the two passphrases differ', `${PASSPHRASE}\r`],
      ['Repeat', `${PASSPHRASE}\r`],
    ]);
    expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('the two passphrases differ') });
  });

  it('import asks three times for the passphrase of an export', async () => {
    const encrypter = new Encrypter();
    // Each answer derives a key: with the usual factor the test would take 8 seconds of processor time.
    encrypter.setScryptWorkFactor(10);
    encrypter.setPassphrase(PASSPHRASE);
    writeFileSync(place.inside('a.age'), await encrypter.encrypt('{"type":"token","data":"a"}\n'));
    const again = [askedAfter('does not open the export'), 'wrong\r'] as const;
    const refused = await place.onTerminal('import a.age --dry-run', [
      ['Passphrase of the export', 'wrong\r'],
      again,
      again,
    ]);
    expect(refused).toMatchObject({ exitCode: 10 });
    expect(refused.stdout.split('vault: the passphrase does not open the export')).toHaveLength(4);
    const ended = await place.onTerminal('import a.age --dry-run', [['Passphrase of the export', '\u0003']]);
    expect(ended).toMatchObject({ exitCode: 130, stdout: expect.not.stringContaining('damaged') });
    const imported = await place.onTerminal('import a.age --dry-run --field path', [
      ['Passphrase of the export', 'wrong\r'],
      [askedAfter('does not open the export'), `${PASSPHRASE}\r`],
    ]);
    expect(imported).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('/tokens') });
  });

  it('an empty answer to init creates a key file', async () => {
    const made = await place.onTerminal('init --file a.db', [['Passphrase', '\r']]);
    expect(made.exitCode).toBe(0);
    expect(existsSync(place.inside('a.db.key'))).toBe(true);
  });

  it.each([
    ['an end of input', 'Passphrase', '\x04'],
    ['an end of input', 'Repeat', '\x04'],
    ['Ctrl-C', 'Passphrase', '\x03'],
  ])('%s at "%s" exits with 130 and leaves no file; --no-color shows no colours', async (_what, prompt, key) => {
    const answers = [['Passphrase', `${PASSPHRASE}\r`] as const, [prompt, key] as const];
    const made = await place.onTerminal(
      'init --file a.db --no-color',
      prompt === 'Passphrase' ? answers.slice(1) : answers,
    );
    expect(made.exitCode).toBe(130);
    expect(existsSync(place.inside('a.db'))).toBe(false);
    for (const colour of ['\x1b[1m', '\x1b[2m', '\x1b[34m']) expect(made.stdout).not.toContain(colour);
  });

  it('profile add asks for the API key, and never shows it', async () => {
    const added = await place.onTerminal('profile add p --url http://127.0.0.1:1 --api-key - -o json', [
      ['API key', 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo\r'],
    ]);
    expect(added.exitCode).toBe(0);
    expect(added.stdout).not.toContain('key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo');
    const env = await place.vault('env --profile p');
    expect(env.stdout).toContain("export VAULT_API_KEY='key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo'\n");
  });

  it('`-` asks for a passphrase, twice for a new one, and does not show it', async () => {
    copyVault();
    const added = await place.onTerminal('keys add --file a.db --passphrase-file - --new-passphrase-file - -o json', [
      ['Passphrase', `${PASSPHRASE}\r`],
      ['New passphrase', 'anchor marble window thread\r'],
      ['Repeat', 'anchor marble window thread\r'],
    ]);
    expect(added).toMatchObject({ exitCode: 0, stdout: expect.not.stringMatching(/orchid|marble/) });
    expect(added.stdout).toMatch(/vault: good: about \d+ bits/);
    const again = [askedAfter('the passphrase is empty'), '\r'] as const;
    const empty = await place.onTerminal('init --file b.db --passphrase-file -', [['Passphrase', '\r'], again, again]);
    expect(empty).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('the passphrase is empty') });
  });

  it('the program of --key-command asks, twice for a new vault', async () => {
    writeFileSync(place.inside('ask.sh'), 'printf "Question: " > /dev/tty; read -r key; echo "$key"');
    const made = await place.onTerminal("init --file a.db --key-command 'sh ask.sh' --key-out m", [
      ['Question: ', `${'0e0f'.repeat(16)}\r`],
      ['Question: ', `${'0e0f'.repeat(16)}\r`],
    ]);
    expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('the key from the command opens it') });
    expect(existsSync(place.inside('a.db.key'))).toBe(false);
  });

  it('shows a new key once, apart from the other members', async () => {
    const key = await place.init('v');
    const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
    const line = 'apps create --name a --type private --permission token:read --no-color';
    const made = await place.onTerminal(line, [], env);
    expect(made.stdout).toMatch(/^vault: the API key below is shown once\r\nhint: .*--key-out FILE/);
    expect(made.stdout).toMatch(/\r\n\r\nkey +key_\w{32}\r\n$/);
    const kept = await place.onTerminal(`${line} --key-out a.key`, [], env);
    expect(kept.stdout).not.toContain('shown once');
  });

  it('a delete asks for confirmation', async () => {
    const key = await place.init('v');
    const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
    const no = await place.onTerminal('tenant delete', [['(y/N)', 'n\r']], env);
    expect(no).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('nothing was done') });
    expect(no.stdout).toMatch(/keys of the tenant default \([\da-f]{8}-/);
    expect(await place.onTerminal('tenant delete', [['(y/N)', 'y\r']], env)).toMatchObject({ exitCode: 0 });
    expect(await place.vault('tenant get', env)).toMatchObject({ exitCode: 4 });
  });
});
