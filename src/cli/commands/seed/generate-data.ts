import type { Json } from '../../../contract/json.ts';
import type { TokenType } from '../../../contract/token-types.ts';
import { objectOfMembers } from '../../../core/json/kind.ts';
import { passesAba, passesLuhn } from '../../../core/tokens/validate-data.ts';
import type { GENERATED_KINDS } from './seed-schema.ts';
import { seededBytes } from './seeded-random.ts';

export type GeneratedKind = (typeof GENERATED_KINDS)[number];

type Draw = ReturnType<typeof drawsFrom>;
type Kind = { readonly type: TokenType; readonly make: (draw: Draw) => Json };

/** The test card prefixes of payment services, and the card lengths. */
const TEST_CARDS = [
  { prefix: '42424242', length: 16 },
  { prefix: '55555555', length: 16 },
  { prefix: '37828224', length: 15 },
] as const;

const FIRST_NAMES = 'Ada Alan Barbara Claude Donald Edsger Frances Grace Ken Leslie'.split(' ');
const LAST_NAMES = 'Example Fixture Mock Placeholder Sample Specimen Stub Test'.split(' ');

/** The kinds of generated test data. The data has valid checksums, but belongs to nobody: its ranges are unassigned. */
export const KINDS: Readonly<Record<GeneratedKind, Kind>> = {
  card: {
    type: 'card',
    make: ({ below, digits, one }) => {
      const { prefix, length } = one(TEST_CARDS);
      return object({
        number: withCheckDigit(prefix + digits(length - prefix.length - 1), passesLuhn),
        expiration_month: 1 + below(12),
        expiration_year: 2090 + below(10),
        cvc: digits(length === 15 ? 4 : 3),
      });
    },
  },
  bank: {
    type: 'bank',
    // The Federal Reserve has no district 99, and no bank uses account numbers with four leading zeros.
    make: ({ digits }) =>
      object({ routing_number: withCheckDigit(`99${digits(6)}`, passesAba), account_number: `0000${digits(8)}` }),
  },
  ssn: {
    type: 'social_security_number',
    // Area numbers from 900 are never issued. With groups up to 49, they are not taxpayer numbers (ITIN) either.
    make: ({ below, digits }) => `9${digits(2)}-${String(1 + below(49)).padStart(2, '0')}-${digits(4)}`,
  },
  person: {
    type: 'token',
    make: ({ below, digits, one }) => {
      const [first, last, number] = [one(FIRST_NAMES), one(LAST_NAMES), digits(5)];
      return object({
        first_name: first,
        last_name: last,
        // RFC 2606 §3 reserves example.com. The numbers 555-0100 to 555-0199 are reserved for fiction.
        email: `${first}.${last}.${number}@example.com`.toLowerCase(),
        phone: `+1-202-555-01${digits(2)}`,
        birth_date: `${1930 + below(70)}-${two(1 + below(12))}-${two(1 + below(28))}`,
      });
    },
  },
};

/** Returns functions that draw test data. Equal labels give equal draws. */
function drawsFrom(label: string) {
  const bytes = seededBytes(label);
  const below = (limit: number): number => Buffer.from(bytes(4)).readUInt32BE() % limit;
  return {
    /** Returns a number from 0 to below `limit`. */
    below,
    digits: (count: number): string => Array.from({ length: count }, () => below(10)).join(''),
    one: <T>(choices: readonly T[]) => choices[below(choices.length)] as T,
  };
}

/** Returns the test data of one token. Equal labels give equal data. */
export const generateData = (kind: GeneratedKind, label: string): Json => KINDS[kind].make(drawsFrom(label));

const two = (number: number): string => String(number).padStart(2, '0');
const object = (members: Readonly<Record<string, Json>>): Json => objectOfMembers(new Map(Object.entries(members)));

function withCheckDigit(digits: string, passes: (digits: string) => boolean): string {
  for (let check = 0; check < 10; check++) if (passes(digits + check)) return digits + check;
  throw new TypeError('unreachable: one of ten digits is right');
}
