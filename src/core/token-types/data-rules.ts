import type { Json } from '../../contract/json.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { passesAba } from './aba.ts';
import { passesLuhn } from './luhn.ts';

/** Says what would be right, or nothing when the value is. The text is fixed: it never quotes the value. */
type Check = (value: Json) => string | undefined;

/** What a type's `data` must be: a value that passes one check, or an object of exactly these members. */
export type DataRule =
  | { readonly check: Check }
  | { readonly object: string; readonly members: Readonly<Record<string, MemberRule>> };

export interface MemberRule {
  readonly required: boolean;
  /** What `check` takes: for whoever has only texts, as a terminal and a CSV have. */
  readonly kind: 'text' | 'number';
  readonly check: Check;
}

const ONLY_ZEROS = /^0+$/;

/** A check for a string of this shape; `more` looks at what has the shape. */
function text(pattern: RegExp, message: string, more: (value: string) => boolean = () => true): Check {
  return (value) => (typeof value === 'string' && pattern.test(value) && more(value) ? undefined : message);
}

/** A check for a number written as a plain integer: one that was kept by its lexeme (`12.0`, `1e1`) is none. */
function integer(minimum: number, maximum: number, message: string): Check {
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum ? undefined : message;
}

const cardNumber = text(
  /^[0-9]{13,19}$/,
  'must be a card number: a string of 13 to 19 digits without separators, not all zeros, with a valid check digit (Luhn)',
  (digits) => !ONLY_ZEROS.test(digits) && passesLuhn(digits),
);

const routingNumber = text(
  /^[0-9]{9}$/,
  'must be an ABA routing number: a string of nine digits, not all zeros, with a valid check digit',
  (digits) => !ONLY_ZEROS.test(digits) && passesAba(digits),
);

/** What `data` of each token type must be (§2.3, decisions §3). */
export const DATA_RULES = {
  token: { check: (value) => (value === null ? 'must be any JSON but null' : undefined) },
  card: {
    object: 'a card',
    members: {
      number: { required: true, kind: 'text', check: cardNumber },
      expiration_month: { required: false, kind: 'number', check: integer(1, 12, 'must be an integer from 1 to 12') },
      expiration_year: {
        required: false,
        kind: 'number',
        check: integer(1000, 9999, 'must be an integer of four digits'),
      },
      cvc: { required: false, kind: 'text', check: text(/^[0-9]{3,4}$/, 'must be a string of three or four digits') },
    },
  },
  bank: {
    object: 'a bank account',
    members: {
      routing_number: { required: true, kind: 'text', check: routingNumber },
      account_number: {
        required: true,
        kind: 'text',
        check: text(/^[0-9]{1,17}$/, 'must be a string of 1 to 17 digits'),
      },
    },
  },
  card_number: { check: cardNumber },
  us_bank_account_number: { check: text(/^[0-9]{3,17}$/, 'must be a string of 3 to 17 digits') },
  us_bank_routing_number: { check: routingNumber },
  social_security_number: {
    check: text(/^(?:[0-9]{9}|[0-9]{3}-[0-9]{2}-[0-9]{4})$/, 'must be a string of nine digits, or 3-2-4 with dashes'),
  },
  employer_id_number: {
    check: text(/^(?:[0-9]{9}|[0-9]{2}-[0-9]{7})$/, 'must be a string of nine digits, or 2-7 with a dash'),
  },
} as const satisfies Record<TokenType, DataRule>;
