import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import type { CommandInput } from './assemble-call.ts';
import { memberFlags } from './member-flags.ts';

/** Puts the path of a member, as a problem names it, into words of the command line. */
export type NameMember = (path: string) => string;

/**
 * A member is named by the flag that sets it: `expires_at` is `--expires-at`, `data.number` is `--data number`, `containers.0`
 * is `--container`, or `--container (value 1)` where that flag has several values. Paths of a whole body, and of what no flag
 * sets, stay as they are.
 */
export function memberNamer(id: OperationId, { members, body }: Pick<CommandInput, 'members' | 'body'>): NameMember {
  const row: Operation = OPERATIONS[id];
  return (path) => {
    if (body !== undefined) return path;
    const names = path.split('.');
    const depth = names[0] === row.cli.spread ? 2 : 1;
    const [head, inside] = [names.slice(0, depth).join('.'), names.slice(depth)];
    const flags = memberFlags(row).filter((one) => one.member === head);
    const isArgument = Object.hasOwn(row.params?.properties ?? {}, head);
    const flag = flags.find((one) => members[one.name] !== undefined) ?? (isArgument ? undefined : flags[0]);
    if (flag === undefined) return path;
    const place = flag.repeatable && flag.kind !== 'pairs' ? inside.shift() : undefined;
    const told = place === undefined || isAlone(members[flag.name] ?? []) ? '' : ` (value ${Number(place) + 1})`;
    return [`--${flag.name}${told}`, inside.join('.')].filter((part) => part !== '').join(' ');
  };
}

/** One value on the command line is one value of the array, unless it is read from elsewhere or is itself an array. */
function isAlone([first = '', ...others]: readonly string[]): boolean {
  return others.length === 0 && !/^\s*[@[]|^-$/.test(first);
}
