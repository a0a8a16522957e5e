import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { keyFileBeside, namedCredential, readPassphraseFile } from '../../credential.ts';
import type { Finish } from '../../exit-codes.ts';
import {
  addFlags,
  type Environment,
  FLAGS,
  flagValue,
  type GlobalFlags,
  isSwitchedOn,
  type KeyOutFlags,
  typedFlags,
} from '../../global-flags.ts';
import { withKeyFile } from '../../key-out.ts';
import { createPrinter } from '../../output/print-result.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { filePath } from '../../output-path.ts';
import { describeStrength } from '../../passphrase-strength.ts';
import { canPrompt, isTypedByHand, promptSecret } from '../../prompt.ts';
import { tell } from '../../report-failure.ts';
import { chooseOwnFile } from '../../target.ts';
import { type NewCredential, provideKeyFile } from '../keys/provide-key-file.ts';
import { checkTenantName } from '../tenants/check-tenant.ts';

const INIT_FLAGS = {
  tenant: {
    flag: '--tenant <name>',
    env: 'VAULT_TENANT_NAME',
    help: 'the name of the first tenant (default: default)',
  },
  weakPassphrase: {
    flag: '--weak-passphrase',
    env: 'VAULT_WEAK_PASSPHRASE',
    help: 'allow a passphrase of less than 12 characters',
  },
} as const;

interface InitFlags extends KeyOutFlags {
  readonly tenant?: string;
  readonly weakPassphrase?: boolean;
}

/** `vault init`: the file, its key, its first tenant and that tenant's management application, or nothing of it. */
export function defineInit(command: Command, finish: Finish): void {
  addFlags(command, { ...INIT_FLAGS, ...FLAGS.file, ...FLAGS.keyOut, ...FLAGS.output });
  command.addHelpText(
    'after',
    '\nA key file that does not exist is made: 32 random bytes, mode 0600. Keep a copy of it.',
  );
  command.action(async () => {
    const flags = typedFlags<InitFlags>(command);
    const printer = createPrinter(flags, process.env, RESULT_VIEWS.init);
    const keyOut = flagValue(flags.keyOut, process.env, FLAGS.keyOut.keyOut);
    await printer.print(await withKeyFile(keyOut, () => init(flags, process.env), 'application.key'));
    finish(0);
  });
}

async function init(flags: GlobalFlags & InitFlags, env: Environment): Promise<string> {
  const file = filePath('--file', chooseOwnFile(flags, env));
  const tenantName = checkTenantName('--tenant', flagValue(flags.tenant, env, INIT_FLAGS.tenant) ?? 'default');
  if (await lstat(file).catch(() => undefined)) throw new Fault('file_exists', `${file} exists`);
  const weakPassphrase = isSwitchedOn(flags.weakPassphrase, env, INIT_FLAGS.weakPassphrase);
  const { credential, undo } = await newCredential(file, flags, env, weakPassphrase);
  try {
    const { createVault } = await import('../../../vault/vault.ts');
    const { vault, tenant, application } = await createVault({ file, credential, tenantName, weakPassphrase });
    await vault.close();
    return stringifyJson({ file, tenant: tenant as Printable, application: application as Printable });
  } catch (error) {
    // Another command may have made this vault meanwhile, with the key file that this one made.
    if (!existsSync(file)) await undo();
    throw error;
  }
}

/** What is named; else on a terminal a passphrase that is asked for; else, or when that is left empty, a key file. */
async function newCredential(
  file: string,
  flags: GlobalFlags,
  env: Environment,
  allowWeak: boolean,
): Promise<NewCredential> {
  const named = namedCredential(flags, env);
  if (named.keyFile !== undefined) return provideKeyFile(named.keyFile);
  const isTyped = named.passphraseFile !== undefined && isTypedByHand(named.passphraseFile);
  if (named.passphraseFile !== undefined && !isTyped) {
    return { credential: await readPassphraseFile(named.passphraseFile), undo: async () => undefined };
  }
  const question = isTyped ? 'Passphrase' : `Passphrase (leave it empty for the key file ${keyFileBeside(file)})`;
  const passphrase = canPrompt() ? await newPassphrase(question, allowWeak) : '';
  if (passphrase === '' && !isTyped) return provideKeyFile(keyFileBeside(file));
  return { credential: { kind: 'passphrase', passphrase }, undo: async () => undefined };
}

async function newPassphrase(question: string, allowWeak: boolean): Promise<string> {
  const first = await promptSecret(question);
  if (first === '') return first;
  const { checkNewPassphrase } = await import('../../../vault/admin.ts');
  checkNewPassphrase(first, allowWeak);
  tell(describeStrength(first));
  if ((await promptSecret('The same again')) === first) return first;
  throw new Fault('usage', 'the two passphrases differ');
}
