import { ALLOWED } from './model-fuzz-access.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

interface Rule {
  readonly priority: number;
  readonly place: keyof typeof CONDITIONS;
  readonly transform: 'redact' | 'mask' | 'reveal';
  readonly permissions: readonly string[];
}

const { private: TOKENS = [], public: WRITING = [], expiring: READ = [], management: MANAGEMENT = [] } = ALLOWED;

const CONTAINERS: Readonly<Record<string, Plain>> = { root: '/', pci: '/pci/', bank: '/bank/', pcix: '/pcix/' };
const starts = (attribute: string, value: string) => ({ attribute, operator: 'starts_with', value });
/** The places of the rules of expiring applications. */
const CONDITIONS = {
  root: [starts('container', '/')],
  pci: [starts('container', '/pci/')],
  bank: [{ attribute: 'container', operator: 'equals', value: '/bank/high/' }],
  pcix: [starts('container', '/pcix/')],
  'its id': [starts('id', 'token-')],
  'an id': [{ attribute: 'id', operator: 'equals', value: 'token-none' }],
  'id and pci': [starts('id', 'token-'), starts('container', '/pci/')],
  'id and pcix': [starts('id', 'token-'), starts('container', '/pcix/')],
} as const;

/** Returns rules with ascending priorities. Some callers reverse the list, which must have no effect. */
function rules(
  permissions: readonly string[],
  ...parts: readonly (readonly [Rule['place'], Rule['transform']])[]
): Rule[] {
  return parts.map(([place, transform], index) => ({ priority: index + 1, place, transform, permissions }));
}

const PRIVATE_RULES: readonly (readonly Rule[])[] = [
  [],
  rules(TOKENS, ['pcix', 'reveal']),
  rules(TOKENS, ['bank', 'reveal']),
  rules(TOKENS, ['pci', 'redact']),
  rules(TOKENS, ['pci', 'mask']),
  rules(TOKENS, ['pci', 'reveal']),
  rules(TOKENS, ['root', 'reveal']),
  rules(['token:create'], ['root', 'reveal']),
  rules(['token:read'], ['root', 'reveal']),
  rules(['token:read'], ['root', 'mask']),
  rules(['token:use'], ['root', 'mask']),
  rules(['token:search'], ['pci', 'redact']),
  rules(['token:search'], ['bank', 'reveal']),
  rules(['token:use', 'token:update'], ['pci', 'mask'], ['root', 'reveal']),
  rules(['token:read'], ['pci', 'redact']),
  rules(['token:update'], ['root', 'mask']),
  rules(['token:update'], ['root', 'reveal']),
  rules(TOKENS, ['pci', 'redact'], ['root', 'reveal']),
  rules(TOKENS, ['bank', 'reveal'], ['root', 'mask']),
  rules(TOKENS, ['root', 'mask'], ['pci', 'reveal']).reverse(),
  rules(TOKENS, ['pcix', 'redact'], ['bank', 'mask'], ['pci', 'reveal']),
  rules(TOKENS, ['bank', 'redact'], ['pci', 'mask']),
  rules(TOKENS, ['pcix', 'redact'], ['root', 'reveal']),
  [
    { priority: 2, place: 'pci', transform: 'reveal', permissions: ['token:read', 'token:delete'] },
    { priority: 1, place: 'root', transform: 'redact', permissions: ['token:create', 'token:update'] },
  ],
];

const PUBLIC_RULES = [
  [],
  rules(WRITING, ['pcix', 'mask']),
  rules(WRITING, ['pci', 'mask']),
  rules(WRITING, ['root', 'redact']),
  rules(['token:update'], ['root', 'reveal']),
  rules(WRITING, ['bank', 'redact'], ['pci', 'reveal']),
];

const EXPIRING_RULES = [
  [],
  rules(READ, ['its id', 'reveal']),
  rules(READ, ['an id', 'reveal']),
  rules(READ, ['root', 'redact']),
  rules(READ, ['pci', 'mask']),
  rules(READ, ['bank', 'reveal']),
  rules(READ, ['pcix', 'reveal']),
  rules(READ, ['id and pci', 'reveal']),
  rules(READ, ['id and pcix', 'reveal']),
  rules(READ, ['bank', 'redact'], ['its id', 'reveal']),
  rules(READ, ['an id', 'redact'], ['id and pci', 'mask'], ['root', 'reveal']).reverse(),
];

/** Returns the body that creates an application of the type. */
function applicant(type: string, permissions: readonly string[], set: readonly Rule[]): PlainObject {
  const bodies = set.map(({ place, ...rule }) => ({
    description: place,
    ...rule,
    ...(type === 'expiring' ? { conditions: CONDITIONS[place] } : { container: CONTAINERS[place] ?? null }),
  }));
  return { name: 'applicant', type, permissions, rules: bodies };
}

function each(
  type: string,
  permissions: readonly (readonly string[])[],
  ruleSets: readonly (readonly Rule[])[],
): readonly PlainObject[] {
  const all = permissions.flatMap((plain) => ruleSets.map((set) => [plain, set] as const));
  // §4.2: permissions and rules must not both be empty.
  return all.filter(([plain, set]) => plain.length + set.length > 0).map(([plain, set]) => applicant(type, plain, set));
}

const creator = (permissions: readonly string[], set: readonly Rule[] = []) => ({
  ...applicant('private', permissions, set),
  can_create_expiring_applications: true,
});

/** The callers of the matrix, as the bodies that create them: application types × permissions × rules. */
export const APPLICANTS: readonly PlainObject[] = [
  ...each(
    'private',
    [[], ...TOKENS.map((permission) => [permission]), [...WRITING, 'token:delete'], TOKENS],
    PRIVATE_RULES,
  ),
  ...each('public', [[], ['token:create'], WRITING], PUBLIC_RULES),
  ...each('expiring', [[], READ], EXPIRING_RULES),
  ...each('management', [MANAGEMENT, ...MANAGEMENT.map((permission) => [permission])], [[]]),
  creator(READ),
  creator(['token:create']),
  creator([], rules(READ, ['root', 'reveal'])),
  creator([], rules(READ, ['root', 'redact'])),
  creator([], rules(READ, ['pci', 'reveal'])),
  creator(READ, rules(READ, ['pci', 'redact'])),
];
