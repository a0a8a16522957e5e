import { type DecodedProblem, decodeProblem } from '../../client/decode-problem.ts';
import type { Reply } from '../../contract/call.ts';
import { diskHint, FAULTS } from '../../contract/faults.ts';
import type { ProblemCode } from '../../contract/problems.ts';
import { errorCode, Fault, isError } from '../../core/fault.ts';
import { type MemberErrors, memberLines, Problem } from '../../core/problem.ts';
import type { NameMember } from '../derive/name-member.ts';
import { pathFault } from '../files/typed-paths.ts';
import type { Environment } from '../flags/global-flags.ts';
import { asStarted, inOwnName } from '../help/in-own-name.ts';
import { escapeInJson, stripControlCharacters } from '../output/control-characters.ts';
import { wantsJsonErrors } from './error-form.ts';
import { isFullDisk } from './error-reason.ts';
import { type ChildExitCode, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { RefusedReply } from './refused-reply.ts';

type Hints = Readonly<Partial<Record<ProblemCode, string | undefined>>>;

/** Hints for problems whose detail contains no hint. */
const HINTS: Hints = {
  unauthenticated:
    'pass a key of this vault; `vault tenant issue-key` creates a new one, `vault doctor` looks for damage',
  vault_busy: 'try again',
  write_unsettled: 'check whether the change is stored before you try again',
  too_many_requests: 'try again later',
  no_space: FAULTS.no_space.hint,
  read_only: diskHint('EROFS') ?? '',
  disk_error: FAULTS.disk_error.hint,
  // Give the same hint as for a damaged file.
  integrity_failure: FAULTS.damaged.hint,
};

/** Matches the error codes of disk errors, from the system and from SQLite. */
const DISK_ERROR = /^(EIO$|SQLITE_(IOERR|PROTOCOL))/;

/** Returns the hint to use the management key, which `vault exec` sets, too; undefined if it would not help. */
function otherKeyHint(env: Environment): string | undefined {
  const { VAULT_API_KEY: own, VAULT_MANAGEMENT_KEY: other } = env;
  if (!other || own === other) return undefined;
  return 'use the management key: VAULT_API_KEY="$VAULT_MANAGEMENT_KEY" vault …';
}

/** Prints a fact, details and a hint on stderr: one line for the fact, one for each detail, and a line `hint: …`. */
export function report(fact: string, hint?: string, details: readonly string[] = []): void {
  for (const line of [fact, ...details.map((detail) => `  ${detail}`)]) {
    writeError(`${inOwnName('vault: ')}${asStarted(stripControlCharacters(line))}\n`);
  }
  if (hint !== undefined) writeError(asStarted(`hint: ${stripControlCharacters(hint)}\n`));
}

/** The members of an error as JSON, besides `exit_code`. */
interface ErrorMembers {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The errors by the path of the member in the request. */
  readonly errors?: MemberErrors | undefined;
  readonly details?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly trace_id?: string | undefined;
}

/** The error as JSON that `printHeldError` prints. */
let held: string | undefined;

/**
 * Reports an error as text, or holds it as JSON if the command line asks for JSON. `lines` are the details of the text.
 * Returns the exit code.
 */
export function printError<Code extends ExitCode | ChildExitCode>(
  exitCode: Code,
  { details, ids, ...members }: ErrorMembers,
  lines: readonly string[] = [...(details ?? []), ...(ids ?? [])],
): Code {
  if (!wantsJsonErrors()) report(members.message, members.hint, lines);
  else {
    const lists = { ...(details?.length && { details }), ...(ids?.length && { ids }) };
    const { hint, errors, trace_id, ...first } = members;
    held ??= JSON.stringify({ ...first, hint, errors, ...lists, trace_id: trace_id || undefined, exit_code: exitCode });
  }
  return exitCode;
}

/** Prints the first error of the command as one line of JSON, if JSON was asked for. Call it after all other output. */
export function printHeldError(): void {
  if (held === undefined) return;
  writeError(asStarted(`${escapeInJson(held)}\n`));
  held = undefined;
}

/**
 * Reports a problem reply and returns its exit code. `nameMember` names members as the command line does. `own` are the
 * operation's hints.
 */
export function reportProblem(reply: Reply, nameMember?: NameMember, own?: Hints): ExitCode {
  return printProblem(reply.status, decodeProblem(reply.bodyText), nameMember, reply.traceId, own);
}

/** Reports a failure and returns its exit code. Omits the message of an unexpected error, which may contain a value. */
export function reportFailure(error: unknown, env: Environment, nameMember?: NameMember): ExitCode {
  if (error instanceof RefusedReply) return reportProblem(error.reply, nameMember, error.hints);
  if (error instanceof Problem) return printProblem(error.status, error, nameMember, error.traceId);
  const isDebug = env['VAULT_DEBUG'] === '1';
  const fault = faultOf(error);
  if (fault !== undefined) {
    const { code, message, hint, details, ids, errors } = fault;
    printError(FAULTS[code].exit, { code, message, hint, details, ids, errors });
    if (isDebug && isError(fault.cause)) writeError(`${fault.cause.stack}\n`);
    return FAULTS[code].exit;
  }
  if (isCommanderError(error)) return reportUsage(error);
  // The reader of stdout has gone, as in `vault … | head -1`.
  if (isError(error) && error.name === 'OutputClosed') return 0;
  // The user pressed Ctrl-C in a prompt.
  if (isError(error) && error.name === 'ExitPromptError') return 130;
  const hint = isDebug ? undefined : 'set VAULT_DEBUG=1 to see where';
  printError(1, { code: 'internal_error', message: 'unexpected error', hint });
  if (isDebug && isError(error)) writeError(`${error.stack}\n`);
  return 1;
}

/** Returns a fault, or the fault for an error of the system; undefined for any other error. */
function faultOf(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error;
  const code = errorCode(error) ?? '';
  // A full disk for a file that no flag names, such as one in the temporary folder.
  if (isFullDisk(error)) {
    return new Fault('no_space', 'there is no space left on the disk', { hint: diskHint(code), cause: error });
  }
  if (DISK_ERROR.test(code)) return new Fault('disk_error', `the disk reports an error (${code})`, { cause: error });
  // The shell's folder was removed.
  if (isError(error) && 'syscall' in error && error.syscall === 'uv_cwd') {
    return new Fault('usage', 'the current folder is gone', { hint: 'change to an existing folder', cause: error });
  }
  const path = isError(error) && 'path' in error && typeof error.path === 'string' ? error.path : undefined;
  return path === undefined ? undefined : pathFault('a path', path, error);
}

type ReportedProblem = Pick<DecodedProblem, 'code' | 'detail'> & {
  readonly [Name in 'errors' | 'ids']?: DecodedProblem[Name] | undefined;
};

function printProblem(
  status: number,
  problem: ReportedProblem | undefined,
  nameMember?: NameMember,
  traceId?: string,
  own: Hints = {},
): ExitCode {
  const { code, detail, errors, ids }: ReportedProblem = problem ?? { code: undefined, detail: `status ${status}` };
  const hints: Hints = { permission_missing: otherKeyHint(process.env), ...HINTS, ...own };
  const hint = code !== undefined && Object.hasOwn(hints, code) ? hints[code] : undefined;
  return printError(
    exitCodeOf(status, code),
    { code: code ?? 'internal_error', message: detail, hint, errors, ids, trace_id: traceId },
    [...(ids ?? []), ...memberLines(errors, nameMember)],
  );
}

type UsageError = Error & { readonly code: string; readonly exitCode: number };

/** Returns whether commander threw an error. Checks its shape, because loading commander's class would take time. */
function isCommanderError(error: unknown): error is UsageError {
  return isError(error) && 'code' in error && typeof error.code === 'string' && error.code.startsWith('commander.');
}

/** Hints for common usage errors that commander reports. */
const USAGE_HINTS: Readonly<Record<string, string>> = {
  "unknown option '--api-key'": 'pass the key with --api-key-file or VAULT_API_KEY, not on the command line',
  "unknown option '-v'": 'vault --version',
  "unknown option '--json'": 'use -o json',
  "unknown option '--format'": 'use -o json, -o csv, -o ndjson or -o table',
  "unknown option '--reveal'":
    'the permissions and rules of the key decide what is shown; `vault apps explain` shows why',
  "unknown option '--mask'":
    'the permissions and rules of the key decide what is shown; `vault apps explain` shows why',
  "unknown option '--jq'": 'print one member with --field, or pipe -o json into jq',
};

/** Matches the superfluous words in commander's message. A word may be a secret. */
const EXCESS_WORDS = /(?<=^error: too many arguments.* but got \d+): [\s\S]*$/;

/** Returns the message of an error of commander, without superfluous words. */
export function factOf({ message }: Error): string {
  return message.replace(EXCESS_WORDS, '').replace(/^error: /, '');
}

/** Reports an error of commander: `error: …` with a suggestion on a second line. Returns the exit code. */
function reportUsage(error: UsageError): ExitCode {
  if (error.exitCode === 0) return 0;
  const [fact = '', suggestion] = factOf(error).split('\n');
  const reported = fact.replace(/'(--?[^=']*)=.*'/, "'$1'");
  const meant = Object.hasOwn(USAGE_HINTS, reported) ? USAGE_HINTS[reported] : undefined;
  // A flag with one dash has only one letter, so `-abc` needs a hint.
  const isOneDash = /^unknown option '-[^-'][^']+'$/.test(reported);
  const dashes = isOneDash
    ? 'write long flags with two dashes, and put -- before an argument that begins with -'
    : undefined;
  const near = suggestion?.replace(/^\(Did you mean (.*)\?\)$/, 'did you mean $1?');
  const hint = meant ?? near ?? dashes ?? (error.code === 'commander.unknownCommand' ? 'vault help' : undefined);
  return printError(2, { code: 'usage', message: reported, hint });
}

let isOwned = false;

/** Writes to stderr. If the reader of stderr has gone, drops the text, and the work continues. */
function writeError(text: string): void {
  ownStandardError();
  process.stderr.write(text);
}

/** Ignores errors of stderr from now on, so that a closed stderr ends neither a command nor a daemon. */
export function ownStandardError(): void {
  if (isOwned) return;
  isOwned = true;
  process.stderr.on('error', () => undefined);
}
