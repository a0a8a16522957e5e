import { decodeProblem } from '../../../client/decode-problem.ts';
import { sendToDev } from '../../../client/remote.ts';
import type { Reply } from '../../../contract/call.ts';
import type { DevRequest } from '../../../contract/dev-paths.ts';
import { Fault } from '../../../core/fault.ts';
import { readApiKey } from '../../credential/read-credential.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { report, reportProblem } from '../../exit/report-failure.ts';
import { FLAGS, type FlagRows, type Line, readFlags } from '../../flags/global-flags.ts';
import { daemonAt } from '../../flags/target.ts';
import type { ItemPrinter } from '../../output/print-items.ts';
import { type CommandLine, type Printing, printing } from '../printing.ts';
import type { Define } from '../subcommand.ts';

/** The part of a request that a subcommand defines. */
export type Asked = Omit<DevRequest, 'apiKey'>;

/** Sends a request. Resolves to the body of the reply, or to the exit code of a problem that it has reported. */
export type Send = (asked: Asked) => Promise<string | ExitCode>;

const HELP = `
Only for a daemon started with --dev, on this machine, with its management key:
  eval "$(vault env --ready-file ready.json --as management)"`;

interface DevCommand extends Pick<Printing<object>, 'args' | 'view' | 'examples'> {
  readonly flags?: FlagRows;
  /** The flags or arguments that set the members of the body, by member. Reported problems name them. */
  readonly names?: Readonly<Record<string, string>>;
  /** Returns the request for a command line. Throws the fault `usage` for wrong words. */
  readonly ask: (line: CommandLine) => Asked;
  /** Does the work of `--follow` and resolves to the exit code; absent for a subcommand without `--follow`. */
  readonly follow?: (send: Send, items: ItemPrinter) => Promise<ExitCode>;
}

/** Returns the function that defines a subcommand for a running `vault serve --dev`. */
export function onDevDaemon({ names, ask, follow, ...row }: DevCommand): Define {
  return printing({
    ...row,
    flags: { ...row.flags, ...(follow && FLAGS.follow), ...FLAGS.daemon, ...FLAGS.profile, ...FLAGS.key },
    help: HELP,
    async work(line) {
      const asked = ask(line);
      const send = await openDevDaemon(line, urlOf(line), names);
      return line.items === undefined ? send(asked) : follow?.(send, line.items);
    },
  });
}

/**
 * Resolves to a function that sends requests to a `--dev` daemon with the caller's key. It rejects with the fault
 * `usage` and `hint` when the daemon runs without `--dev`.
 */
export async function openDevDaemon(
  line: Line,
  url: string,
  names: Readonly<Record<string, string>> = {},
  hint = 'start one: `vault serve --dev --ready-file ready.json`',
): Promise<Send> {
  const apiKey = await readApiKey(line);
  const options = await daemonAt(url, line);
  return async (asked) => {
    const reply = await sendToDev(options, { ...asked, apiKey });
    return reply.status < 400 ? (reply.bodyText ?? '') : refuse(reply, names, hint);
  };
}

/** Returns the URL of the daemon; a typed flag overrides the environment. Throws `usage` for none or a `--file`. */
function urlOf(line: Line): string {
  const isOther = (line.flags.file ?? line.flags.store) !== undefined;
  const url = isOther ? undefined : readFlags(FLAGS.daemon, line).url;
  if (url !== undefined) return url;
  throw new Fault('usage', 'this command needs a running `vault serve --dev`', {
    hint: 'set --url (VAULT_URL), or `eval "$(vault env --ready-file FILE --as management)"`',
  });
}

function refuse(reply: Reply, names: Readonly<Record<string, string>>, hint: string): ExitCode {
  if (decodeProblem(reply.bodyText)?.code === 'route_not_found') {
    throw new Fault('usage', 'only a daemon started with --dev answers this command', { hint });
  }
  const exitCode = reportProblem(reply, (path) => names[path] ?? path);
  // With VAULT_MANAGEMENT_KEY, which `vault exec` sets, `reportProblem` has already printed a hint.
  if (exitCode === 5 && !process.env['VAULT_MANAGEMENT_KEY'])
    report('only a management key may do this', 'vault env --ready-file FILE --as management');
  return exitCode;
}
