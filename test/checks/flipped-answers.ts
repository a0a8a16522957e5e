import type { Call, Reply } from '../../src/contract/call.ts';
import { FAULTS } from '../../src/contract/faults.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS } from '../../src/contract/problems.ts';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVault } from '../../src/vault/vault.ts';

/** One question to a vault. */
export interface Question {
  readonly operation: OperationId;
  readonly apiKey: string;
  readonly id?: string;
  readonly query?: Call['query'];
}

/** What a vault answered to each question, or the code of the fault that kept it from being opened. */
export type Answers = readonly Reply[] | keyof typeof FAULTS | ProblemCode;

/**
 * Throws what is neither a reply nor a fault that the contract knows: an error without a code or an exit; and what the
 * vault itself did not expect, which its caller is told of as `internal_error`.
 */
export async function askAll(file: string, credential: Credential, questions: readonly Question[]): Promise<Answers> {
  let unexpected: unknown;
  const reportError = (error: unknown) => {
    if (!(error instanceof Problem) && !(error instanceof Fault)) unexpected ??= error;
  };
  try {
    const vault = await openVault({ file, credential, reportError });
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
    // The command line tells it as it tells the reply of one, and ends with 9.
    if (error instanceof Problem && CLEAR.has(error.code)) return error.code;
    throw error;
  }
}

/** What a problem that stands for damage says: not that something is absent, and not that something was never there. */
const CLEAR: ReadonlySet<string> = new Set(['integrity_failure', 'vault_busy']);

/**
 * How one answer differs from the sound one: not at all; a clear error; a loss that nobody was told of (a token absent,
 * a key unknown, a count that is off); or something else than was stored.
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

/** A page whose items are all among those of the sound one, in whatever order and number: nothing false is in it. */
function isSubset(sound: Reply, found: Reply): boolean {
  const all = itemsOf(sound);
  return all !== undefined && itemsOf(found)?.every((item) => all.includes(item)) === true;
}

function itemsOf({ bodyText = '{}' }: Reply): readonly string[] | undefined {
  const body: { readonly data?: unknown; readonly pagination?: unknown } = JSON.parse(bodyText);
  if (body.pagination === undefined || !Array.isArray(body.data)) return undefined;
  return body.data.map((item) => JSON.stringify(item));
}
