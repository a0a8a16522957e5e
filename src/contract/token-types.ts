import type { Json } from './json.ts';

/** A token type. A new type needs a row here and vectors in test/vectors/validation.txt. */
export interface TokenTypeRow {
  /** The number that stores use instead of the name. It never changes and is never reused. */
  readonly code: number;
  readonly summary: string;
  readonly data: DataRule;
  readonly container: string;
  readonly mask?: Json;
  readonly search_indexes?: readonly string[];
}

/** The rule for `data` of a type: a rule for one value, or for an object with exactly these members. */
export type DataRule =
  | ValueRule
  | { readonly kind: 'object'; readonly name: string; readonly members: Readonly<Record<string, MemberRule>> };

/** The rule for a value. `message` describes the valid form; it is a fixed text that quotes no value. */
export type ValueRule = { readonly message: string } & (
  | { readonly kind: 'any' }
  /** An integer, also as `12.0` or `1.2e1`. */
  | { readonly kind: 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly kind: 'text'; readonly pattern: string; readonly checkDigit?: 'luhn' | 'aba' }
);

/**
 * The rule for one member of a type's `data`. For the kind `number`, the CLI parses the text from a terminal or a CSV
 * file as a number.
 */
export type MemberRule = { readonly required: boolean } & Extract<ValueRule, { readonly kind: 'number' | 'text' }>;

const LAST_FOUR = '{{ data | reveal_last: 4 }}';
const WITH_AND_WITHOUT_DASHES = ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'] as const;

const CARD_NUMBER = {
  kind: 'text',
  pattern: '^[0-9]{13,19}$',
  checkDigit: 'luhn',
  message:
    'must be a card number: a string of 13 to 19 digits without separators, not all zeros, with a valid check digit (Luhn)',
} as const;

const ROUTING_NUMBER = {
  kind: 'text',
  pattern: '^[0-9]{9}$',
  checkDigit: 'aba',
  message: 'must be an ABA routing number: a string of nine digits, not all zeros, with a valid check digit',
} as const;

/** The token types (§2.3, decisions §3) and the defaults of their tokens. */
export const TOKEN_TYPES = {
  token: {
    code: 1,
    summary: 'any JSON but null',
    data: { kind: 'any', message: 'must be any JSON but null' },
    container: '/general/high/',
  },
  card: {
    code: 2,
    summary: 'a payment card: number (Luhn), expiration_month, expiration_year, cvc',
    data: {
      kind: 'object',
      name: 'a card',
      members: {
        number: { required: true, ...CARD_NUMBER },
        expiration_month: {
          required: false,
          kind: 'number',
          minimum: 1,
          maximum: 12,
          message: 'must be an integer from 1 to 12',
        },
        expiration_year: {
          required: false,
          kind: 'number',
          minimum: 1000,
          maximum: 9999,
          message: 'must be an integer of four digits',
        },
        cvc: {
          required: false,
          kind: 'text',
          pattern: '^[0-9]{3,4}$',
          message: 'must be a string of three or four digits',
        },
      },
    },
    container: '/pci/high/',
    mask: {
      number: '{{ data.number | reveal_last: 4 }}',
      expiration_month: '{{ data.expiration_month }}',
      expiration_year: '{{ data.expiration_year }}',
    },
  },
  bank: {
    code: 3,
    summary: 'a US bank account: routing_number (ABA), account_number',
    data: {
      kind: 'object',
      name: 'a bank account',
      members: {
        routing_number: { required: true, ...ROUTING_NUMBER },
        account_number: {
          required: true,
          kind: 'text',
          pattern: '^[0-9]{1,17}$',
          message: 'must be a string of 1 to 17 digits',
        },
      },
    },
    container: '/bank/high/',
    mask: {
      routing_number: '{{ data.routing_number }}',
      account_number: '{{ data.account_number | reveal_last: 4 }}',
    },
  },
  card_number: {
    code: 4,
    summary: 'a card number: 13 to 19 digits (Luhn)',
    data: CARD_NUMBER,
    container: '/pci/high/',
    mask: LAST_FOUR,
  },
  us_bank_account_number: {
    code: 5,
    summary: 'a US bank account number: 3 to 17 digits',
    data: { kind: 'text', pattern: '^[0-9]{3,17}$', message: 'must be a string of 3 to 17 digits' },
    container: '/bank/high/',
    mask: LAST_FOUR,
  },
  us_bank_routing_number: {
    code: 6,
    summary: 'a US bank routing number: 9 digits (ABA)',
    data: ROUTING_NUMBER,
    container: '/bank/low/',
    mask: LAST_FOUR,
  },
  social_security_number: {
    code: 7,
    summary: 'a US social security number: 9 digits, dashes allowed',
    data: {
      kind: 'text',
      pattern: '^(?:[0-9]{9}|[0-9]{3}-[0-9]{2}-[0-9]{4})$',
      message: 'must be a string of nine digits, with or without dashes (ddd-dd-dddd)',
    },
    container: '/pii/high/',
    mask: LAST_FOUR,
    search_indexes: WITH_AND_WITHOUT_DASHES,
  },
  employer_id_number: {
    code: 8,
    summary: 'a US employer identification number: 9 digits, a dash allowed',
    data: {
      kind: 'text',
      pattern: '^(?:[0-9]{9}|[0-9]{2}-[0-9]{7})$',
      message: 'must be a string of nine digits, with or without a dash (dd-ddddddd)',
    },
    container: '/pii/high/',
    mask: LAST_FOUR,
    search_indexes: WITH_AND_WITHOUT_DASHES,
  },
} as const satisfies Record<string, TokenTypeRow>;

export type TokenType = keyof typeof TOKEN_TYPES;
export const TOKEN_TYPE_NAMES = Object.keys(TOKEN_TYPES) as TokenType[];
