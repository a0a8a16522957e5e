import type { DraftApplication } from '../../contract/explanation.ts';
import { checkApplication, normalizeRules } from '../access/check-application.ts';
import { createGrants, type Grants, holds } from '../access/grants.ts';
import { parentGrants } from '../authenticate.ts';
import type { Caller, Context } from '../handler.ts';
import { invalid, Problem } from '../problem.ts';
import { findApplication } from './read.ts';

/** The part of a request that names an application, a draft, or both. */
export interface AskedApplication {
  readonly application_id?: string;
  readonly application?: DraftApplication;
}

/**
 * Resolves to the grants of an existing application, of a draft, or of an existing application with a draft's
 * permissions and rules. Rejects with `invalid_request`, `application_not_found`, or, for a draft from a caller without
 * `application:create`, `permission_missing`.
 */
export async function askedGrants(asked: AskedApplication, caller: Caller, context: Context): Promise<Grants> {
  const { application_id: id, application: draft } = asked;
  if (draft !== undefined && !holds(caller.grants, 'application:create')) {
    throw new Problem('permission_missing', { detail: 'A draft needs application:create, too.' });
  }
  if (id === undefined) return createGrants(checked(draft?.type, draft ?? {}));
  if (draft?.type !== undefined)
    throw invalid('application.type', 'must be omitted, because the existing application has a type');
  const { record, details } = await findApplication(id, caller, context);
  const within = await parentGrants(context, record, caller.tenant.keyring, context.clock.cutoff());
  return createGrants(draft === undefined ? details : checked(record.type, { ...details, ...draft }), within);
}

function checked(type: DraftApplication['type'], { permissions = [], rules = [] }: DraftApplication) {
  if (type === undefined) throw invalid('application_id', 'is required, unless application.type is given');
  const normalized = { type, permissions, rules: normalizeRules(rules) };
  try {
    checkApplication(normalized);
  } catch (error) {
    if (!(error instanceof Problem) || error.errors === undefined) throw error;
    const errors = Object.entries(error.errors).map(([path, messages]) => [`application.${path}`, messages]);
    throw new Problem(error.code, { errors: Object.fromEntries(errors) });
  }
  return normalized;
}
