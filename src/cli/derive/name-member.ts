import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import type { CommandInput } from './assemble-call.ts';
import { memberFlags } from './member-flags.ts';

/** Returns the command line's name for a member, given the path of the member in a problem. */
export type NameMember = (path: string) => string;

/**
 * Returns a function that names a member by its flag: `expires_at` is `--expires-at`, `data.number` is `--data number`,
 * `containers.0` is `--container`, or `--container (value 1)` with several values. It keeps the path for a member
 * without a flag, and for all members of a `--body`.
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
    const index = flag.repeatable && flag.kind !== 'pairs' ? inside.shift() : undefined;
    const which = index === undefined || isAlone(members[flag.name] ?? []) ? '' : ` (value ${Number(index) + 1})`;
    return [`--${flag.name}${which}`, inside.join('.')].filter((part) => part !== '').join(' ');
  };
}

/** Returns whether the typed values are a single item: one value that is not an array, a file or standard input. */
function isAlone([first = '', ...others]: readonly string[]): boolean {
  return others.length === 0 && !/^\s*[@[]|^-$/.test(first);
}
