import { appendFileSync } from 'node:fs';
import { shellWord } from '../../../client/shell-word.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { type Environment, FLAGS, type FlagValues, flag, type Line, oneShot } from '../../flags/global-flags.ts';
import { parseChoice } from '../../flags/quantities.ts';
import { writeOut } from '../../output/standard-output.ts';
import { PROFILE_VARIABLES } from '../../profiles/profile.ts';
import { VAULT_VARIABLES, withProfile } from '../../profiles/with-profile.ts';
import { readReadyFile } from '../serve/ready-file.ts';
import { subcommand } from '../subcommand.ts';

type Print = (name: string, value: string) => string;

/** How each shell sets and unsets a variable. The names are fixed, and the values are quoted. */
export const SHELLS = {
  sh: {
    set: (name, value) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`,
    unset: (name) => `unset ${name}`,
  },
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, '\\$&')}'`,
    unset: (name) => `set -e ${name}`,
  },
  powershell: {
    // PowerShell treats typographic quotes as quotation marks, too.
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018-\u201b]/g, '$&$&')}'`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction Ignore`,
  },
} as const satisfies Record<string, { set: Print; unset: (name: string) => string }>;

const SHELL_NAMES = Object.keys(SHELLS) as (keyof typeof SHELLS)[];

/** The API keys of a `--dev` daemon, as `--as` names them. */
export const KEY_NAMES = ['private', 'management'] as const;

export const ENV_FLAGS = {
  readyFile: flag('--ready-file <path>', 'the file that `vault serve --ready-file` wrote'),
  shell: flag('--shell <name>', 'sh, fish or powershell (default: sh)'),
  github: oneShot('--github', 'set the variables of the next steps of a GitHub job, and mask the keys in its log'),
  as: flag('--as <key>', 'the key of a --dev vault: private or management (default: private)'),
};

/** `vault env`: prints the lines that point a shell at a daemon or a profile. */
export const defineEnv = subcommand({
  flags: { ...ENV_FLAGS, ...FLAGS.profile },
  examples: [
    'eval "$(vault env --ready-file ready.json)"',
    'vault env --profile staging --shell fish | source',
    'vault env --ready-file ready.json --github',
  ],
  async run(line) {
    const { env } = line;
    const values = line.read(ENV_FLAGS);
    const shell = SHELLS[parseChoice('--shell', values.shell ?? 'sh', SHELL_NAMES)];
    const variables = await variablesFor(line, values);
    if (values.github) {
      await setForJob(variables, env);
      return 0;
    }
    const lines = Object.entries(variables).map(([name, value]) => shell.set(name, value));
    const gone = rivalsOf(variables, env).map((name) => shell.unset(name));
    await writeOut([...lines, ...gone].map((line) => `${line}\n`).join(''));
    return 0;
  },
});

/** Writes variables to the file that a GitHub job reads before its next step, and masks the API keys in the job's log. */
async function setForJob(variables: Readonly<Record<string, string>>, env: Environment): Promise<void> {
  const file = env['GITHUB_ENV'];
  if (file === undefined) throw new Fault('usage', '--github needs GITHUB_ENV, which a GitHub job sets');
  const keys = Object.entries(variables).filter(([name]) => /^(?:VAULT_API|APP_.*)_KEY$/.test(name));
  for (const [, key] of keys) await writeOut(`::add-mask::${key}\n`);
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  appendFileSync(file, lines.join(''));
}

const CREDENTIALS = Object.values(FLAGS.credential).map((row) => row.env);

/** For a printed variable, the variables that would override it, select another vault, or conflict with it. */
const RIVALS: Readonly<Record<string, readonly string[]>> = {
  VAULT_URL: ['VAULT_HEADER_PREFIX', 'VAULT_CA_FILE'],
  ...Object.fromEntries(CREDENTIALS.map((name) => [name, CREDENTIALS])),
  VAULT_API_KEY_FILE: ['VAULT_API_KEY'],
};

function rivalsOf(variables: Readonly<Record<string, string>>, env: Environment): readonly string[] {
  // Unset the other variables: a command rejects two names of a vault.
  const [first = '', ...targets] = VAULT_VARIABLES.filter((name) => variables[name] === undefined);
  const rivals = [...targets, ...Object.keys(variables).flatMap((name) => RIVALS[name] ?? [])];
  return [first, ...rivals.filter((name) => variables[name] === undefined && env[name] !== undefined)];
}

async function variablesFor(
  { flags, env }: Line,
  values: FlagValues<typeof ENV_FLAGS>,
): Promise<Readonly<Record<string, string>>> {
  const as = values.as === undefined ? undefined : parseChoice('--as', values.as, KEY_NAMES);
  if ('readyFile' in flags && flags.profile !== undefined) {
    throw new Fault('usage', 'only one of --ready-file and --profile can be given');
  }
  if (flags.profile === undefined && values.readyFile !== undefined) return variablesOfDaemon(values.readyFile, as);
  if (as !== undefined) throw new Fault('usage', '--as needs --ready-file (VAULT_READY_FILE)');
  // Read only the variables of the profile, because the shell already has the others.
  const { VAULT_PROFILE, VAULT_CONFIG_DIR } = env;
  const { env: filled } = await withProfile<Line>({ flags, env: { VAULT_PROFILE, VAULT_CONFIG_DIR } });
  const variables = Object.values(PROFILE_VARIABLES).flatMap((name) =>
    filled[name] === undefined ? [] : [[name, filled[name]] as const],
  );
  if (variables.length > 0) return Object.fromEntries(variables);
  const isSet = VAULT_VARIABLES.find((name) => env[name] !== undefined);
  throw new Fault('usage', 'there is nothing to print', {
    hint: isSet
      ? `${isSet} already names a vault; pass --ready-file or --profile for another one`
      : 'set --ready-file (VAULT_READY_FILE) or --profile (VAULT_PROFILE)',
  });
}

async function variablesOfDaemon(
  file: string,
  as: (typeof KEY_NAMES)[number] | undefined,
): Promise<Readonly<Record<string, string>>> {
  const ready = await readReadyFile(file);
  if (ready === undefined) {
    throw new Fault('usage', `--ready-file: there is no file ${file}`, {
      hint: `vault wait --ready-file ${shellWord(file)}`,
    });
  }
  const key = ready[`${as ?? 'private'}_key`];
  if (as !== undefined && key === undefined) {
    throw new Fault('usage', `--as: ${file} holds no ${as} key`, {
      hint: 'name a ready file from `vault serve --dev`',
    });
  }
  return {
    VAULT_URL: ready.url,
    ...(ready.header_prefix !== undefined && { VAULT_HEADER_PREFIX: ready.header_prefix }),
    ...(key !== undefined && { VAULT_API_KEY: key }),
    // Lets a script stop the daemon: kill "$VAULT_PID".
    VAULT_PID: String(ready.pid),
    ...(ready.seed !== undefined && (await variablesOfSeed(ready.seed))),
  };
}

/** Resolves to the ids and keys of a seed as variables, without names and values that a shell could misread. */
async function variablesOfSeed(seed: JsonObject): Promise<Readonly<Record<string, string>>> {
  const { seededVariables } = await import('../seed/seed-output.ts');
  const variables = [...seededVariables({ apps: {}, tokens: {}, ...seed })];
  return Object.fromEntries(variables.filter(([name, value]) => /^\w+$/.test(name) && !/\p{Cc}/u.test(value)));
}
