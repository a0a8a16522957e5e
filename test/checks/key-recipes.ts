import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../scripts/build-output.ts';
import { cleanEnvironment, VAULT } from '../scripts/run-script.ts';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { makeFolder } from './folder.ts';
import { makeVaultFile } from './vault-file.ts';

const LABELS = ['age', 'gpg', 'sops', 'systemd', 'kms'] as const;
const execute = promisify(execFile);

/** The key command of the unit in deploy/. */
const SERVICE =
  /^ExecStart=.* --key-command '(.*?)'$/m.exec(readFileSync(path.join(ROOT, 'deploy/vault.service'), 'utf8'))?.[1] ??
  '';

/** Replace programs that Debian or an account lacks. They accept only the command lines of the page. */
const STAND_INS = {
  sops: `case "$*" in
    'encrypt --filename-override key.bin --output key.sops') base64 > key.sops ;;
    'decrypt --input-type binary --output-type binary key.sops') base64 --decode key.sops ;;
    *) echo "sops: unknown words: $*" >&2; exit 64 ;;
  esac`,
  aws: `case "$*" in
    'kms encrypt --key-id alias/vault --plaintext fileb:///dev/stdin --query CiphertextBlob --output text')
      gzip --stdout | base64 ;;
    'kms decrypt --ciphertext-blob fileb://key.kms --query Plaintext --output text')
      gzip --decompress --stdout key.kms | base64 ;;
    *) echo "aws: unknown words: $*" >&2; exit 64 ;;
  esac`,
};

/** Makes the keys that an administrator of each program has. */
const PREPARE = `
  age-keygen -o identity.txt 2> /dev/null
  age-keygen -y identity.txt > recipients.txt
  gpg --batch --quiet --passphrase '' --quick-generate-key vault default default never
`;

export function blockOf(page: string, ...parts: readonly string[]): string {
  const text = readFileSync(path.join(ROOT, 'docs', page), 'utf8');
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  const found = blocks.find((block) => parts.every((part) => block.includes(part)));
  if (found === undefined) throw new Error(`docs/${page} has no block with ${parts}`);
  return found;
}

const recipeOf = (label: string) => blockOf('keys.md', `--label ${label} `, '--new-key-command');

/** Runs the recipes on a vault in a temporary folder. `spoil` is a command that runs before the keys are used. */
async function runRecipes(spoil: string): Promise<Figures> {
  using temporary = makeFolder();
  const folder = temporary.path;
  const inside = (name: string) => path.join(folder, name);
  const env = cleanEnvironment({
    // A real sops has precedence over its stand-in.
    PATH: [inside('first'), process.env['PATH'], inside('last')].join(path.delimiter),
    VAULT_CONFIG_DIR: inside('config'),
    VAULT_FILE: 'vault.db',
    GNUPGHOME: inside('gnupg'),
    SOPS_AGE_KEY_FILE: inside('identity.txt'),
    SYSTEMD_CREDENTIAL_SECRET: inside('secret/host'),
    CREDENTIALS_DIRECTORY: inside('credentials'),
  });
  const run = async (script: string, more: Readonly<Record<string, string>> = {}) => {
    const words = ['-euo', 'pipefail', '-c', script];
    return (await execute('bash', words, { cwd: folder, env: { ...env, ...more }, timeout: 60_000 })).stdout;
  };
  const opens = async (label: string, command: string) => {
    try {
      // The key file beside the vault would open it, too.
      await run('vault doctor --field ok', { VAULT_KEY_COMMAND: command });
    } catch (cause) {
      throw new CheckFailure(`${label}: the key of ${command} does not open the vault: ${cause}`);
    }
  };
  for (const name of ['first', 'last', 'gnupg', 'secret', 'credentials']) mkdirSync(inside(name), { mode: 0o700 });
  const programs = { 'first/vault': `exec '${process.execPath}' '${VAULT}' "$@"`, 'last/sops': STAND_INS.sops };
  for (const [name, text] of Object.entries({ ...programs, 'first/aws': STAND_INS.aws })) {
    writeFileSync(inside(name), `#!/bin/sh\n${text}\n`);
    chmodSync(inside(name), 0o755);
  }
  try {
    await makeVaultFile(folder);
    await run(`for program in age gpg systemd-creds; do command -v $program > /dev/null; done`).catch((cause) => {
      throw new Error('this check needs age, gpg and systemd-creds (apt-get install age gpg systemd)', { cause });
    });
    await run(PREPARE);
    const recipients = readFileSync(inside('recipients.txt'), 'utf8').trim();
    for (const label of LABELS) await run(recipeOf(label), { SOPS_AGE_RECIPIENTS: recipients });
    await run(spoil);
    for (const label of LABELS) await opens(label, /--new-key-command '(.*?)'/.exec(recipeOf(label))?.[1] ?? '');
    // systemd does this before it starts the service.
    await run(
      'systemd-creds decrypt --name=vault.key new.cred credentials/vault.key && chmod 440 credentials/vault.key',
    );
    await opens('the service', SERVICE);
    const listed: { readonly label?: string }[] = JSON.parse(await run('vault keys list --field data'));
    const labels = listed.flatMap(({ label }) => label ?? []);
    if (labels.join() !== LABELS.join()) throw new CheckFailure(`the labels are ${labels}`);
    return { recipes: LABELS.length, slots: listed.length, sops: (await run('command -v sops')).trim() };
  } finally {
    await run('gpgconf --kill all').catch(() => undefined);
  }
}

/** Checks that the recipes of docs/keys.md for unattended keys open a vault. */
export const CHECK: Check = {
  number: 26,
  name: 'key recipes',
  quick: true,
  run: () => runRecipes('true'),
  control: () => runRecipes('openssl rand 32 | age --encrypt --recipients-file recipients.txt --output key.age'),
};
