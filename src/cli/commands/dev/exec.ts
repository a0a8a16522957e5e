import { constants } from 'node:os';
import { Fault } from '../../../core/fault.ts';
import type { ChildExitCode } from '../../exit/exit-codes.ts';
import { END_SIGNALS, SIGNAL_EXIT_CODES, takeSignals } from '../../exit/interrupt.ts';
import { printError } from '../../exit/report-failure.ts';
import { type Environment, FLAGS, flag } from '../../flags/global-flags.ts';
import { seededVariables } from '../seed/seed-output.ts';
import { subcommand } from '../subcommand.ts';
import { type DevDaemon, startDevDaemon } from './seeded-dev-vault.ts';

const EXEC_FLAGS = {
  ...FLAGS.seed,
  ephemeral: flag('--ephemeral', 'use a temporary vault and ignore VAULT_DEV_FILE (default without --file)'),
  // Do not read VAULT_FILE: it names a user's own vault, not a --dev vault.
  file: flag('--file <path>', 'a persistent vault file from `vault serve --dev --file`', 'VAULT_DEV_FILE'),
  seedFile: {
    ...flag('--seed-file <path>', 'a seed file to apply first; repeatable (comma-separated in VAULT_SEED_FILE)'),
    repeatable: true,
  },
} as const;

const HELP = `
The environment of the command has VAULT_URL, VAULT_API_KEY (all token permissions), VAULT_MANAGEMENT_KEY, VAULT_DEV_TENANT_ID
and, with a seed file, the variables that \`vault seed apply --out - --format dotenv\` prints. Other variables that select a vault are removed.
\`vault exec\` passes signals on to the command. It ends with the command's exit code, or with 128 plus the number of its signal.

Examples:
  vault exec -- npm test
  vault exec --seed-file seed.yaml --seed 7 -- \\
    sh -c 'vault tokens get "$TOKEN_VISA"'
  vault exec --file dev.db -- node server.js`;

/** `vault exec`: runs one command with a temporary vault. */
export const defineExec = subcommand({
  args: { '<command...>': 'the command to run, after --' },
  flags: { ...EXEC_FLAGS, ...FLAGS.permissions },
  // A flag after the command's name belongs to the command, with and without --.
  passesOn: true,
  help: HELP,
  async run({ words, flags, env, read }) {
    const { ephemeral, file, seed, seedFile: seedFiles } = read(EXEC_FLAGS);
    if (ephemeral && flags.file !== undefined)
      throw new Fault('usage', 'only one of --ephemeral and --file can be given');
    const run = createChildRunner();
    const dev = await startDevDaemon('SVC', { file: ephemeral ? undefined : file, settings: {}, seedFiles, seed, env });
    try {
      return await run(words, variablesFor(dev, env));
    } finally {
      await dev.stop();
    }
  },
});

/**
 * Variables to remove from the command's environment: they would select another vault, or another key of this one.
 * Other variables that start with `VAULT_` may belong to other programs.
 */
const SELECTING: ReadonlySet<string> = new Set([
  ...Object.values({ ...FLAGS.daemon, ...FLAGS.store, ...FLAGS.credential, ...FLAGS.anchor, ...FLAGS.key }).map(
    (row) => row.env,
  ),
  ...['VAULT_FILE', 'VAULT_PROFILE', 'VAULT_DEV_FILE', 'VAULT_READY_FILE', 'VAULT_TENANT_ID'],
]);

function variablesFor({ url, keys, ids }: DevDaemon, env: Environment): Environment {
  const inherited = Object.entries(env).filter(([name]) => !SELECTING.has(name));
  const own = {
    ...(Object.keys(ids).length > 0 && Object.fromEntries(seededVariables(ids))),
    VAULT_URL: url,
    VAULT_API_KEY: keys.private_key,
    VAULT_MANAGEMENT_KEY: keys.management_key,
    // Not VAULT_TENANT_ID: commands on a vault file read it as `--tenant`.
    VAULT_DEV_TENANT_ID: keys.tenant_id,
  };
  return { ...Object.fromEntries(inherited), ...own };
}

/**
 * Returns a function that runs one command without a shell, on this process's own standard streams. It resolves to the
 * exit code, which is 128 plus the signal number after a signal, 127 for an unknown command and 126 for a command that
 * cannot run. Handles signals, so that none ends this process before it has removed its files. While the command runs,
 * this process passes signals on and waits; otherwise a signal makes it clean up and exit.
 */
function createChildRunner() {
  let kill: ((signal: NodeJS.Signals) => void) | undefined;
  takeSignals();
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      if (kill === undefined) process.exit(SIGNAL_EXIT_CODES[signal]);
      // A terminal sends Ctrl-C to every foreground process, so the command already has it.
      else if (signal !== 'SIGINT' || process.stdin.isTTY !== true) kill(signal);
    });
  }
  return async ([command, ...more]: readonly string[], env: Environment) => {
    if (command === undefined) throw new Error('unreachable: no command');
    // execa can find and start npm.cmd on Windows.
    const { execa } = await import('execa');
    const child = execa(command, more, { env, extendEnv: false, stdio: 'inherit', reject: false });
    kill = (signal) => child.kill(signal);
    const { exitCode, signal, code } = await child;
    kill = undefined;
    if (exitCode !== undefined) return exitCode as ChildExitCode;
    if (signal !== undefined) return (128 + constants.signals[signal]) as ChildExitCode;
    const message = `${command} cannot be run (${code ?? 'unknown error'})`;
    return printError<ChildExitCode>(code === 'ENOENT' ? 127 : 126, { code: 'usage', message });
  };
}
