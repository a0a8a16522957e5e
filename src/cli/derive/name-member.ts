import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import type { CommandInput } from './assemble-call.ts';
import { memberFlags } from './member-flags.ts';

/** Puts the path of a member, as a problem names it, into words of the command line. */
export type NameMember = (path: string) => string;

/**
 * A member of an array that was typed flag by flag is named by that flag: `containers.0` is `--container`, or
 * `--container (value 1)` where the flag has several values. Other paths, and those of a whole body, stay as they are.
 */
export function memberNames(id: OperationId, { members }: Pick<CommandInput, 'members'>): NameMember {
  const row: Operation = OPERATIONS[id];
  return (path) => {
    const [head, at, ...rest] = path.split('.');
    const flag = memberFlags(row).find(
      (one) => one.member === head && one.repeatable && one.kind !== 'pairs' && members[one.name] !== undefined,
    );
    if (flag === undefined) return path;
    const place = at === undefined || isAlone(members[flag.name] ?? []) ? '' : ` (value ${Number(at) + 1})`;
    return [`--${flag.name}${place}`, rest.join('.')].filter((part) => part !== '').join(' ');
  };
}

/** One value on the command line is one value of the array, unless it is read from elsewhere or is itself an array. */
function isAlone([first = '', ...others]: readonly string[]): boolean {
  return others.length === 0 && !/^\s*[@[]|^-$/.test(first);
}
