import path from 'node:path';
import { parseAddress } from '../../../client/http-transport.ts';
import { Fault } from '../../../core/fault.ts';
import type { StoreLocation } from '../../../vault/location.ts';
import { canPrompt, isTypedByHand, promptSecret } from '../../credential/prompt.ts';
import { checkApiKey, namedCredential } from '../../credential/read-credential.ts';
import { createTextReader } from '../../files/text-reader.ts';
import { FLAGS, type FlagsOf, flag, type Line, readFlags } from '../../flags/global-flags.ts';
import { parseChoice } from '../../flags/quantities.ts';
import { chooseTarget } from '../../flags/target.ts';
import { FORMATS } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import type { Profile } from '../../profiles/profile.ts';
import { openProfileStore, type ProfileStore } from '../../profiles/profile-store.ts';
import { type CommandLine, confirmed, type Printing, printing } from '../printing.ts';

const ADD_FLAGS = {
  apiKey: flag('--api-key <->', 'read the API key from standard input and save it'),
  defaultOutput: flag('--default-output <format>', 'the --output of commands that use the profile'),
};

type AddLine = Line<FlagsOf<typeof ADD_FLAGS>>;

/** `vault profile add`: saves a vault and its credentials under a name. Reads missing flags from the environment. */
export const defineProfileAdd = onProfiles({
  args: { '<name>': 'the name of the new profile' },
  flags: { ...FLAGS.daemon, ...FLAGS.file, ...FLAGS.key, ...ADD_FLAGS },
  help: `
A profile stores paths, not the contents of the files. On a terminal, the command asks for a missing API key.`,
  examples: [
    'vault profile add staging --url https://vault.test:8484 --api-key -',
    'vault profile add local --file vault.db --api-key-file backend.key',
    'vault profile add ci --url https://vault.test:8484 --default-output json',
  ],
  async run(store, name, line) {
    await store.checkFree(name);
    await store.add(name, await readProfile(line));
    return shown(store, name);
  },
});

/** `vault profile use`: sets the default profile, which commands use if they name no vault. */
export const defineProfileUse = onProfiles({
  args: { '<name>': 'the new default; `vault profile list` prints the names' },
  examples: ['vault profile use staging'],
  async run(store, name) {
    await store.setDefault(name);
    return shown(store, name);
  },
});

/** `vault profile list`: lists the profiles without their API keys. */
export const defineProfileList = onProfiles({
  view: RESULT_VIEWS.profileList,
  examples: ['vault profile list'],
  async run(store) {
    const data = [];
    for (const name of await store.list()) data.push(await shown(store, name));
    return { data };
  },
});

/** `vault profile remove`: removes a profile, but not its vault. */
export const defineProfileRemove = onProfiles({
  args: { '<name>': 'the profile to remove' },
  flags: FLAGS.confirm,
  examples: ['vault profile remove staging', 'vault profile remove staging --yes'],
  async run(store, name, line) {
    await confirmed(line, `The profile ${name} is lost, with the API key if it stores one.`);
    await store.remove(name);
    return { name };
  },
});

interface OnProfiles extends Partial<Omit<Printing<object>, 'work'>> {
  readonly run: (store: ProfileStore, name: string, line: CommandLine) => Promise<object>;
}

function onProfiles({ run, ...row }: OnProfiles) {
  return printing({
    flags: {},
    view: RESULT_VIEWS.profile,
    ...row,
    work: async (line) => run(await openProfileStore(line.env), line.words[0] ?? '', line),
  });
}

async function shown(store: ProfileStore, name: string) {
  const { api_key, ...members } = await store.read(name);
  const isDefault = (await store.defaultName()) === name;
  return { name, default: isDefault, ...members, keeps_api_key: api_key !== undefined };
}

