import type { Call, Client } from '../../contract/call.ts';
import { Fault } from '../../core/fault.ts';
import type { NameMember } from '../derive/name-member.ts';
import type { ExitCode } from '../exit/exit-codes.ts';
import { reportProblem } from '../exit/report-failure.ts';
import { confirmCalls } from './confirm-calls.ts';
import { resolveApplication, withDetail } from './resolve-application.ts';

/**
 * Makes a call for each record. Finds all names, and asks once for confirmation, before the first call. A record that
 * is missing does not stop the others; any other problem does. A record that is named twice gets one call. Resolves to
 * the exit code of the first problem. The user has already confirmed calls without a `consequence`.
 */
export async function callEach(
  client: Client,
  calls: readonly Call[],
  ofApplications: boolean,
  consequence: string | undefined,
  nameMember: NameMember,
): Promise<ExitCode> {
  const about = (call: Call | undefined) => (calls.length > 1 ? `${call?.params['id']}: ` : '');
  const typed = new Map<Call, Call>();
  for (const call of calls) {
    typed.set(ofApplications ? await resolveNamed(client, call, about(call)) : call, call);
  }
  const resolved = withoutRepeats([...typed.keys()]);
  if (consequence !== undefined) await confirmCalls(consequence, resolved, client);
  let exitCode: ExitCode = 0;
  for (const call of resolved) {
    const reply = await client.call(call);
    if (reply.status < 400) continue;
    const failed = reportProblem(withDetail(reply, (detail) => about(typed.get(call)) + detail).reply, nameMember);
    exitCode = exitCode === 0 ? failed : exitCode;
    if (reply.status !== 404) break;
  }
  return exitCode;
}

/** Returns the first call for each id. */
export function withoutRepeats(calls: readonly Call[]): readonly Call[] {
  const ids = calls.map(({ params }) => params['id']);
  return calls.filter((_, at) => ids.indexOf(ids[at]) === at);
}

async function resolveNamed(client: Client, call: Call, about: string): Promise<Call> {
  try {
    return await resolveApplication(client, call);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw error.withMessage(about + error.message);
  }
}
