import type { ApplicationType } from '../../contract/permissions.ts';
import type { TokenType } from '../../contract/token-types.ts';
import { Problem } from '../../core/problem.ts';

/** What a token type is stored as. A number, once given, is never given to another type. */
export const TOKEN_TYPE_CODES = {
  token: 1,
  card: 2,
  bank: 3,
  card_number: 4,
  us_bank_account_number: 5,
  us_bank_routing_number: 6,
  social_security_number: 7,
  employer_id_number: 8,
} as const satisfies Record<TokenType, number>;

export const APPLICATION_TYPE_CODES = {
  private: 1,
  public: 2,
  management: 3,
  expiring: 4,
} as const satisfies Record<ApplicationType, number>;

export const KEY_PURPOSE_CODES = { data: 1, index: 2 } as const satisfies Record<'data' | 'index', number>;

/** From the stored number back to the name; a number that no row of the table has means that the file was altered. */
function decoder<Name extends string>(codes: Readonly<Record<Name, number>>): (code: number) => Name {
  const names = new Map<number, Name>();
  for (const name in codes) names.set(codes[name], name);
  return (code) => {
    const name = names.get(code);
    if (name === undefined) throw new Problem('integrity_failure');
    return name;
  };
}

export const tokenType = decoder<TokenType>(TOKEN_TYPE_CODES);
export const applicationType = decoder<ApplicationType>(APPLICATION_TYPE_CODES);
export const keyPurpose = decoder<'data' | 'index'>(KEY_PURPOSE_CODES);
