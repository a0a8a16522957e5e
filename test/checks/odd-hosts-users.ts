import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { runBriefly } from './run-briefly.ts';

const USER = 12_345;
/** A user without an entry in /etc/passwd, and an empty environment: no HOME, no PATH. */
const AS_NOBODY = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', 'env', '-i', 'LANG=C'];

/** A command line, and what it prints. A command that serves is stopped when it has printed this. */
const COMMANDS: readonly (readonly [words: string, prints: RegExp, isServing?: true])[] = [
  ['init --file vault.db --key-out management.key', /"name":"management"/],
  ['tenant list', /"data":\[\{"id"/],
  ['apps list --api-key-file management.key', /"data":\[\{"id"/],
  ['tokens list --api-key-file management.key', /permission/],
  ['doctor', /"ok":true/],
  ['backup copy.db', /"file":/],
  ['keygen --out transfer.key', /"recipient":/],
  ['profile list', /"data":\[\]/],
  ['profile add one --file vault.db', /set VAULT_CONFIG_DIR/],
  ['exec -- /bin/true', /^$/],
  ['seed schema', /"tenant"/],
  ['completion bash', /vault/],
  ['serve --port 0', /listening on/, true],
  ['serve --dev --port 0', /management_key/, true],
  ['ui --port 0 --no-open --api-key-file management.key', /http:\/\/127\.0\.0\.1/, true],
];

const SAMPLE = /^(?:init|tokens|profile|serve|ui) /;

/** Runs commands as a user without a home folder. Returns their number, or why this system cannot run them. */
export async function tryWithoutHome(isSample: boolean, bin = VAULT_BIN): Promise<number | string> {
  using folder = makeMemoryFolder();
  const own = join(folder.path, 'own');
  if (spawnSync(AS_NOBODY[0] ?? '', [...AS_NOBODY.slice(1), process.execPath, bin, '--version']).status !== 0)
    return 'this system may not change the user, or the user cannot read the product';
  mkdirSync(own);
  chownSync(own, USER, USER);
  spawnSync('chmod', ['711', folder.path]);
  const chosen = isSample ? COMMANDS.filter(([line]) => SAMPLE.test(line)) : COMMANDS;
  for (const [line, prints, isServing = false] of chosen) {
    const words = [...AS_NOBODY, process.execPath, bin, ...line.split(' ')];
    const { printed } = await runBriefly(own, process.env, words, isServing ? prints : undefined);
    if (/unexpected error/.test(printed) || !prints.test(printed))
      throw new CheckFailure(`${line}: ${printed.slice(0, 300)}`);
  }
  return chosen.length;
}
