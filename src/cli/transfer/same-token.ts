import type { Json } from '../../contract/json.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { selectField } from '../output/select-field.ts';

/**
 * Whether a token, as a read shows it, is what a Create Token body would have made: type, data, metadata, containers where
 * they are named, and expiry. What reads do not show (masks, expressions) is not compared.
 */
export function isSameToken(body: string, shown: string): boolean {
  const [sent, found] = [parseJson(body), parseJson(shown)];
  const both = (member: string) => [selectField(sent, [member]), selectField(found, [member])] as const;
  return (
    sameJson(...both('type')) &&
    sameJson(...both('data')) &&
    sameMembers(...both('metadata')) &&
    sameContainers(...both('containers')) &&
    sameTime(...both('expires_at'))
  );
}

/** `undefined` and an explicit null are both a member that is absent. */
function sameJson(sent: Json | undefined, found: Json | undefined): boolean {
  return stringifyJson(sent ?? null) === stringifyJson(found ?? null);
}

function sameMembers(sent: Json | undefined, found: Json | undefined): boolean {
  const sorted = (value: Json | undefined) => {
    if (typeof value !== 'object' || value === null) return '';
    return Object.entries(value)
      .map(([name, text]) => stringifyJson([name, text as Json]))
      .sort()
      .join();
  };
  return sorted(sent) === sorted(found);
}

function sameContainers(sent: Json | undefined, found: Json | undefined): boolean {
  if (!Array.isArray(sent) || !Array.isArray(found)) return sent === undefined || sent === null;
  const sorted = (list: readonly Json[]) => [...new Set(list.map((item) => String(item).toLowerCase()))].sort().join();
  return sorted(sent) === sorted(found);
}

/** By the moment: the vault answers in a form of its own. A form that only the vault reads is taken as equal. */
function sameTime(sent: Json | undefined, found: Json | undefined): boolean {
  if (typeof sent !== 'string' || typeof found !== 'string') return (sent ?? undefined) === (found ?? undefined);
  const [left, right] = [Date.parse(sent), Date.parse(found)];
  return Number.isNaN(left) || left === right || !/^\d{4}-/.test(sent);
}
