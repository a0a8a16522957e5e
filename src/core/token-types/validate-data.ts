import type { Json } from '../../contract/json.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { isJsonObject } from '../json/kind.ts';
import { memberNames } from '../json/member-names.ts';
import { Problem } from '../problem.ts';
import { DATA_RULES, type DataRule, type MemberRule } from './data-rules.ts';

/**
 * What is wrong with `data` of a token of this type, by dotted path from `data` on; empty when nothing is. An optional
 * member of a card that is null is wrong too: `data` is stored as it is sent, so null does not mean "absent" in it.
 */
export function validateData(type: TokenType, data: Json): Record<string, string[]> {
  const rule: DataRule = DATA_RULES[type];
  if (!('check' in rule)) return validateMembers(rule.object, rule.members, data);
  const message = rule.check(data);
  return message === undefined ? {} : { data: [message] };
}

/** Throws `invalid_request` when something is. */
export function checkData(type: TokenType, data: Json): void {
  const errors = validateData(type, data);
  if (Object.keys(errors).length > 0) throw new Problem('invalid_request', { errors });
}

function validateMembers(
  object: string,
  members: Readonly<Record<string, MemberRule>>,
  data: Json,
): Record<string, string[]> {
  if (!isJsonObject(data)) return { data: [`must be an object: ${object} with ${namesOf(members)}`] };
  const errors: Record<string, string[]> = {};
  for (const [name, { required, check }] of Object.entries(members)) {
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    const message = value === undefined ? (required ? 'is required' : undefined) : check(value);
    if (message === undefined) continue;
    errors[`data.${name}`] = [value === null && !required ? `${message}; leave it out when there is none` : message];
  }
  for (const name of memberNames(data)) {
    if (Object.hasOwn(members, name)) continue;
    errors[`data.${name}`] = [`is no member of ${object}; it has ${namesOf(members)}`];
  }
  return errors;
}

function namesOf(members: Readonly<Record<string, MemberRule>>): string {
  return Object.keys(members).join(', ');
}
