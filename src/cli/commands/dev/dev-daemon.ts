import type { Command } from 'commander';
import { decodeProblem } from '../../../client/decode-problem.ts';
import { type DevRequest, sendToDev } from '../../../client/remote.ts';
import { Fault } from '../../../core/fault.ts';
import { readApiKey } from '../../credential.ts';
import type { ExitCode, Finish } from '../../exit-codes.ts';
import { addFlags, type Environment, FLAGS, flagValue, type GlobalFlags, typedFlags } from '../../global-flags.ts';
import { createPrinter } from '../../output/print-result.ts';
import type { ResultView } from '../../output/result-view.ts';
import { withProfile } from '../../profiles/with-profile.ts';
import { report, reportProblem } from '../../report-failure.ts';

/** The part of a request that a subcommand decides. */
export type Asked = Omit<DevRequest, 'apiKey'>;

export interface DevCommand<T extends object> {
  readonly view: ResultView;
  /** Complete command lines, shown by `--help`. */
  readonly examples: readonly string[];
  /** The command-line names of body members. */
  readonly names?: Readonly<Record<string, string>>;
  /** Checks the typed words before anything is sent. Throws the fault `usage`. */
  readonly ask: (words: readonly string[], flags: T & GlobalFlags) => Asked;
}

/** Defines a subcommand for a running `vault serve --dev`. */
export function defineOnDevDaemon<T extends object>(command: Command, finish: Finish, row: DevCommand<T>): void {
  addFlags(command, { ...FLAGS.daemon, ...FLAGS.profile, ...FLAGS.key, ...FLAGS.output });
  const examples = row.examples.map((line) => `  ${line}`).join('\n');
  command.addHelpText(
    'after',
    `\nOnly for a daemon started with --dev, on this machine, with its management key:\n  eval "$(vault env --ready-file ready.json --as management)"\n\nExamples:\n${examples}`,
  );
  command.action(async () => {
    const flags = typedFlags<T>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, row.view);
    const asked = row.ask(command.args, flags);
    const url = urlOf(flags, env);
    const apiKey = await readApiKey(flags, env);
    const headerPrefix = flagValue(flags.headerPrefix, env, FLAGS.daemon.headerPrefix);
    const reply = await sendToDev({ url, ...(headerPrefix !== undefined && { headerPrefix }) }, { ...asked, apiKey });
    if (reply.status >= 400) {
      finish(refuse(reply, row.names));
      return;
    }
    await printer.print(reply.bodyText ?? '');
    finish(0);
  });
}

/** A typed value overrides the environment. A file is not a daemon. Throws the fault `usage`. */
function urlOf(flags: GlobalFlags, env: Environment): string {
  const url = flags.file === undefined ? flagValue(flags.url, env, FLAGS.daemon.url) : undefined;
  if (url !== undefined) return url;
  throw new Fault('usage', 'this command needs a running `vault serve --dev`', {
    hint: 'set --url (VAULT_URL), or `eval "$(vault env --ready-file FILE --as management)"`',
  });
}

function refuse(reply: Parameters<typeof reportProblem>[0], names: Readonly<Record<string, string>> = {}): ExitCode {
  if (decodeProblem(reply.bodyText)?.code === 'route_not_found') {
    throw new Fault('usage', 'only a daemon started with --dev answers this command', {
      hint: 'start one: `vault serve --dev --ready-file ready.json`',
    });
  }
  const exitCode = reportProblem(reply, (path) => names[path] ?? path);
  // `vault exec` has printed this hint already.
  if (exitCode === 5 && !process.env['VAULT_MANAGEMENT_KEY'])
    report('only a management key may do this', 'vault env --ready-file FILE --as management');
  return exitCode;
}
