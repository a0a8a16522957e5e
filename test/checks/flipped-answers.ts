import type { Call, Reply } from '../../src/contract/call.ts';
import { FAULTS } from '../../src/contract/faults.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS } from '../../src/contract/problems.ts';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openFileVault } from '../../src/vault/vault.ts';

export interface Question {
  readonly operation: OperationId;
  readonly apiKey: string;
  readonly id?: string;
  readonly query?: Call['query'];
}

/** The reply to each question, or the code of the error that kept the vault from opening. */
export type Answers = readonly Reply[] | keyof typeof FAULTS | ProblemCode;

/**
 * Opens the vault and asks all questions. Rejects with any error that the contract does not define, including the
 * unexpected ones that callers see as `internal_error`.
 */
export async function askAll(file: string, credential: Credential, questions: readonly Question[]): Promise<Answers> {
  let unexpected: unknown;
  const reportError = (error: unknown) => {
    if (!(error instanceof Problem) && !(error instanceof Fault)) unexpected ??= error;
  };
  try {
    const vault = await openFileVault({ file, credential, reportError });
    try {
      const replies: Reply[] = [];
      for (const { operation, apiKey, id, query = [] } of questions) {
        const params = id === undefined ? {} : { id };
        replies.push(await vault.dispatch({ operation, apiKey, params, query, traceId: 'check' }));
      }
      if (unexpected !== undefined) throw unexpected;
      return replies;
    } finally {
      await vault.close();
    }
  } catch (error) {
    if (error instanceof Fault && Object.hasOwn(FAULTS, error.code)) return error.code;
    // Counts like the same problem in a reply, because the command line prints both the same way.
    if (error instanceof Problem && CLEAR.has(error.code)) return error.code;
    throw error;
  }
}

/** The problems that clearly report damage. Any other problem, such as a token that is not found, would hide it. */
const CLEAR: ReadonlySet<string> = new Set(['integrity_failure', 'vault_busy']);

/**
 * How an answer differs from the answer of the sound vault. `error`: a clear error. `lost`: data is absent without an
 * error. `wrong`: the answer differs in any other way.
 */
export type Difference = 'same' | 'error' | 'lost' | 'wrong';

export function differenceOf(sound: Reply, found: Reply): { readonly kind: Difference; readonly code?: string } {
  if (found.status === sound.status && found.bodyText === sound.bodyText) return { kind: 'same' };
  if (found.status < 400) return { kind: isSubset(sound, found) ? 'lost' : 'wrong' };
  const code = codeOf(found);
  if (!Object.hasOwn(PROBLEMS, code)) return { kind: 'wrong', code };
  return { kind: CLEAR.has(code) ? 'error' : 'lost', code };
}

function codeOf({ bodyText = '{}' }: Reply): string {
  const body: { readonly type?: string } = JSON.parse(bodyText);
  return body.type?.slice(PROBLEM_TYPE_PREFIX.length) ?? '';
}

/** Returns true when every item of the found page is also on the sound page. */
function isSubset(sound: Reply, found: Reply): boolean {
  const all = itemsOf(sound);
  return all !== undefined && itemsOf(found)?.every((item) => all.includes(item)) === true;
}

function itemsOf({ bodyText = '{}' }: Reply): readonly string[] | undefined {
  const body: { readonly data?: unknown; readonly pagination?: unknown } = JSON.parse(bodyText);
  if (body.pagination === undefined || !Array.isArray(body.data)) return undefined;
  return body.data.map((item) => JSON.stringify(item));
}
