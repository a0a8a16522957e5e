import type { AccessRule, ApplicationType, Condition, Permission, Transform } from '../../src/contract/permissions.ts';
import { readTable } from './read-vectors.ts';

/** The part of a token's `data` that a caller sees. */
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

/** A case of the file: its name, its paragraph, the calling application and further fields. */
interface Case {
  readonly name: string;
  readonly origin: string;
  readonly application: ApplicationVector;
  /** The creator of the application, as it is at the time of the call. */
  readonly creator?: ApplicationVector;
  readonly rest: readonly string[];
}

/**
 * Parses permissions: `read` is `token:read`, `tenant:read` stays, and `write` is create, update and delete of tokens.
 */
function permissions(text: string): Permission[] {
  const names = text === 'write' ? ['create', 'update', 'delete'] : text.split(',');
  return names.map((name) => (name.includes(':') ? name : `token:${name}`) as Permission);
}

/** Parses a condition: `container^=/pci/`, `id="a b"`. */
function condition(text: string): Condition {
  const [, attribute, sign, value = ''] = /^(id|container)(\^?=)(.*)$/.exec(text) ?? [];
  const operator = sign === '=' ? 'equals' : 'starts_with';
  return { attribute: attribute as Condition['attribute'], operator, value: value.replace(/^"(.*)"$/, '$1') };
}

/** Parses a rule: `1 /pci/ mask read,create`, `2 id=a & container^=/pci/ reveal read`. */
function rule(text: string): Omit<AccessRule, 'description'> {
  const [, priority, where = '', transform, granted = ''] = /^(\d+) (.*) (\w+) (\S+)$/.exec(text) ?? [];
  return {
    priority: Number(priority),
    ...(where.startsWith('/') ? { container: where } : { conditions: where.split(' & ').map(condition) }),
    transform: transform as Transform,
    permissions: permissions(granted),
  };
}

/**
 * Parses an application: `private`, `private read creator: 1 / mask read; 2 …`. `creator` and `no-creator` set the
 * flag.
 */
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

/** The transform under which an application reads a token; `null` for none. */
export const GOVERNING = casesOf('governing').map(({ rest: [token = '', shown], ...one }) => {
  const [id = '', ...containers] = token.split(/ (?=\/)/);
  return { ...one, token: { id, containers }, transform: shown === 'none' ? null : (shown as Transform) };
});

/**
 * The tokens that an application may create, update and delete. An update moves a token `to` containers or `sets` a
 * member.
 */
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

/** The tokens in the lists. */
export const LISTED: readonly TokenVector[] = TABLE.filter(({ part }) => part === 'tokens of lists').map(
  ({ fields: [token = '', containers = ''] }) => {
    const [id = '', maskless] = token.split(' ');
    return { id, containers: containers.split(' '), ...(maskless && { maskless: true }) };
  },
);

/** The sight of each listed token, by id. */
export const LISTS = casesOf('lists').map(({ rest, ...one }) => {
  const query = rest.find((field) => field.startsWith('?'))?.slice(1);
  const sights = (rest.at(-1) ?? '').split(', ').flatMap((words) => {
    const [sight, ...ids] = words.split(' ');
    return sight === 'no' ? [] : ids.map((id) => [id, sight as Sight] as const);
  });
  return { ...one, ...(query && { query }), shows: Object.fromEntries(sights) };
});

/** The sight of a token in replies of create and update. */
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

/** The expiring applications that a private application may create. */
export const EXPIRING = casesOf('expiring').map(({ rest: [status], creator, ...one }) => {
  if (!creator) throw new Error(`no creator: ${one.name}`);
  return { ...one, creator, status: Number(status) };
});
