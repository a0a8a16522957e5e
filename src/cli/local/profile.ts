import path from 'node:path';
import type { Command } from 'commander';
import { httpTransport } from '../../client/http-transport.ts';
import { Fault } from '../../core/fault.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { namedCredential } from '../credential.ts';
import { chooseDoor } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import {
  addFlags,
  DAEMON_FLAGS,
  type Environment,
  FILE_FLAGS,
  flagValue,
  type GlobalFlags,
  KEY_FLAGS,
  OUTPUT_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import type { Profile } from '../profiles/profile.ts';
import { openProfileStore, type ProfileStore } from '../profiles/profile-store.ts';
import { canPrompt, isTypedByHand, promptSecret } from '../prompt.ts';
import { createTextReader } from '../text-reader.ts';
import { LOCAL_VIEWS } from './local-view.ts';

const API_KEY_FLAGS = {
  apiKey: { flag: '--api-key <->', env: 'VAULT_API_KEY', help: 'read the API key from standard input and keep it' },
} as const;

interface AddFlags extends GlobalFlags {
  readonly apiKey?: string;
}

/** `vault profile add`: what reaches a vault, kept under a name. What is not typed is taken from the environment. */
export function defineProfileAdd(command: Command, finish: Finish): void {
  command.argument('<name>', 'the name to keep it under');
  addFlags(command, { ...DAEMON_FLAGS, ...FILE_FLAGS, ...KEY_FLAGS, ...API_KEY_FLAGS, ...OUTPUT_FLAGS });
  command.addHelpText('after', '\nPaths are kept, not what is in them. On a terminal, a missing API key is asked for.');
  command.action(async (name: string) => {
    const flags = typedFlags<AddFlags>(command);
    const printer = createPrinter(flags, process.env, LOCAL_VIEWS.profile);
    const store = await openProfileStore(process.env);
    await store.checkFree(name);
    await store.add(name, await readProfile(flags, process.env));
    await printer.print(stringifyJson(await shown(store, name)));
    finish(0);
  });
}

/** `vault profile use`: the profile for every command that names no vault. */
export function defineProfileUse(command: Command, finish: Finish): void {
  command.argument('<name>', 'the profile; `vault profile list` shows them');
  addFlags(command, OUTPUT_FLAGS);
  command.action(async (name: string) => {
    const printer = createPrinter(typedFlags(command), process.env, LOCAL_VIEWS.profile);
    const store = await openProfileStore(process.env);
    await store.setDefault(name);
    await printer.print(stringifyJson(await shown(store, name)));
    finish(0);
  });
}

/** `vault profile list`: never an API key. */
export function defineProfileList(command: Command, finish: Finish): void {
  addFlags(command, OUTPUT_FLAGS);
  command.action(async () => {
    const printer = createPrinter(typedFlags(command), process.env, LOCAL_VIEWS.profileList);
    const store = await openProfileStore(process.env);
    const data = [];
    for (const name of await store.list()) data.push(await shown(store, name));
    await printer.print(stringifyJson({ data }));
    finish(0);
  });
}

/** `vault profile remove`: the profile, not what it leads to. */
export function defineProfileRemove(command: Command, finish: Finish): void {
  command.argument('<name>', 'the profile');
  addFlags(command, OUTPUT_FLAGS);
  command.action(async (name: string) => {
    const printer = createPrinter(typedFlags(command), process.env, LOCAL_VIEWS.profile);
    await (await openProfileStore(process.env)).remove(name);
    await printer.print(stringifyJson({ name }));
    finish(0);
  });
}

async function shown(store: ProfileStore, name: string) {
  const { api_key, ...members } = await store.read(name);
  const isDefault = (await store.defaultName()) === name;
  return { name, default: isDefault, ...members, keeps_api_key: api_key !== undefined };
}

async function readProfile(flags: AddFlags, env: Environment): Promise<Profile> {
  const door = chooseDoor(flags, env);
  const keys = await readKeys(flags, env);
  if (door.kind === 'remote') {
    // Refuses what is no address of a daemon.
    await httpTransport(door.url, 1).close();
    const prefix = flagValue(flags.headerPrefix, env, DAEMON_FLAGS.headerPrefix);
    return { url: door.url, ...(prefix !== undefined && { header_prefix: prefix }), ...keys };
  }
  const { keyFile, passphraseFile } = namedCredential(flags, env);
  return {
    file: path.resolve(door.file),
    ...(keyFile !== undefined && { key_file: path.resolve(keyFile) }),
    ...(passphraseFile !== undefined && { passphrase_file: absolute('--passphrase-file', passphraseFile) }),
    ...keys,
  };
}

async function readKeys(flags: AddFlags, env: Environment): Promise<Pick<Profile, 'api_key' | 'api_key_file'>> {
  if (flags.apiKey !== undefined && flags.apiKeyFile !== undefined) {
    throw new Fault('usage', 'only one of --api-key and --api-key-file can be given');
  }
  if (flags.apiKey !== undefined) {
    if (flags.apiKey === '-') return { api_key: checkApiKey(await readStandardInput()) };
    // What was typed is not repeated: it is a key, and the shell's history already has it.
    throw new Fault('usage', '--api-key is `-`: a key on the command line is seen by everybody on the machine', {
      hint: '`--api-key -` reads it from standard input, --api-key-file names a file',
    });
  }
  if (flags.apiKeyFile !== undefined) return { api_key_file: absolute('--api-key-file', flags.apiKeyFile) };
  if (env['VAULT_API_KEY']) return { api_key: checkApiKey(env['VAULT_API_KEY']) };
  const named = env[KEY_FLAGS.apiKeyFile.env];
  if (named) return { api_key_file: path.resolve(named) };
  const answer = canPrompt() ? await promptSecret('API key (leave it empty for none)') : '';
  return answer === '' ? {} : { api_key: checkApiKey(answer) };
}

async function readStandardInput(): Promise<string> {
  if (isTypedByHand('-')) return promptSecret('API key');
  return createTextReader(() => process.stdin)('--api-key', '-');
}

function checkApiKey(text: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Fault('usage', '--api-key: this is not an API key: one word of printable characters');
}

/** A relative path would mean another file in another folder. */
function absolute(flag: string, typed: string): string {
  if (typed !== '-') return path.resolve(typed);
  throw new Fault('usage', `${flag}: a profile cannot keep standard input`, { hint: 'name a file' });
}
