import { ALLOWED } from './model-fuzz-access.ts';
import type { Applicant, OracleRule, Place } from './permission-oracle.ts';

type Transform = OracleRule['transform'];

const { private: TOKENS = [], public: WRITING = [], expiring: READ = [], management: MANAGEMENT = [] } = ALLOWED;

/** Returns rules with ascending priorities. Some callers reverse the list, which must have no effect. */
function rules(permissions: readonly string[], ...parts: readonly (readonly [Place, Transform])[]): OracleRule[] {
  return parts.map(([place, transform], index) => ({ priority: index + 1, place, transform, permissions }));
}

const PRIVATE_RULES: readonly (readonly OracleRule[])[] = [
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

function each(
  type: Applicant['type'],
  permissions: readonly (readonly string[])[],
  ruleSets: readonly (readonly OracleRule[])[],
): Applicant[] {
  const all = permissions.flatMap((plain) => ruleSets.map((set) => ({ type, permissions: plain, rules: set })));
  // §4.2: permissions and rules must not both be empty.
  return all.filter((applicant) => applicant.permissions.length > 0 || applicant.rules.length > 0);
}

/** The callers of the matrix: application types × permissions × rules. */
export const APPLICANTS: readonly Applicant[] = [
  ...each(
    'private',
    [[], ...TOKENS.map((permission) => [permission]), [...WRITING, 'token:delete'], TOKENS],
    PRIVATE_RULES,
  ),
  ...each('public', [[], ['token:create'], WRITING], PUBLIC_RULES),
  ...each('expiring', [[], READ], EXPIRING_RULES),
  ...each('management', [MANAGEMENT, ...MANAGEMENT.map((permission) => [permission])], [[]]),
  { type: 'private', flag: true, permissions: READ, rules: [] },
  { type: 'private', flag: true, permissions: ['token:create'], rules: [] },
  { type: 'private', flag: true, permissions: [], rules: rules(READ, ['root', 'reveal']) },
  { type: 'private', flag: true, permissions: [], rules: rules(READ, ['root', 'redact']) },
  { type: 'private', flag: true, permissions: [], rules: rules(READ, ['pci', 'reveal']) },
  { type: 'private', flag: true, permissions: READ, rules: rules(READ, ['pci', 'redact']) },
];
