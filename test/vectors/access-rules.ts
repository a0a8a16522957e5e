import type { AccessRule, Condition } from '../../src/contract/access-rule.ts';
import type { ApplicationType, Permission, Transform } from '../../src/contract/permissions.ts';
import { readTable } from './read-vectors.ts';

/** What a caller sees of a token's `data`: nothing, its masked form, or the plaintext. */
export type Sight = 'nothing' | 'mask' | 'reveal';

export interface ApplicationVector {
  readonly type: ApplicationType;
  readonly permissions?: readonly Permission[];
  readonly rules?: readonly Omit<AccessRule, 'description'>[];
  readonly can_create_expiring_applications?: boolean;
}

export interface TokenVector {
  readonly id?: string;
  readonly type?: string;
  readonly containers?: readonly string[];
  readonly maskless?: boolean;
}

/** A case as the file has it: what it is, the paragraph that it rests on, who asks, and the fields after that. */
interface Case {
  readonly name: string;
  readonly origin: string;
  readonly application: ApplicationVector;
  /** What the private application that made it may do by the time it asks. */
  readonly creator?: ApplicationVector;
  readonly rest: readonly string[];
}

/** `read` is `token:read`, `tenant:read` itself, `write` all three that write tokens. */
function permissions(text: string): Permission[] {
  const names = text === 'write' ? ['create', 'update', 'delete'] : text.split(',');
  return names.map((name) => (name.includes(':') ? name : `token:${name}`) as Permission);
}

/** `container^=/pci/`, `id="a b"`. */
function condition(text: string): Condition {
  const [, attribute, sign, value = ''] = /^(id|container)(\^?=)(.*)$/.exec(text) ?? [];
  const operator = sign === '=' ? 'equals' : 'starts_with';
  return { attribute: attribute as Condition['attribute'], operator, value: value.replace(/^"(.*)"$/, '$1') };
}

/** `1 /pci/ mask read,create`, `2 id=a & container^=/pci/ reveal read`. */
function rule(text: string): Omit<AccessRule, 'description'> {
  const [, priority, where = '', transform, granted = ''] = /^(\d+) (.*) (\w+) (\S+)$/.exec(text) ?? [];
  return {
    priority: Number(priority),
    ...(where.startsWith('/') ? { container: where } : { conditions: where.split(' & ').map(condition) }),
    transform: transform as Transform,
    permissions: permissions(granted),
  };
}

/** `private`, `private read creator: 1 / mask read; 2 …`; `creator` and `no-creator` give the flag. */
function application(text: string): ApplicationVector {
  const [head = '', rules] = text.split(': ');
  const [type, ...words] = head.split(' ');
  const [granted] = words.filter((word) => !word.endsWith('creator'));
  return {
    type: type as ApplicationType,
    ...(granted && { permissions: permissions(granted) }),
    ...(rules && { rules: rules.split('; ').map(rule) }),
    ...(head.endsWith('creator') && { can_create_expiring_applications: words.includes('creator') }),
  };
}

const TABLE = readTable('access-rules');

function casesOf(wanted: string): Case[] {
  return TABLE.filter(({ part }) => part === wanted).map(({ origin, fields: [name = '', who = '', ...rest] }) => {
    const [asks = '', made] = who.split(' ← ');
    return { name, origin, application: application(asks), ...(made && { creator: application(made) }), rest };
  });
}

/** What an application reads of a token; `null` is nothing. */
export const GOVERNING = casesOf('governing').map(({ rest: [token = '', shown], ...one }) => {
  const [id = '', ...containers] = token.split(/ (?=\/)/);
  return { ...one, token: { id, containers }, transform: shown === 'none' ? null : (shown as Transform) };
});

/** What an application may create, update and delete; an update moves the token `to` containers, or `sets` a member. */
export const WRITING = casesOf('writing').map(({ rest: [act = '', outcome], ...one }) => {
  const [from = '', verb, object] = act.split(/ (to|sets) /);
  const [operation, type = '', ...containers] = from.split(' ');
  return {
    ...one,
    operation: operation as 'create' | 'update' | 'delete',
    token: { type, ...(containers.length > 0 && { containers }) },
    ...(verb === 'to' && { to: object?.split(' ') }),
    ...(verb === 'sets' && { sets: object }),
    allowed: outcome === 'allowed',
  };
});

/** The tokens that lists are made of. */
export const LISTED: readonly TokenVector[] = TABLE.filter(({ part }) => part === 'tokens of lists').map(
  ({ fields: [token = '', containers = ''] }) => {
    const [id = '', maskless] = token.split(' ');
    return { id, containers: containers.split(' '), ...(maskless && { maskless: true }) };
  },
);

/** What an application sees of them, by id. */
export const LISTS = casesOf('lists').map(({ rest, ...one }) => {
  const query = rest.find((field) => field.startsWith('?'))?.slice(1);
  const sights = (rest.at(-1) ?? '').split(', ').flatMap((words) => {
    const [sight, ...ids] = words.split(' ');
    return sight === 'no' ? [] : ids.map((id) => [id, sight as Sight] as const);
  });
  return { ...one, ...(query && { query }), shows: Object.fromEntries(sights) };
});

/** What create and update reply with. */
export const REPLIES = casesOf('replies').map(({ rest: [act = '', shows], ...one }) => {
  const [operation, ...words] = act.split(' ');
  const containers = words.filter((word) => word !== 'maskless');
  return {
    ...one,
    operation: operation as 'create' | 'update',
    token: { containers, ...(words.includes('maskless') && { maskless: true }) },
    shows: shows as Sight,
  };
});

/** What a private application may create. */
export const EXPIRING = casesOf('expiring').map(({ rest: [status], creator, ...one }) => {
  if (!creator) throw new Error(`no creator: ${one.name}`);
  return { ...one, creator, status: Number(status) };
});