async function readProfile(line: AddLine): Promise<Profile> {
  const target = chooseTarget(line);
  const asked = readFlags(ADD_FLAGS, line).defaultOutput;
  const output = asked === undefined ? undefined : parseChoice('--default-output', asked, FORMATS);
  const keys = { ...(await readKeys(line)), ...(output !== undefined && { output }) };
  if (target.url !== undefined) {
    parseAddress(target.url);
    const { headerPrefix, caFile } = readFlags(FLAGS.daemon, line);
    return {
      url: absoluteUrl(target.url),
      ...(headerPrefix !== undefined && { header_prefix: headerPrefix }),
      ...(caFile !== undefined && { ca_file: absolute('--ca-file', caFile) }),
      ...keys,
    };
  }
  const { keyFile, keyCommand, passphraseFile } = namedCredential(line);
  return {
    ...(target.store !== undefined ? { store: checkStore(target.store) } : { file: path.resolve(target.file) }),
    ...(keyFile !== undefined && { key_file: path.resolve(keyFile) }),
    ...(keyCommand !== undefined && { key_command: checkKeyCommand(keyCommand) }),
    ...(passphraseFile !== undefined && { passphrase_file: absolute('--passphrase-file', passphraseFile) }),
    ...keys,
  };
}

async function readKeys({ flags, env }: AddLine): Promise<Pick<Profile, 'api_key' | 'api_key_file'>> {
  if (flags.apiKey !== undefined && flags.apiKeyFile !== undefined) {
    throw new Fault('usage', 'only one of --api-key and --api-key-file can be given');
  }
  if (flags.apiKey !== undefined) {
    if (flags.apiKey === '-') {
      const text = isTypedByHand('-') ? await promptSecret('API key') : await createTextReader()('--api-key', '-');
      return { api_key: checkApiKey('--api-key', text) };
    }
    // Do not print the typed text: it is an API key.
    throw new Fault('usage', '--api-key must be `-`: other users can see the command line', {
      hint: 'use `--api-key -` for standard input, or --api-key-file',
    });
  }
  if (flags.apiKeyFile !== undefined) return { api_key_file: absolute('--api-key-file', flags.apiKeyFile) };
  if (env['VAULT_API_KEY']) return { api_key: checkApiKey('VAULT_API_KEY', env['VAULT_API_KEY']) };
  const named = env[FLAGS.key.apiKeyFile.env];
  if (named) return { api_key_file: path.resolve(named) };
  const answer = canPrompt() ? await promptSecret('API key (leave it empty for none)') : '';
  return answer === '' ? {} : { api_key: checkApiKey('the answer', answer) };
}

/** Returns the URL. Throws the fault `usage` for a relative path, because it names another file in each folder. */
function checkStore({ text, url }: StoreLocation): string {
  const files = [url.passfile, url.sslrootcert, url.sslcert, url.sslkey];
  const relative = files.find((file) => file !== undefined && !path.isAbsolute(file));
  if (relative === undefined) return text;
  throw new Fault('usage', `--store: a profile cannot store the relative path ${relative}`, {
    hint: 'name the files of the URL by their absolute paths',
  });
}

/** Returns the command. Throws the fault `usage` for a relative path, which names another program in each folder. */
function checkKeyCommand(command: string): string {
  const [program = ''] = command.trim().split(/\s/);
  if (path.isAbsolute(program) || path.basename(program) === program) return command;
  throw new Fault('usage', `--key-command: a profile cannot store the relative path ${program}`, {
    hint: 'name the program by its absolute path, or by its name in PATH',
  });
}

/** Returns a daemon's URL with the absolute path of its socket, because a profile works in every folder. */
function absoluteUrl(url: string): string {
  const [, relative] = /^unix:([^/\\].*)$/.exec(url) ?? [];
  return relative === undefined ? url : `unix:${path.resolve(relative)}`;
}

/** Returns the absolute path of a file, because a profile works in every folder. Throws the fault `usage` for `-`. */
function absolute(flag: string, typed: string): string {
  if (typed !== '-') return path.resolve(typed);
  throw new Fault('usage', `${flag}: a profile cannot store standard input`, { hint: 'name a file' });
}
