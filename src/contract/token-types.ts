import type { Json } from './json.ts';

/** One token type: a row here, its rules in core/token-types and its vectors make a new one. */
export interface TokenTypeRow {
  readonly summary: string;
  readonly container: string;
  readonly mask?: Json;
  readonly search_indexes?: readonly string[];
}

const LAST_FOUR = '{{ data | reveal_last: 4 }}';
const WITH_AND_WITHOUT_DASHES = ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'] as const;

/** The token types (decisions §3): what a new token gets when the request leaves the member out. */
export const TOKEN_TYPES = {
  token: { summary: 'any JSON but null', container: '/general/high/' },
  card: {
    summary: 'a payment card: number (Luhn), expiration_month, expiration_year, cvc',
    container: '/pci/high/',
    mask: {
      number: '{{ data.number | reveal_last: 4 }}',
      expiration_month: '{{ data.expiration_month }}',
      expiration_year: '{{ data.expiration_year }}',
    },
  },
  bank: {
    summary: 'a US bank account: routing_number (ABA), account_number',
    container: '/bank/high/',
    mask: {
      routing_number: '{{ data.routing_number }}',
      account_number: '{{ data.account_number | reveal_last: 4 }}',
    },
  },
  card_number: { summary: 'a card number: 13 to 19 digits (Luhn)', container: '/pci/high/', mask: LAST_FOUR },
  us_bank_account_number: {
    summary: 'a US bank account number: 3 to 17 digits',
    container: '/bank/high/',
    mask: LAST_FOUR,
  },
  us_bank_routing_number: {
    summary: 'a US bank routing number: 9 digits (ABA)',
    container: '/bank/low/',
    mask: LAST_FOUR,
  },
  social_security_number: {
    summary: 'a US social security number: 9 digits, dashes allowed',
    container: '/pii/high/',
    mask: LAST_FOUR,
    search_indexes: WITH_AND_WITHOUT_DASHES,
  },
  employer_id_number: {
    summary: 'a US employer identification number: 9 digits, a dash allowed',
    container: '/pii/high/',
    mask: LAST_FOUR,
    search_indexes: WITH_AND_WITHOUT_DASHES,
  },
} as const satisfies Record<string, TokenTypeRow>;

export type TokenType = keyof typeof TOKEN_TYPES;
export const TOKEN_TYPE_NAMES = Object.keys(TOKEN_TYPES) as TokenType[];
